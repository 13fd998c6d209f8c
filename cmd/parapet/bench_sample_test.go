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

	frames [][]byte // of the body of an event, as the service stored it
	parts  [][]byte // their texts
}

// readBody splits the body of an event.
func (s *sampleRow) readBody(b testing.TB) {
	b.Helper()
	var err error
	s.frames, err = compress.Split(s.columnValue("data").([]byte))
	require.NoError(b, err)
	require.NotEmpty(b, s.frames, "the service compresses events")
	s.parts = make([][]byte, len(s.frames))
	for i, frame := range s.frames {
		s.parts[i], err = compress.Decompress(frame)
		require.NoError(b, err)
	}
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
		s.readBody(b)
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

// withSubject returns the sample event with another subject. Like the service, it compresses
// the parts of the body that differ and reuses the frames of the others.
func (s sampleRow) withSubject(subject uuid.UUID, renamed func([]byte) []byte) sampleRow {
	hash := sha256.New()
	var body []byte
	for i, part := range s.parts {
		text, frame := renamed(part), s.frames[i]
		if !bytes.Equal(text, part) {
			frame = compress.Frame(text)
		}
		hash.Write(text)
		body = append(body, frame...)
	}
	return s.withValues("id", uuid.Must(uuid.NewV7()), "subject_id", subject, "data", body, "data_hash", hash.Sum(nil))
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
