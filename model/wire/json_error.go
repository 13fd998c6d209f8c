package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSONError says what is wrong with a JSON text that could not be read. The errors of the
// library name types of Go. Other errors are returned as they are.
func JSONError(err error) error {
	var syntax *jsontext.SyntacticError
	var value *json.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the member %s is there twice", syntax.JSONPointer)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON in UTF-8 from byte %d on", syntax.ByteOffset+1)
	case errors.As(err, &value) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("there is no member %s", value.JSONPointer)
	case errors.As(err, &value) && value.JSONPointer == "":
		return errors.New("it is not a JSON object")
	case errors.As(err, &value):
		return fmt.Errorf("the member %s has a value of another type", value.JSONPointer)
	}
	return err
}
