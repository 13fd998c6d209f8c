package bulk_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/kernel/bulk"
	"parapet/model/modeltest"
)

type state string

type header struct {
	ID      uuid.UUID `bun:",pk,type:uuid"`
	Partner string    `bun:",pk"`
}

// row has a column of every kind that row types have.
type row struct {
	bun.BaseModel `bun:"table:bulk_rows"`
	header

	Status    state
	Previous  *state
	Amount    int64
	More      *int64
	Count     int
	Met       bool
	At        time.Time
	EndedAt   *time.Time
	Day       *time.Time            `bun:"type:date"`
	Reasons   []string              `bun:",array"`
	Others    []uuid.UUID           `bun:",array,type:uuid[]"`
	Metadata  map[string]string     `bun:"type:json"`
	Body      struct{ Name string } `bun:"type:json"`
	Raw       jsontext.Value        `bun:"type:json"`
	Sealed    []byte
	Other     *uuid.UUID `bun:"type:uuid"`
	Reference string     `bun:",nullzero"`
	Computed  string     `bun:",scanonly"`
}

const createTable = `create table bulk_rows (id uuid, partner text, status text, previous text, amount bigint, more bigint, count integer, met boolean,
	at timestamptz, ended_at timestamptz, day date, reasons text[], others uuid[], metadata json, body json, raw json, sealed bytea, other uuid, reference text, primary key (id, partner))`

// newRows returns a row with a value in every column, and one without any that may be absent.
func newRows() (full, empty *row) {
	at := time.Date(2026, 3, 1, 23, 59, 59, 999_999_000, time.UTC)
	full = &row{
		header: header{uuid.MustParse("01932d6e-5a2b-7c00-8000-000000000001"), "acme"}, Status: "open", Previous: new(state("new")), Amount: -1, More: new(int64(1) << 62), Count: 7, Met: true,
		At: at, EndedAt: new(at.Add(time.Hour)), Day: new(time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)), Reasons: []string{`plain`, `a "quote", a \ and {braces}`, ""}, Others: []uuid.UUID{uuid.Max, uuid.Nil},
		Metadata: map[string]string{"key": `va"lue\`}, Body: struct{ Name string }{"日本"}, Raw: jsontext.Value(`{"b":1,"a":2}`), Sealed: []byte{0, 255}, Other: new(uuid.Max), Reference: "r",
	}
	empty = &row{header: header{uuid.MustParse("01932d6e-5a2b-7c00-8000-000000000002"), ""}, Reasons: []string{}, Others: []uuid.UUID{}, At: at}
	return full, empty
}

func TestInsertedRowsAreReadBackEqual(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.DB.Pool.Exec(t.Context(), createTable)
	require.NoError(t, err)
	full, empty := newRows()
	table := b.DB.Bun.Table(reflect.TypeFor[row]())
	args, err := bulk.Arguments(table.Fields, []*row{full, empty})
	require.NoError(t, err)
	statement := bulk.InsertStatement(table)
	_, err = b.DB.Pool.Exec(t.Context(), statement, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	require.NoError(t, err)
	requireReadBack(t, b, full, empty)
}

// requireReadBack checks that the table has the rows of newRows only.
func requireReadBack(t *testing.T, b *modeltest.Bundle, full, empty *row) {
	t.Helper()
	var rows []*row
	require.NoError(t, b.DB.Bun.NewSelect().Model(&rows).OrderExpr("id").Scan(t.Context()))
	for _, r := range rows {
		r.At = r.At.UTC()
	}
	rows[0].EndedAt, rows[0].Day = new(rows[0].EndedAt.UTC()), new(rows[0].Day.UTC())
	require.Equal(t, []*row{full, empty}, rows)
	var nulls int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select num_nulls(previous, more, ended_at, day, metadata, raw, sealed, other, reference) from bulk_rows where partner = ''").Scan(&nulls))
	require.Equal(t, 9, nulls)
}

func TestUpdateWritesNamedColumnsOfItsRowsOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.DB.Pool.Exec(t.Context(), createTable)
	require.NoError(t, err)
	full, empty := newRows()
	table := b.DB.Bun.Table(reflect.TypeFor[row]())
	other := *full
	other.Partner = "globex" // the same id
	args, err := bulk.Arguments(table.Fields, []*row{full, empty, &other})
	require.NoError(t, err)
	statement := bulk.InsertStatement(table)
	_, err = b.DB.Pool.Exec(t.Context(), statement, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	require.NoError(t, err)

	full.Status, full.Reasons, full.Previous, full.Amount = "closed", []string{"done"}, nil, 100
	empty.Reasons = []string{"none"}
	columns := []string{"status", "reasons", "previous"}
	args, err = bulk.Arguments(bulk.UpdateFields(table, columns...), []*row{full, empty})
	require.NoError(t, err)
	statement = bulk.UpdateStatement(table, columns...)
	done, err := b.DB.Pool.Exec(t.Context(), statement, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	require.NoError(t, err)
	require.EqualValues(t, 2, done.RowsAffected())
	var rows []*row
	require.NoError(t, b.DB.Bun.NewSelect().Model(&rows).OrderExpr("id, partner").Scan(t.Context()))
	require.Len(t, rows, 3)
	require.Equal(t, []any{state("closed"), []string{"done"}, (*state)(nil), int64(-1)}, []any{rows[0].Status, rows[0].Reasons, rows[0].Previous, rows[0].Amount})
	require.Equal(t, []any{state("open"), other.Reasons, new(state("new"))}, []any{rows[1].Status, rows[1].Reasons, rows[1].Previous}, "another partner's row")
	require.Equal(t, []string{"none"}, rows[2].Reasons)
}

func TestStatementNamesTheColumnsOfTheTable(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	full, empty := newRows()
	table := b.DB.Bun.Table(reflect.TypeFor[row]())
	args, err := bulk.Arguments(table.Fields, []*row{full, empty})
	require.NoError(t, err)
	require.Len(t, args, len(table.Fields))
	one, err := bulk.Arguments(table.Fields, []*row{empty})
	require.NoError(t, err)
	require.Len(t, one, len(args), "the same for any number of rows")
	require.NotContains(t, bulk.InsertStatement(table), "computed")
}

func TestValueThatIsNotJSONIsAnError(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	full, _ := newRows()
	full.Body.Name = "\xff"
	_, err := bulk.Arguments(b.DB.Bun.Table(reflect.TypeFor[row]()).Fields, []*row{full})
	require.ErrorContains(t, err, "column body")
}
