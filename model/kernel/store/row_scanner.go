package store

import (
	"reflect"

	"github.com/jackc/pgx/v5"

	"parapet/model/kernel/rowscan"
)

// Packed is a row with a column that may hold the values of other columns.
type Packed = rowscan.Packed

// rowScanner scans the rows of one statement.
type rowScanner struct{ *rowscan.Scanner }

func (s *Store) scannerFor(rows pgx.Rows, text string, row reflect.Value) (*rowScanner, error) {
	scanner, err := rowscan.For(s.DB, rows, text, row)
	return &rowScanner{scanner}, err
}

func (c *rowScanner) scan(rows pgx.Rows, row reflect.Value) error { return c.Scan(rows, row) }
