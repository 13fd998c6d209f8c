package bulk

import (
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/schema"
)

// MinCopiedRows is from how many rows CopyStatement costs less than InsertStatement:
// Postgres writes a page of rows at once, and the client does not hold all rows in the form
// of arguments.
const MinCopiedRows = 100

// CopyStatement returns the statement that inserts rows of a table from CopyRows.
func CopyStatement(table *schema.Table) string {
	return fmt.Sprintf("copy %s (%s) from stdin", table.SQLName, joinNames(table.Fields))
}

// CopyRows returns a reader of rows, a slice of pointers to structs of the fields' table,
// in the text format of COPY (documentation of Postgres, COPY, File Formats). Errors of
// Read: a value that is not JSON.
func CopyRows(fields []*schema.Field, rows any) io.Reader {
	columns := make([]copyColumn, len(fields))
	for i, field := range fields {
		columns[i] = copyColumn{field, typeOf(field)}
	}
	return &copyReader{columns: columns, rows: reflect.ValueOf(rows)}
}

type copyColumn struct {
	*schema.Field

	as columnType
}

type copyReader struct {
	columns []copyColumn
	rows    reflect.Value
	next    int    // row
	line    []byte // of the row before next
	unread  []byte // part of line
}

// Read implements io.Reader. It returns a panic as an error: the driver reads in a
// goroutine of its own, whose panic would end the process.
func (r *copyReader) Read(p []byte) (n int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("copy rows: panic: %v\n%s", cause, debug.Stack())
		}
	}()
	for n < len(p) {
		if len(r.unread) == 0 {
			if r.next == r.rows.Len() {
				return n, io.EOF
			}
			if r.line, err = r.appendRow(r.line[:0], r.rows.Index(r.next).Elem()); err != nil {
				return n, err
			}
			r.next++
			r.unread = r.line
		}
		copied := copy(p[n:], r.unread)
		r.unread = r.unread[copied:]
		n += copied
	}
	return n, nil
}

func (r *copyReader) appendRow(line []byte, row reflect.Value) (_ []byte, err error) {
	for i, column := range r.columns {
		if i > 0 {
			line = append(line, '\t')
		}
		value, ok := presentValue(column.Field, row)
		if !ok {
			line = append(line, `\N`...)
			continue
		}
		if line, err = column.appendValue(line, value); err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return append(line, '\n'), nil
}

// copyTime is the layout of an instant; Postgres keeps microseconds.
const copyTime = "2006-01-02 15:04:05.999999Z07:00"

func (c *copyColumn) appendValue(line []byte, value reflect.Value) ([]byte, error) {
	switch c.as.element {
	case nil:
		text, err := formatText(value, c.as.cast)
		return append(line, copyEscapes.Replace(text)...), err
	case uuidType:
		id := value.Addr().Interface().(*uuid.UUID) //nolint:forcetypeassert // typeOf says so
		return hex.AppendEncode(line, id[:]), nil
	case timeType:
		at := value.Addr().Interface().(*time.Time) //nolint:forcetypeassert // likewise
		return at.UTC().AppendFormat(line, copyTime), nil
	}
	switch c.as.element.Kind() {
	case reflect.String:
		return append(line, copyEscapes.Replace(value.String())...), nil
	case reflect.Bool:
		return strconv.AppendBool(line, value.Bool()), nil
	case reflect.Slice:
		return hex.AppendEncode(append(line, `\\x`...), value.Bytes()), nil
	default:
		return strconv.AppendInt(line, value.Int(), 10), nil
	}
}

// copyEscapes escapes the characters that have a meaning in the format.
var copyEscapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
