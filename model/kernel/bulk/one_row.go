package bulk

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun/schema"
)

// InsertOneStatement returns the insert of one row, whose arguments are its columns in the
// order of the table's fields.
func InsertOneStatement(table *schema.Table) string {
	places := joinFields(table.Fields, func(_ *schema.Field, i int) string { return fmt.Sprintf("$%d", i+1) })
	return fmt.Sprintf("insert into %s (%s) values (%s)", table.SQLName, joinNames(table.Fields), places)
}

// UpdateOneStatement returns the update of fields of one row. Its arguments are the row's
// id, partner and version, then the fields.
func UpdateOneStatement(table *schema.Table, fields []*schema.Field) string {
	set := joinFields(fields, func(f *schema.Field, i int) string { return fmt.Sprintf("%s = $%d", f.SQLName, i+4) })
	return fmt.Sprintf("update %s set %s where id = $1 and partner = $2 and version = $3", table.SQLName, set)
}

// RowArgument returns the value of a row's column in the form that the driver takes.
func RowArgument(field *schema.Field, row reflect.Value) any {
	if field.NullZero && field.HasZeroValue(row) {
		return nil
	}
	value := field.Value(row).Interface()
	if text, raw := value.(jsontext.Value); raw {
		return []byte(text)
	}
	return value
}
