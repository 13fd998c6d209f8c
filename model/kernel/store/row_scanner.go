package store

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun/schema"
)

// rowScanner scans rows into structs of one type by column name. Field lookup and scan
// plans are computed once per statement and connection.
type rowScanner struct {
	columns []pgconn.FieldDescription
	fields  []*schema.Field
	plans   []pgtype.ScanPlan
}

// scanners are cached per connection, whose types they know, up to maxCachedScanners:
// filters create more statements than are worth caching.
const (
	scannerCacheKey   = "parapet scanners"
	maxCachedScanners = 512
)

// scannerFor returns the scanner for the current row of a statement. A statement that
// returns other columns than before, after a migration, gets a new one.
func (s *Store) scannerFor(rows pgx.Rows, text string, row reflect.Value) (*rowScanner, error) {
	kept := rows.Conn().PgConn().CustomData()
	known, _ := kept[scannerCacheKey].(map[statementKey]*rowScanner)
	if known == nil || len(known) >= maxCachedScanners {
		known = make(map[statementKey]*rowScanner)
		kept[scannerCacheKey] = known
	}
	name, columns := statementKey{row.Type(), text}, rows.FieldDescriptions()
	if found := known[name]; found != nil && slices.Equal(found.columns, columns) {
		return found, nil
	}
	table, made := s.DB.Table(row.Type()), &rowScanner{columns: slices.Clone(columns)}
	for _, column := range columns {
		field := table.LookupField(column.Name)
		if field == nil {
			return nil, fmt.Errorf("%s has no column %s", table.TypeName, column.Name)
		}
		made.fields = append(made.fields, field)
		made.plans = append(made.plans, rows.Conn().TypeMap().PlanScan(column.DataTypeOID, column.Format, scanTarget(field, row)))
	}
	known[name] = made
	return made, nil
}

// scan reads the current row into a struct. Null columns of a Packed row are zero.
func (c *rowScanner) scan(rows pgx.Rows, row reflect.Value) error {
	packed, isPacked := row.Addr().Interface().(Packed)
	values := rows.RawValues()
	for i, field := range c.fields {
		if isPacked && values[i] == nil {
			field.Value(row).SetZero()
			continue
		}
		if err := c.plans[i].Scan(values[i], scanTarget(field, row)); err != nil {
			return fmt.Errorf("read column %s: %w", field.Name, err)
		}
	}
	if isPacked {
		return packed.Unpack()
	}
	return nil
}

// Packed is a row with a column that may hold the values of other columns, which are null
// then.
type Packed interface {
	// Unpack fills the fields of these columns after a row was read.
	Unpack() error
}

// scanTarget returns where a column is scanned to. Raw JSON columns are not parsed.
func scanTarget(field *schema.Field, row reflect.Value) any {
	into := field.Value(row).Addr().Interface()
	if text, raw := into.(*jsontext.Value); raw {
		return (*[]byte)(text)
	}
	return into
}
