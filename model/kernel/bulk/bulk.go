// Package bulk writes any number of rows of one type in one statement. Each column is one
// array argument, so that the text of the statement does not depend on the number of
// rows: it is built once, and Postgres parses and plans it once per connection. A statement
// for one row has the columns themselves as its arguments.
//
// The statements and the arguments follow from the columns of the row type, which bun
// reads from the struct. The package uses neither a connection nor a clock.
package bulk

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun/schema"

	"parapet/model/wire"
)

// InsertStatement returns the statement that inserts rows of a table. Its arguments are
// those of all fields of the table.
func InsertStatement(table *schema.Table) string {
	values := joinFields(table.Fields, func(f *schema.Field, _ int) string { return "n." + string(f.SQLName) + typeOf(f).cast })
	return fmt.Sprintf("insert into %s (%s) select %s from %s", table.SQLName, joinNames(table.Fields), values, unnest(table.Fields))
}

// UpdateStatement returns the statement that writes columns of rows of a table, which it
// finds by their primary keys. Its arguments are those of UpdateFields. It checks neither
// version nor state: the caller holds the locks of the rows.
func UpdateStatement(table *schema.Table, columns ...string) string {
	fields := UpdateFields(table, columns...)
	written := fields[len(table.PKs):]
	set := joinFields(written, func(f *schema.Field, _ int) string {
		return fmt.Sprintf("%s = n.%s%s", f.SQLName, f.SQLName, typeOf(f).cast)
	})
	keys := make([]string, len(table.PKs))
	for i, f := range table.PKs {
		keys[i] = fmt.Sprintf("t.%s = n.%s", f.SQLName, f.SQLName)
	}
	return fmt.Sprintf("update %s as t set %s from %s where %s", table.SQLName, set, unnest(fields), strings.Join(keys, " and "))
}

// UpdateFields returns the primary keys of a table and the named columns.
func UpdateFields(table *schema.Table, columns ...string) []*schema.Field {
	fields := slices.Clone(table.PKs)
	for _, name := range columns {
		fields = append(fields, table.LookupField(name))
	}
	return fields
}

// Arguments returns an array for each field with its values in the rows, a slice of
// pointers to structs of the table's type. Errors: a value that is not JSON.
func Arguments(fields []*schema.Field, rows any) ([]any, error) {
	args := make([]any, len(fields))
	for i, field := range fields {
		values, err := collectValues(field, reflect.ValueOf(rows))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		args[i] = values
	}
	return args, nil
}

// unnest returns the arguments as a table n with a row for each row.
func unnest(fields []*schema.Field) string {
	arrays := joinFields(fields, func(f *schema.Field, i int) string { return fmt.Sprintf("$%d::%s", i+1, typeOf(f).array) })
	return fmt.Sprintf("unnest(%s) as n (%s)", arrays, joinNames(fields))
}

func joinNames(fields []*schema.Field) string {
	return joinFields(fields, func(f *schema.Field, _ int) string { return string(f.SQLName) })
}

func joinFields(fields []*schema.Field, format func(f *schema.Field, i int) string) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = format(f, i)
	}
	return strings.Join(parts, ", ")
}

var (
	uuidType = reflect.TypeFor[uuid.UUID]()
	timeType = reflect.TypeFor[time.Time]()
	jsonType = reflect.TypeFor[jsontext.Value]()
)

// columnType is how the values of a column are sent.
type columnType struct {
	array   string       // type of the argument
	cast    string       // from an element of the argument to the column's type; empty if Postgres casts it
	element reflect.Type // of the argument; nil for values in their text form
}

func typeOf(field *schema.Field) columnType {
	of := field.StructField.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case field.UserSQLType == "json" || of == jsonType:
		return columnType{array: "text[]", cast: "::json"}
	case field.UserSQLType == "date":
		return columnType{array: "text[]", cast: "::date"}
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String:
		return columnType{array: "text[]", cast: "::text[]"}
	case of.Kind() == reflect.Slice && of.Elem() == uuidType:
		return columnType{array: "text[]", cast: "::uuid[]"}
	case of == uuidType:
		return columnType{array: "uuid[]", element: of}
	case of == timeType:
		return columnType{array: "timestamptz[]", element: of}
	case of.Kind() == reflect.String:
		return columnType{array: "text[]", element: reflect.TypeFor[string]()}
	case of.Kind() == reflect.Int64:
		return columnType{array: "bigint[]", element: reflect.TypeFor[int64]()}
	case of.Kind() == reflect.Int:
		return columnType{array: "bigint[]", element: reflect.TypeFor[int]()}
	case of.Kind() == reflect.Bool:
		return columnType{array: "boolean[]", element: reflect.TypeFor[bool]()}
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		return columnType{array: "bytea[]", element: reflect.TypeFor[[]byte]()}
	default:
		panic(fmt.Sprintf("bulk: no array for column %s of type %s", field.Name, of)) // programming error; the tests write every row type
	}
}

// collectValues collects a column of all rows. An element is a pointer to the value in its
// row, or nil for null, so that no value is copied.
func collectValues(field *schema.Field, rows reflect.Value) (any, error) {
	of := typeOf(field)
	if of.element == nil {
		return collectTexts(field, rows, of.cast)
	}
	pointer := reflect.PointerTo(of.element)
	values := reflect.MakeSlice(reflect.SliceOf(pointer), rows.Len(), rows.Len())
	for i := range rows.Len() {
		if value, ok := presentValue(field, rows.Index(i).Elem()); ok {
			values.Index(i).Set(value.Addr().Convert(pointer))
		}
	}
	return values.Interface(), nil
}

// presentValue returns a column's value in a row, and false for null.
func presentValue(field *schema.Field, row reflect.Value) (reflect.Value, bool) {
	if field.NullZero && field.HasZeroValue(row) {
		return reflect.Value{}, false
	}
	value := field.Value(row)
	switch value.Kind() {
	case reflect.Pointer:
		return value.Elem(), !value.IsNil()
	case reflect.Map, reflect.Slice:
		return value, !value.IsNil()
	default:
		return value, true
	}
}

// collectTexts collects values in their text form, which Postgres casts.
func collectTexts(field *schema.Field, rows reflect.Value, cast string) ([]*string, error) {
	texts := make([]*string, rows.Len())
	for i := range texts {
		value, ok := presentValue(field, rows.Index(i).Elem())
		if !ok {
			continue
		}
		text, err := formatText(value, cast)
		if err != nil {
			return nil, err
		}
		texts[i] = &text
	}
	return texts, nil
}

func formatText(value reflect.Value, cast string) (string, error) {
	switch cast {
	case "::date":
		return value.Interface().(time.Time).Format(time.DateOnly), nil //nolint:forcetypeassert // columns of type date are times
	case "::text[]":
		return formatArray(value), nil
	case "::uuid[]":
		var ids []string
		for i := range value.Len() {
			ids = append(ids, fmt.Sprint(value.Index(i)))
		}
		return "{" + strings.Join(ids, ",") + "}", nil
	}
	text, err := encodeJSON(value)
	return string(text), err
}

// encodeJSON returns a value as JSON; jsontext.Value is JSON already.
func encodeJSON(value reflect.Value) ([]byte, error) {
	if value.Type() == jsonType {
		return value.Bytes(), nil
	}
	return wire.Encode(value.Interface())
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// formatArray formats texts as an array of Postgres (documentation, section 8.15.2).
func formatArray(texts reflect.Value) string {
	quoted := make([]string, texts.Len())
	for i := range quoted {
		quoted[i] = `"` + arrayEscapes.Replace(texts.Index(i).String()) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
