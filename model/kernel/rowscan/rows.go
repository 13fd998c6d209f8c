package rowscan

import (
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/kernel/pacing"
)

// One reads the first row of a statement and closes rows; pgx.ErrNoRows if there is none.
func One(db *bun.DB, rows pgx.Rows, text string, into any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	row := reflect.ValueOf(into).Elem()
	reader, err := For(db, rows, text, row.Type())
	if err != nil {
		return err
	}
	reader.buffer.Set(row) // its fields without a column stay as they are
	if err := reader.Scan(rows, row); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// All reads the rows of a statement into a slice of structs or of pointers to them, and
// closes rows.
func All(db *bun.DB, rows pgx.Rows, text string, into any) (err error) {
	defer rows.Close()
	all := reflect.ValueOf(into).Elem()
	all.SetLen(0) // its capacity may be the expected number of rows
	var reader *Scanner
	for n := 0; rows.Next(); n++ {
		pacing.YieldEvery(64, n)
		all.Grow(1)
		all.SetLen(n + 1)
		row := all.Index(n)
		if row.Kind() == reflect.Pointer {
			row.Set(reflect.New(row.Type().Elem()))
			row = row.Elem()
		}
		if reader == nil {
			if reader, err = For(db, rows, text, row.Type()); err != nil {
				return err
			}
		}
		if err := reader.Scan(rows, row); err != nil {
			return err
		}
	}
	return rows.Err()
}
