package graph

import (
	"bytes"
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen takes a variable's number
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/gateway"
	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/model/kernel/apperr"
)

// Limits of a request, in bytes and values.
const (
	maxBody           = 1 << 20
	maxAttachmentBody = 15 << 20
	// minContentLength is the length from which a string variable in a body above maxBody
	// counts as the content of an attachment. Other members are limited to less than a
	// tenth of it.
	minContentLength = 64 << 10
	// maxValues keeps variables small in memory and fast to reject; a thousand
	// observations, the most that one request may record, have fewer.
	maxValues = 25_000
)

// requestBody is the body of a request. Unknown members are ignored because clients add
// their own.
type requestBody struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"` //nolint:tagliatelle // the specification's name
	DocumentID    string         `json:"documentId"`    //nolint:tagliatelle // the specification's name
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`

	body *upload.Body // with the contents of attachments among the variables
}

// closeBody removes the stored contents of attachments.
func (p *requestBody) closeBody() { _ = p.body.Close() } // an unnamed file; an error has no consequence

// toRawParams converts the request for the executor.
func (p *requestBody) toRawParams(headers http.Header) *graphql.RawParams {
	if p.DocumentID != "" {
		if p.Extensions == nil {
			p.Extensions = map[string]any{}
		}
		p.Extensions[documentID] = p.DocumentID
	}
	return &graphql.RawParams{
		Query: p.Query, OperationName: p.OperationName, Variables: p.Variables, Extensions: p.Extensions, Headers: headers,
	}
}

// readRequest reads a request. The caller closes the body of the result, also after an
// error. Errors: media_type_unsupported, body_too_large, malformed_json, duplicate_field,
// parameter_invalid.
func readRequest(r *http.Request) (*requestBody, error) {
	if r.Method != http.MethodPost {
		return parseQueryString(r.URL.RawQuery)
	}
	asked := new(requestBody)
	err := checkContentType(r.Header)
	if err == nil {
		asked.body, err = readBody(r)
	}
	if err == nil {
		err = parseJSON(asked.body, "", asked)
	}
	return asked, err
}

// checkContentType rejects a body that is not declared as JSON in UTF-8. A browser cannot
// send that type to another site without a preflight request.
func checkContentType(header http.Header) error {
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, encoding := parameters["charset"], header.Get("Content-Encoding")
	if err != nil || media != jsonType || charset != "" && !strings.EqualFold(charset, "utf-8") || encoding != "" && !strings.EqualFold(encoding, "identity") {
		return apperr.Fail(apperr.CodeMediaTypeUnsupported, "Send the body as it is, with the header Content-Type: application/json.")
	}
	return nil
}

// readBody reads a body of at most 1 MiB, or more with the contents of attachments among
// its variables, which are decoded while they arrive.
func readBody(r *http.Request) (*upload.Body, error) {
	request := gateway.FromContext(r.Context())
	defer request.LimitBodyTime()()
	incoming, err := request.OpenBody(maxAttachmentBody)
	if err != nil {
		return nil, err
	}
	if length := r.ContentLength; length >= 0 && length <= maxBody {
		text := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead)) // spare bytes to detect the end
		if _, err := text.ReadFrom(incoming); err != nil {
			return nil, request.IncompleteBody(err)
		}
		return &upload.Body{JSON: text.Bytes()}, nil
	}
	whole := &io.LimitedReader{R: incoming, N: maxAttachmentBody + 1}
	body, err := upload.Extract(whole, upload.Rule{Member: "variables", Within: true, Least: minContentLength}, maxBody)
	short := whole.N > maxAttachmentBody-maxBody
	switch {
	case whole.N <= 0, errors.Is(err, upload.ErrTooLarge), err == nil && !short && body.Contents() == 0:
		request.GiveUpBody()
		err = errTooLarge()
	case err != nil && !upload.IsStoreError(err):
		err = request.IncompleteBody(err)
	}
	return body, err
}

// errTooLarge reports a body that is too large or has a long string outside an
// attachment's content.
func errTooLarge() error {
	return apperr.Fail(apperr.CodeBodyTooLarge, "Send a body of at most %d MiB. With addAttachment and loadPriceHistory it may have %d MiB, if contentBase64 is a variable and everything else is short.",
		maxBody>>20, maxAttachmentBody>>20)
}

// newUnmarshalers keeps the digits of numbers as written and replaces each content of a
// body by an upload.Ref.
func newUnmarshalers(body *upload.Body) json.Options {
	refs := 0
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		switch kind := d.PeekKind(); {
		case kind == '0':
			number, err := d.ReadValue()
			*v = stdjson.Number(number)
			return err
		case kind == '"' && refs < body.Contents():
			text, err := d.ReadToken()
			*v = text.String()
			if ref, is := body.RefAt(d.InputOffset()); is && err == nil {
				refs, *v = refs+1, ref
			}
			return err
		default:
			return errors.ErrUnsupported // default decoding
		}
	}))
}

// plainUnmarshalers serve bodies without contents.
var plainUnmarshalers = newUnmarshalers(nil)

// parseJSON decodes one JSON text into v: the request member of that name, or the whole
// request. Errors never quote the text.
func parseJSON(body *upload.Body, member string, v any) error {
	values, err := strictjson.CheckBounds(body.JSON, body.Offset)
	if err != nil {
		return err
	}
	if values > maxValues {
		return apperr.Fail(apperr.CodeParameterInvalid, "The variables hold more than %d values. Send them in several requests.", maxValues)
	}
	options := plainUnmarshalers
	if body.Contents() > 0 {
		options = newUnmarshalers(body)
	}
	var invalid *json.SemanticError
	switch err := json.Unmarshal(body.JSON, v, options); {
	case errors.As(err, &invalid):
		pointer := string(invalid.JSONPointer)
		if member != "" {
			pointer = "/" + member
		}
		return invalidMember(pointer).WithCause(err)
	case err != nil:
		return strictjson.SyntaxError(body.JSON, body.Offset, err)
	}
	return nil
}

// invalidMember returns an error that states the type of a member.
func invalidMember(pointer string) *apperr.Error {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	switch name {
	case "query", "operationName", documentID:
		return apperr.Fail(apperr.CodeParameterInvalid, "In the request, %s must be a string.", name)
	case "variables", "extensions":
		return apperr.Fail(apperr.CodeParameterInvalid, "In the request, %s must be an object.", name)
	default:
		return apperr.Fail(apperr.CodeParameterInvalid, "The body is one object, {\"query\": \"…\"}; send operations one by one.")
	}
}

// parseQueryString reads the parameters of a GET; each may occur once.
func parseQueryString(query string) (*requestBody, error) {
	asked := new(requestBody)
	form, err := url.ParseQuery(query)
	if err != nil {
		return asked, apperr.Fail(apperr.CodeParameterInvalid, "The address cannot be read: a parameter is not percent-encoded.")
	}
	for name, values := range form {
		if len(values) > 1 {
			return asked, apperr.Fail(apperr.CodeParameterInvalid, "Give each parameter once.")
		}
		text := values[0]
		switch name {
		case "query":
			asked.Query = text
		case "operationName":
			asked.OperationName = text
		case documentID:
			asked.DocumentID = text
		case "variables":
			err = parseParameter(text, name, &asked.Variables)
		case "extensions":
			err = parseParameter(text, name, &asked.Extensions)
		}
		if err != nil {
			return asked, err
		}
	}
	return asked, nil
}

// parseParameter decodes a JSON query parameter; malformed JSON is an invalid parameter.
func parseParameter(text, name string, v *map[string]any) error {
	if text == "" {
		return nil
	}
	if err := parseJSON(&upload.Body{JSON: []byte(text)}, name, v); err != nil {
		return invalidMember(name).WithCause(err)
	}
	return nil
}
