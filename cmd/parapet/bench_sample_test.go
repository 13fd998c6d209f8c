//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// sampleRow is a row that the service wrote, to be written again under other ids.
type sampleRow struct {
	insert   string
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
	s := sampleRow{record: record}
	s.args, err = rows.Values()
	require.NoError(b, err)
	for _, field := range rows.FieldDescriptions() {
		s.columns = append(s.columns, field.Name)
	}
	s.insert = fmt.Sprintf("insert into %s (%s) values %s", table, strings.Join(s.columns, ", "), placeholders(0, len(s.args)))
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

// ColumnValue returns the sample's value of a column.
func (s sampleRow) columnValue(column string) any { return s.args[slices.Index(s.columns, column)] }

// replaceID replaces the sample's id in a text by a new id.
func (s sampleRow) replaceID(id uuid.UUID) func([]byte) []byte {
	prefix, _, _ := bytes.Cut(s.publicID, []byte("_"))
	text := []byte(publicID(string(prefix), id))
	return func(old []byte) []byte { return bytes.ReplaceAll(old, s.publicID, text) }
}

// withSubject returns the sample event with another subject.
func (s sampleRow) withSubject(subject uuid.UUID, renamed func([]byte) []byte) sampleRow {
	data := s.columnValue("data").([]byte)
	return s.withValues("id", uuid.Must(uuid.NewV7()), "subject_id", subject, "data", renamed(data))
}

// insertEvents writes events and their rows in the outbox.
func insertEvents(ctx context.Context, tx pgx.Tx, events ...sampleRow) error {
	var values, waiting []string
	var args, outbox []any
	for _, e := range events {
		values = append(values, placeholders(len(args), len(e.args)))
		args = append(args, e.args...)
		waiting = append(waiting, placeholders(len(outbox), 2))
		outbox = append(outbox, "acme", e.columnValue("id"))
	}
	into, _, _ := strings.Cut(events[0].insert, " values ")
	if _, err := tx.Exec(ctx, into+" values "+strings.Join(values, ", "), args...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "insert into event_outbox (partner, event_id) values "+strings.Join(waiting, ", "), outbox...)
	return err
}

// placeholders returns n placeholders after the given number of earlier ones.
func placeholders(after, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$%d", after+i+1)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// copyQuotes inserts n quotes that can be bound, and returns their public ids.
func (s *baselineServer) copyQuotes(b *testing.B, n int) []string {
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
