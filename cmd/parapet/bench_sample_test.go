//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
)

// sampleRow is a row that the service wrote, to be written again under other ids.
type sampleRow struct {
	table    string
	columns  []string
	args     []any
	record   []byte // the row as the service returned it
	publicID []byte // its public id
}

// readSampleRow reads the first row of a table.
func readSampleRow(b testing.TB, db *pgxpool.Pool, table, where string, record []byte) sampleRow {
	b.Helper()
	rows, err := db.Query(b.Context(), "select * from "+table+" where "+where+" order by id limit 1")
	require.NoError(b, err)
	defer rows.Close()
	require.True(b, rows.Next(), "no row of %s", table)
	s := sampleRow{table: table, record: record}
	s.args, err = rows.Values()
	require.NoError(b, err)
	for _, field := range rows.FieldDescriptions() {
		s.columns = append(s.columns, field.Name)
	}
	if table == "events" {
		i := slices.Index(s.columns, "data")
		s.args[i], err = compress.Decompress(s.args[i].([]byte))
		require.NoError(b, err)
	}
	if record != nil {
		s.publicID = []byte(recordID(b, record))
	}
	return s
}

// withValues returns the sample with other values in some columns.
func (s sampleRow) withValues(pairs ...any) sampleRow {
	s.args = slices.Clone(s.args)
	for i := 0; i < len(pairs); i += 2 {
		s.args[slices.Index(s.columns, pairs[i].(string))] = pairs[i+1]
	}
	return s
}

// insertAs returns the statement that inserts the row into its table from a source, an item
// of FROM. The row's arguments follow after others.
func (s sampleRow) insertAs(after int, source string) string {
	values := make([]string, len(s.columns))
	for i := range s.columns {
		values[i] = fmt.Sprintf("$%d", after+i+1)
	}
	return fmt.Sprintf("insert into %s (%s) select %s from %s", s.table, strings.Join(s.columns, ", "), strings.Join(values, ", "), source)
}

// argument returns the placeholder of a column if the row's arguments follow after others.
func (s sampleRow) argument(after int, column string) string {
	return fmt.Sprintf("$%d", after+1+slices.Index(s.columns, column))
}

// columnValue returns the sample's value of a column.
func (s sampleRow) columnValue(column string) any { return s.args[slices.Index(s.columns, column)] }

// replaceID replaces the sample's id in a text by a new id.
func (s sampleRow) replaceID(id uuid.UUID) func([]byte) []byte {
	prefix, _, _ := bytes.Cut(s.publicID, []byte("_"))
	text := []byte(publicID(string(prefix), id))
	return func(old []byte) []byte { return bytes.ReplaceAll(old, s.publicID, text) }
}

// withSubject returns the sample event with another subject, and with its body compressed
// as the service stores it.
func (s sampleRow) withSubject(subject uuid.UUID, renamed func([]byte) []byte) sampleRow {
	body := renamed(s.columnValue("data").([]byte))
	hash := sha256.Sum256(body)
	return s.withValues("id", uuid.Must(uuid.NewV7()), "subject_id", subject, "data", compress.Compress(body), "data_hash", hash[:])
}

// copyQuotes inserts n quotes that can be bound, and returns their public ids.
func (s *baselineServer) copyQuotes(b testing.TB, n int) []string {
	b.Helper()
	keys, ids := make([]uuid.UUID, n), make([]string, n)
	for i := range keys {
		keys[i] = uuid.Must(uuid.NewV7())
		ids[i] = publicID("quo", keys[i])
	}
	_, err := s.db.CopyFrom(b.Context(), pgx.Identifier{"quotes"}, s.quote.columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		return s.quote.withValues("id", keys[i]).args, nil
	}))
	require.NoError(b, err)
	return ids
}
