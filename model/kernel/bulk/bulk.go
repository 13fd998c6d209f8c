// Package bulk writes any number of rows of one type in one statement. Each column is one
// array argument, so that the text of the statement does not depend on the number of
// rows: Postgres parses and plans it once per connection.
//
// Insert and Update build the statement and its arguments from the columns of the row
// type, which bun reads from the struct. They use neither a connection nor a clock.
package bulk

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun/schema"

	"parapet/model/wire"
)

// Insert returns the statement that inserts rows, a slice of pointers to structs of the
// table's type, and its arguments. Errors: a value that is not JSON.
func Insert(table *schema.Table, rows any) (statement string, args []any, err error) {
	columns, err := collectColumns(table.Fields, reflect.ValueOf(rows))
	if err != nil {
		return "", nil, err
	}
	statement = fmt.Sprintf("insert into %s (%s) select %s from %s", table.SQLName, columns.names(), columns.values(), columns.from())
	return statement, columns.args(), nil
}

// Update returns the statement that writes the named columns of rows, found by their
// primary keys, and its arguments. It checks neither version nor state: the caller holds
// the locks of the rows. Errors: a value that is not JSON.
func Update(table *schema.Table, rows any, names ...string) (statement string, args []any, err error) {
	keys := len(table.PKs)
	fields := append([]*schema.Field{}, table.PKs...)
	for _, name := range names {
		fields = append(fields, table.LookupField(name))
	}
	columns, err := collectColumns(fields, reflect.ValueOf(rows))
	if err != nil {
		return "", nil, err
	}
	where, set := make([]string, keys), make([]string, len(names))
	for i, c := range columns {
		if i < keys {
			where[i] = fmt.Sprintf("t.%s = n.%s", c.name, c.name)
		} else {
			set[i-keys] = fmt.Sprintf("%s = n.%s", c.name, c.name+c.cast)
		}
	}
	statement = fmt.Sprintf("update %s as t set %s from %s where %s", table.SQLName, strings.Join(set, ", "), columns.from(), strings.Join(where, " and "))
	return statement, columns.args(), nil
}

// column is the values of one column.
type column struct {
	name  string
	array string // type of the argument
	cast  string // from an element of the argument to the column's type; empty if Postgres casts it
	arg   any
}

type columnSet []column

func (all columnSet) names() string {
	return all.join(func(c column, _ int) string { return c.name })
}

func (all columnSet) values() string {
	return all.join(func(c column, _ int) string { return "n." + c.name + c.cast })
}

func (all columnSet) from() string {
	arrays := all.join(func(c column, i int) string { return fmt.Sprintf("$%d::%s", i+1, c.array) })
	return fmt.Sprintf("unnest(%s) as n (%s)", arrays, all.names())
}

func (all columnSet) join(format func(c column, i int) string) string {
	parts := make([]string, len(all))
	for i, c := range all {
		parts[i] = format(c, i)
	}
	return strings.Join(parts, ", ")
}

func (all columnSet) args() []any {
	args := make([]any, len(all))
	for i, c := range all {
		args[i] = c.arg
	}
	return args
}

func collectColumns(fields []*schema.Field, rows reflect.Value) (columnSet, error) {
	columns := make(columnSet, len(fields))
	for i, field := range fields {
		c, err := collectColumn(field, rows)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		columns[i] = c
	}
	return columns, nil
}

var (
	uuidType = reflect.TypeFor[uuid.UUID]()
	timeType = reflect.TypeFor[time.Time]()
	jsonType = reflect.TypeFor[jsontext.Value]()
)

// collectColumn collects a column of all rows. An element is a pointer to the value in its
// row, or nil for null, so that no value is copied.
func collectColumn(field *schema.Field, rows reflect.Value) (column, error) {
	c := column{name: string(field.SQLName)}
	of := field.StructField.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case field.UserSQLType == "json" || of == jsonType:
		c.array, c.cast = "text[]", "::json"
		return c, c.collectTexts(field, rows)
	case field.UserSQLType == "date":
		c.array, c.cast = "text[]", "::date"
		return c, c.collectTexts(field, rows)
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String:
		c.array, c.cast = "text[]", "::text[]"
		return c, c.collectTexts(field, rows)
	}
	var element reflect.Type
	switch {
	case of == uuidType:
		c.array, element = "uuid[]", of
	case of == timeType:
		c.array, element = "timestamptz[]", of
	case of.Kind() == reflect.String:
		c.array, element = "text[]", reflect.TypeFor[string]()
	case of.Kind() == reflect.Int64:
		c.array, element = "bigint[]", reflect.TypeFor[int64]()
	case of.Kind() == reflect.Int:
		c.array, element = "bigint[]", reflect.TypeFor[int]()
	case of.Kind() == reflect.Bool:
		c.array, element = "boolean[]", reflect.TypeFor[bool]()
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		c.array, element = "bytea[]", reflect.TypeFor[[]byte]()
	default:
		panic(fmt.Sprintf("bulk: no array for column %s of type %s", field.Name, of)) // programming error; the tests write every row type
	}
	pointer := reflect.PointerTo(element)
	values := reflect.MakeSlice(reflect.SliceOf(pointer), rows.Len(), rows.Len())
	for i := range rows.Len() {
		if value, ok := presentValue(field, rows.Index(i).Elem()); ok {
			values.Index(i).Set(value.Addr().Convert(pointer))
		}
	}
	c.arg = values.Interface()
	return c, nil
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
func (c *column) collectTexts(field *schema.Field, rows reflect.Value) error {
	texts := make([]*string, rows.Len())
	for i := range texts {
		value, ok := presentValue(field, rows.Index(i).Elem())
		if !ok {
			continue
		}
		text, err := c.formatText(value)
		if err != nil {
			return err
		}
		texts[i] = &text
	}
	c.arg = texts
	return nil
}

func (c *column) formatText(value reflect.Value) (string, error) {
	switch c.cast {
	case "::date":
		return value.Interface().(time.Time).Format(time.DateOnly), nil //nolint:forcetypeassert // columns of type date are times
	case "::text[]":
		return formatArray(value), nil
	}
	if value.Type() == jsonType {
		return string(value.Bytes()), nil
	}
	text, err := wire.Encode(value.Interface())
	return string(text), err
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
