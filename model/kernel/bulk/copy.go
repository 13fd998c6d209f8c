package bulk

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun/schema"

	"parapet/model/dbconn"
	"parapet/model/kernel/pacing"
)

// MinCopiedRows is from how many rows CopyRows costs less than InsertStatement: Postgres
// writes a page of rows at once, and the client does not hold all rows in the form of
// arguments.
const MinCopiedRows = 100

// CopyRows returns a copy of rows, a slice of pointers to structs of the table, that runs
// after a number of statements. The format is the binary one (documentation of Postgres,
// COPY, File Formats): a value has the bytes that the receive function of its column's type
// reads. Errors of its reader name the column: a value that is not JSON, a number that the
// column cannot hold, and a column of another type than its field.
//
// pgx.CopyFrom is not used: it takes each value as an interface, and takes five times as
// long (BenchmarkCopyRows).
func CopyRows(table *schema.Table, rows any, after int) dbconn.Copy {
	names := joinNames(table.Fields)
	return dbconn.Copy{
		After:     after,
		Statement: fmt.Sprintf("copy %s (%s) from stdin (format binary)", table.SQLName, names),

		ColumnsQuery: fmt.Sprintf("select %s from %s", names, table.SQLName),
		Rows: func(types []uint32) io.Reader {
			columns := make([]copyColumn, len(table.Fields))
			for i, field := range table.Fields {
				columns[i] = copyColumn{field, types[i]}
			}
			return &copyReader{columns: columns, rows: reflect.ValueOf(rows), unread: []byte(copyHeader)}
		},
	}
}

const (
	// copyHeader is the signature, no flags, and no extension.
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	copyTrailer = "\xff\xff" // the number of columns of a row that is none: -1
)

type copyColumn struct {
	*schema.Field

	typeOID uint32 // of the column
}

type copyReader struct {
	columns []copyColumn
	rows    reflect.Value
	next    int    // row; one more than there are rows after the trailer
	row     []byte // the row before next
	unread  []byte // part of row, of the header or of the trailer
	column  string // name of the column that is being read
}

// Read implements io.Reader. It returns a panic, such as one of a value that has not the
// column's type, as an error: the driver reads in a goroutine of its own, whose panic would
// end the process.
func (r *copyReader) Read(p []byte) (n int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("column %s: panic: %v\n%s", r.column, cause, debug.Stack())
		}
	}()
	for n < len(p) {
		if len(r.unread) == 0 {
			if r.next > r.rows.Len() {
				return n, io.EOF
			}
			if r.unread, err = r.nextRow(); err != nil {
				return n, err
			}
			r.next++
		}
		copied := copy(p[n:], r.unread)
		r.unread = r.unread[copied:]
		n += copied
	}
	return n, nil
}

// nextRow returns the next row or, after the last, the trailer.
func (r *copyReader) nextRow() (_ []byte, err error) {
	if r.next == r.rows.Len() {
		return []byte(copyTrailer), nil
	}
	pacing.YieldEvery(128, r.next)
	row := r.rows.Index(r.next).Elem()
	out := binary.BigEndian.AppendUint16(r.row[:0], uint16(len(r.columns))) //nolint:gosec // a table has at most 1,600 columns
	for i := range r.columns {
		column := &r.columns[i]
		r.column = column.Name
		value, ok := presentValue(column.Field, row)
		if !ok {
			out = append(out, null...)
			continue
		}
		size := len(out)
		if out, err = column.appendValue(append(out, 0, 0, 0, 0), value); err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
		binary.BigEndian.PutUint32(out[size:], uint32(len(out)-size-4)) //nolint:gosec // Postgres refuses a row of a gigabyte
	}
	r.row = out
	return out, nil
}

// appendValue appends the bytes that the receive function of the column's type reads.
func (c *copyColumn) appendValue(out []byte, value reflect.Value) ([]byte, error) {
	switch c.typeOID {
	case pgtype.UUIDOID:
		id := value.Addr().Interface().(*uuid.UUID) //nolint:forcetypeassert // typeOf says so
		return append(out, id[:]...), nil
	case pgtype.TimestamptzOID:
		at := value.Addr().Interface().(*time.Time) //nolint:forcetypeassert // likewise
		return appendLong(out, at.UnixMicro()-epoch.UnixMicro()), nil
	case pgtype.DateOID:
		day := value.Interface().(time.Time) //nolint:forcetypeassert // likewise
		return appendNumbers(out, daysSinceEpoch(day)), nil
	case pgtype.Int8OID:
		return appendLong(out, value.Int()), nil
	case pgtype.Int4OID:
		if number := value.Int(); number < math.MinInt32 || number > math.MaxInt32 {
			return nil, fmt.Errorf("%d does not fit into an integer", number)
		}
		return appendNumbers(out, int(value.Int())), nil
	case pgtype.BoolOID:
		if value.Bool() {
			return append(out, 1), nil
		}
		return append(out, 0), nil
	case pgtype.ByteaOID:
		return append(out, value.Bytes()...), nil
	case pgtype.JSONOID:
		text, err := encodeJSON(value)
		return append(out, text...), err
	case pgtype.TextOID:
		if value.Kind() == reflect.String {
			return append(out, value.String()...), nil
		}
	case pgtype.TextArrayOID:
		return appendArray(out, pgtype.TextOID, value, func(out []byte, text reflect.Value) []byte { return append(out, text.String()...) }), nil
	case pgtype.UUIDArrayOID:
		return appendArray(out, pgtype.UUIDOID, value, func(out []byte, id reflect.Value) []byte { return append(out, id.Bytes()...) }), nil
	}
	return nil, fmt.Errorf("a value of type %s cannot be copied to a column of type %d in pg_type", value.Type(), c.typeOID)
}

// null is the size of a value that is absent: -1.
const null = "\xff\xff\xff\xff"

// epoch is the beginning of Postgres' times and days.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const secondsPerDay = 24 * 60 * 60

func daysSinceEpoch(day time.Time) int {
	year, month, date := day.Date()
	return int((time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() - epoch.Unix()) / secondsPerDay)
}

// appendArray appends an array: one dimension, no nulls, the type of the elements, their
// number, the index of the first, and each element with its size.
func appendArray(out []byte, elementOID int, array reflect.Value, appendElement func(out []byte, element reflect.Value) []byte) []byte {
	if array.Len() == 0 { // which has no dimension
		return appendNumbers(out, 0, 0, elementOID)
	}
	out = appendNumbers(out, 1, 0, elementOID, array.Len(), 1)
	for i := range array.Len() {
		size := len(out)
		out = appendElement(append(out, 0, 0, 0, 0), array.Index(i))
		binary.BigEndian.PutUint32(out[size:], uint32(len(out)-size-4)) //nolint:gosec // Postgres refuses a row of a gigabyte
	}
	return out
}

// appendNumbers appends numbers of four bytes.
func appendNumbers(out []byte, numbers ...int) []byte {
	for _, number := range numbers {
		out = binary.BigEndian.AppendUint32(out, uint32(number)) //nolint:gosec // two's complement; the callers' numbers fit
	}
	return out
}

// appendLong appends a number of eight bytes.
func appendLong(out []byte, number int64) []byte {
	return binary.BigEndian.AppendUint64(out, uint64(number)) //nolint:gosec // two's complement
}
