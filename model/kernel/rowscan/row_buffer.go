package rowscan

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun/schema"
)

// rowBuffer is a struct into which rows are scanned, one after another, and from which they are
// copied: to look up the fields of another struct by reflection costs as much as to decode their
// values.
type rowBuffer struct {
	buffer  reflect.Value // the struct; zero between rows
	targets []any         // where its columns are scanned to
}

func newRowBuffer(row reflect.Type, columns []*schema.Field) (rowBuffer, error) {
	b := rowBuffer{buffer: reflect.New(row).Elem(), targets: make([]any, len(columns))}
	for i, column := range columns {
		var err error
		if b.targets[i], err = scanTarget(column, b.buffer); err != nil {
			return b, err
		}
	}
	return b, nil
}

// scanTarget returns where a column is scanned to, in a row that can be used again. Raw JSON columns
// are not parsed.
func scanTarget(field *schema.Field, row reflect.Value) (any, error) {
	for at, outer := field.Index, row.Type(); len(at) > 1; at = at[1:] {
		if outer = outer.Field(at[0]).Type; outer.Kind() == reflect.Pointer {
			return nil, fmt.Errorf("%s embeds %s, a pointer: rows would share it", row.Type(), outer)
		}
	}
	into := field.Value(row).Addr().Interface()
	if text, raw := into.(*jsontext.Value); raw {
		return (*[]byte)(text), nil
	}
	return into, nil
}
