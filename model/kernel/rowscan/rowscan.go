// Package rowscan scans the rows of prepared statements into structs that bun describes,
// and arrays of rows inside them. It has no states and takes no locks. Start reading at For.
package rowscan

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// Scanner scans rows into structs of one type by column name. Field lookup and scan
// plans are computed once per statement and connection.
type Scanner struct {
	rowBuffer

	columns []pgconn.FieldDescription
	packed  Packed // the buffer as Packed; nil if it is not
	plans   []pgtype.ScanPlan
}

// scanners are cached per connection, whose types they know, up to maxCachedScanners:
// filters create more statements than are worth caching.
const (
	scannerCacheKey   = "parapet scanners"
	maxCachedScanners = 512
)

// statement identifies a scanner of a connection.
type statement struct {
	row  reflect.Type
	text string
}

// For returns the scanner for the current row of a statement. A statement that
// returns other columns than before, after a migration, gets a new one.
func For(db *bun.DB, rows pgx.Rows, text string, row reflect.Type) (*Scanner, error) {
	kept := rows.Conn().PgConn().CustomData()
	known, _ := kept[scannerCacheKey].(map[statement]*Scanner)
	if known == nil || len(known) >= maxCachedScanners {
		known = make(map[statement]*Scanner)
		kept[scannerCacheKey] = known
	}
	name, columns := statement{row, text}, rows.FieldDescriptions()
	if found := known[name]; found != nil && slices.Equal(found.columns, columns) {
		return found, nil
	}
	table, fields := db.Table(row), make([]*schema.Field, len(columns))
	for i, column := range columns {
		if fields[i] = table.LookupField(column.Name); fields[i] == nil {
			return nil, fmt.Errorf("%s has no column %s", table.TypeName, column.Name)
		}
	}
	buffer, err := newRowBuffer(row, fields)
	if err != nil {
		return nil, err
	}
	made := &Scanner{rowBuffer: buffer, columns: slices.Clone(columns), plans: make([]pgtype.ScanPlan, len(columns))}
	made.packed, _ = made.buffer.Addr().Interface().(Packed)
	for i, column := range columns {
		if made.plans[i], err = planScan(db, rows.Conn().TypeMap(), column, fields[i], buffer.targets[i]); err != nil {
			return nil, err
		}
	}
	known[name] = made
	return made, nil
}

func planScan(db *bun.DB, types *pgtype.Map, column pgconn.FieldDescription, field *schema.Field, target any) (pgtype.ScanPlan, error) {
	if column.DataTypeOID == pgtype.RecordArrayOID {
		return newEmbeddedPlan(db, types, field.StructField.Type.Elem())
	}
	return planValue(types, column.DataTypeOID, column.Format, target), nil
}

// planValue returns the plan that scans values of a type into targets such as into.
func planValue(types *pgtype.Map, oid uint32, format int16, into any) pgtype.ScanPlan {
	_, scans := into.(sql.Scanner)
	if oid == pgtype.TextOID && reflect.TypeOf(into).Elem().Kind() == reflect.String && !scans {
		return new(textPlan)
	}
	return types.PlanScan(oid, format, into)
}

// textPlan scans text into a string of any type. Consecutive rows often have the same value,
// such as a status, so it keeps the last one that is short.
type textPlan struct{ last string }

// maxKeptText is the longest text that is kept.
const maxKeptText = 64

// Scan implements pgtype.ScanPlan.
func (p *textPlan) Scan(src []byte, target any) error {
	if src == nil {
		return errors.New("null is not a text")
	}
	text := p.last
	if string(src) != text {
		if text = string(src); len(text) <= maxKeptText {
			p.last = text
		}
	}
	reflect.ValueOf(target).Elem().SetString(text)
	return nil
}

// Scan reads the current row into a struct. Fields without a column are zero, unless One has set
// them in the buffer. Null columns of a Packed row are zero.
func (c *Scanner) Scan(rows pgx.Rows, row reflect.Value) error {
	defer c.buffer.SetZero() // also after a panic: the connection keeps the buffer
	if err := c.scanValues(rows.RawValues()); err != nil {
		return err
	}
	row.Set(c.buffer)
	return nil
}

func (c *Scanner) scanValues(values [][]byte) error {
	for i, value := range values {
		if value == nil && c.packed != nil {
			reflect.ValueOf(c.targets[i]).Elem().SetZero()
			continue
		}
		if err := c.plans[i].Scan(value, c.targets[i]); err != nil {
			return fmt.Errorf("read column %s: %w", c.columns[i].Name, err)
		}
	}
	if c.packed != nil {
		return c.packed.Unpack()
	}
	return nil
}

// Packed is a row with a column that may hold the values of other columns, which are null
// then.
type Packed interface {
	// Unpack fills the fields of these columns after a row was read.
	Unpack() error
}
