package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
)

// address is embedded in a row with a prefix.
type address struct {
	Street *string
	City   string
}

// sampleRow has a column of every type that rows of the domain have, and two of the types
// that are easily swapped.
type sampleRow struct {
	bun.BaseModel `bun:"table:samples,alias:sa"`
	store.RowHeader
	store.PartnerFields

	First, Second     string
	Nullable, Other   *string
	Choices           []string `bun:"type:json,nullzero"`
	Count             int
	Amount, Remaining int64
	Optional          *int64
	Active            bool
	Latitude          *float64
	Rate              decimal.Decimal
	Threshold         *decimal.Decimal
	Owner, Subject    uuid.UUID   `bun:"type:uuid"`
	Replaces          *uuid.UUID  `bun:"type:uuid"`
	Members           []uuid.UUID `bun:"type:uuid[],array"`
	Labels            []string    `bun:",array"`
	Secret            []byte
	Document          jsontext.Value `bun:"type:json"`
	Sum               *money.Money   `bun:"type:json"`
	Area              *string        `bun:"type:box"`
	OpensAt           time.Time
	ClosesAt          *time.Time
	Home              address `bun:"embed:home_"`
}

const samplesTable = `create table samples (id uuid, partner text, version bigint, created_at timestamptz, updated_at timestamptz,
	partner_reference text, metadata json, first text, second text, nullable text, other text, choices json, count int, amount bigint, remaining bigint,
	optional bigint, active boolean, latitude double precision, rate numeric, threshold numeric, owner uuid, subject uuid, replaces uuid, members uuid[],
	labels text[], secret bytea, document json, sum json, area box, opens_at timestamptz, closes_at timestamptz, home_street text, home_city text)`

// openSamples returns a store on a database with the table of sampleRow, and its pool.
func openSamples(t *testing.T) (*store.Store, *dbpool.Database) {
	t.Helper()
	db, _ := modeltest.Database(t, 2)
	_, err := db.Pool.Exec(t.Context(), samplesTable)
	require.NoError(t, err)
	s, err := store.New(store.Config{DB: db, Queue: modeltest.Queue{}, Keys: modeltest.Keys()})
	require.NoError(t, err)
	return s, db
}

// optional generates nil or a pointer to a value.
func optional[T any](of *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(of, true) }

// storable generates text that Postgres stores: without NUL.
func storable() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z"\\{},' ]{0,8}`), rapid.SampledFrom([]string{"", "NULL", "é\u2028😀", `\u0000`, "\t\n\x7f", "a'b\"c"}))
}

func drawSample(t *rapid.T) *sampleRow {
	text, number := storable(), rapid.Int64()
	id := rapid.Custom(func(t *rapid.T) uuid.UUID { return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")) })
	at := rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(t, "µs")).UTC() })
	rate := rapid.Custom(func(t *rapid.T) decimal.Decimal {
		return decimal.New(number.Draw(t, "digits"), rapid.Int32Range(-12, 0).Draw(t, "exponent"))
	})
	row := &sampleRow{
		RowHeader:     store.RowHeader{ID: id.Draw(t, "key"), Partner: text.Draw(t, "partner"), Version: number.Draw(t, "version"), CreatedAt: at.Draw(t, "created"), UpdatedAt: at.Draw(t, "updated")},
		PartnerFields: store.PartnerFields{PartnerReference: optional(text).Draw(t, "reference"), Metadata: rapid.MapOf(text, text).Draw(t, "metadata")},
		First:         text.Draw(t, "first"), Second: text.Draw(t, "second"),
		Nullable: optional(text).Draw(t, "nullable"), Other: optional(text).Draw(t, "other"), Choices: rapid.SliceOf(text).Draw(t, "choices"),
		Count: int(rapid.Int32().Draw(t, "count")), Amount: number.Draw(t, "amount"), Remaining: number.Draw(t, "remaining"), Optional: optional(number).Draw(t, "optional"),
		Active: rapid.Bool().Draw(t, "active"), Latitude: optional(rapid.Float64Range(-90, 90)).Draw(t, "latitude"),
		Rate: rate.Draw(t, "rate"), Threshold: optional(rate).Draw(t, "threshold"),
		Owner: id.Draw(t, "owner"), Subject: id.Draw(t, "subject"), Replaces: optional(id).Draw(t, "replaces"),
		Members: rapid.SliceOf(id).Draw(t, "members"), Labels: rapid.SliceOf(text).Draw(t, "labels"), Secret: rapid.SliceOf(rapid.Byte()).Draw(t, "secret"),
		Document: jsontext.Value(rapid.SampledFrom([]string{`{"b":1, "a":[null,"x"]}`, `"text"`, `null`, `12.50`}).Draw(t, "document")),
		OpensAt:  at.Draw(t, "opens"), ClosesAt: optional(at).Draw(t, "closes"),
		Home: address{optional(text).Draw(t, "street"), text.Draw(t, "city")},
	}
	if rapid.Bool().Draw(t, "has sum") {
		row.Sum, row.Area = new(money.New(number.Draw(t, "sum"), "USD")), new("(2,1),(-3,-4)")
	}
	return row
}

func TestInsertedRowIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	rapid.Check(t, func(t *rapid.T) {
		row := drawSample(t)
		require.NoError(t, s.InTx(context.Background(), actor.System(), func(_ context.Context, tx *store.Tx) error {
			tx.Batch.Queue("delete from samples")
			tx.QueueInsert(row)
			return nil
		}))
		var first, second, city, document string
		var nullable, other, street *string
		var amount, remaining int64
		var hasChoices bool
		var owner, subject uuid.UUID
		require.NoError(t, db.Pool.QueryRow(context.Background(), `select first, second, home_city, choices is not null, document::text, nullable, other, home_street,
			amount, remaining, owner, subject from samples`).Scan(&first, &second, &city, &hasChoices, &document, &nullable, &other, &street, &amount, &remaining, &owner, &subject))
		require.Equal(t, []any{row.First, row.Second, row.Home.City, row.Choices != nil, string(row.Document), row.Nullable, row.Other, row.Home.Street, row.Amount, row.Remaining, row.Owner, row.Subject},
			[]any{first, second, city, hasChoices, document, nullable, other, street, amount, remaining, owner, subject}, "each value is in its own column")

		var read sampleRow
		require.NoError(t, s.QueryPreparedRow(context.Background(), db.Pool, &read, s.SelectStatement(new(sampleRow))))
		requireSameRow(t, row, &read)
		var all []sampleRow
		require.NoError(t, s.QueryPreparedRows(context.Background(), db.Pool, &all, s.SelectStatement(new(sampleRow))+" where sa.id = $1", row.ID))
		require.Equal(t, []sampleRow{read}, all)
	})
}

// requireSameRow compares rows. Decimals are compared by value, and empty lists and maps
// with nil ones.
func requireSameRow(t require.TestingT, want, got *sampleRow) {
	require.True(t, want.Rate.Equal(got.Rate), "%s and %s", want.Rate, got.Rate)
	require.Equal(t, want.Threshold == nil, got.Threshold == nil)
	require.True(t, want.Threshold == nil || want.Threshold.Equal(*got.Threshold))
	expected, found := *want, *got
	expected.Rate, expected.Threshold, found.Rate, found.Threshold = decimal.Zero, nil, decimal.Zero, nil
	for _, row := range []*sampleRow{&expected, &found} {
		row.Members, row.Labels, row.Choices, row.Secret = slices.Concat(row.Members), slices.Concat(row.Labels), slices.Concat(row.Choices), slices.Concat(row.Secret)
		if len(row.Metadata) == 0 {
			row.Metadata = nil
		}
	}
	require.Equal(t, expected, found)
}

func TestScannerSetsWhatIsNullToTheZeroValue(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	_, err := db.Pool.Exec(t.Context(), "insert into samples (second) values ('b')")
	require.NoError(t, err)
	dirty := []sampleRow{{Nullable: new("old"), Threshold: new(decimal.NewFromInt(1)), Sum: new(money.New(1, "USD")), Home: address{Street: new("old"), City: "Kobe"}}}
	text := "select second, nullable, threshold, sum, replaces, members, closes_at, document, home_street from samples"
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &dirty, text))
	require.Equal(t, []sampleRow{{Second: "b"}}, dirty)
	var row sampleRow
	require.ErrorContains(t, s.QueryPreparedRow(t.Context(), db.Pool, &row, "select first from samples"), "read column first", "a column that must have a value")
	require.ErrorContains(t, s.QueryPreparedRow(t.Context(), db.Pool, &row, "select 1 as unknown from samples"), "has no column unknown")
	require.ErrorIs(t, s.QueryPreparedRow(t.Context(), db.Pool, &row, "select second from samples where false"), pgx.ErrNoRows)
}

// Rows are scanned into one struct and copied from it.
func TestScannedRowsShareNothing(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	_, err := db.Pool.Exec(t.Context(), `insert into samples (second, metadata, choices, nullable, secret) values
		('a', '{"x": "1"}', '["p", "q"]', 'first', 'one'), ('b', '{"y": "2"}', '["r"]', 'second', 'two'), ('c', null, null, null, null)`)
	require.NoError(t, err)
	var all []sampleRow
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &all, "select second, metadata, choices, nullable, secret from samples order by second"))
	want := []sampleRow{{Second: "a", Choices: []string{"p", "q"}, Nullable: new("first"), Secret: []byte("one")}, {Second: "b", Choices: []string{"r"}, Nullable: new("second"), Secret: []byte("two")}, {Second: "c"}}
	want[0].Metadata, want[1].Metadata = map[string]string{"x": "1"}, map[string]string{"y": "2"}
	require.Equal(t, want, all)

	conn, err := db.Pool.Acquire(t.Context()) // a connection keeps its scanners
	require.NoError(t, err)
	defer conn.Release()
	kept := sampleRow{Second: "old", Count: 7}
	const seconds = "select second from samples order by second"
	require.NoError(t, s.QueryPreparedRow(t.Context(), conn, &kept, seconds))
	require.Equal(t, sampleRow{Second: "a", Count: 7}, kept, "a field without a column stays")
	require.NoError(t, s.QueryPreparedRows(t.Context(), conn, &all, seconds))
	require.Equal(t, []sampleRow{{Second: "a"}, {Second: "b"}, {Second: "c"}}, all, "but in this row only")

	const firsts = "select first from samples order by second"
	require.ErrorContains(t, s.QueryPreparedRow(t.Context(), conn, &kept, firsts), "read column first")
	_, err = conn.Exec(t.Context(), "update samples set first = second")
	require.NoError(t, err)
	require.NoError(t, s.QueryPreparedRows(t.Context(), conn, &all, firsts))
	require.Equal(t, []sampleRow{{First: "a"}, {First: "b"}, {First: "c"}}, all, "nothing stays of a row that failed")
}

// packedRow is a row whose second column may hold the first.
type packedRow struct {
	bun.BaseModel `bun:"table:samples,alias:sa"`

	First, Second string
}

func (r *packedRow) Unpack() error {
	if r.Second == "panic" {
		panic("cannot unpack")
	}
	if r.First == "" {
		r.First = r.Second
	}
	return nil
}

func TestNullColumnsOfAPackedRowAreUnpacked(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	_, err := db.Pool.Exec(t.Context(), "insert into samples (first, second) values ('a', 'b'), (null, 'c')")
	require.NoError(t, err)
	const text = "select first, second from samples order by second"
	var rows []packedRow
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &rows, text))
	require.Equal(t, []packedRow{{First: "a", Second: "b"}, {First: "c", Second: "c"}}, rows)
	row := packedRow{First: "old"}
	require.NoError(t, s.QueryPreparedRow(t.Context(), db.Pool, &row, text+" desc"))
	require.Equal(t, packedRow{First: "c", Second: "c"}, row)

	conn, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "update samples set second = 'panic' where second = 'b'")
	require.NoError(t, err)
	const seconds = "select second from samples order by second"
	row = packedRow{First: "a"}
	require.Panics(t, func() { _ = s.QueryPreparedRow(t.Context(), conn, &row, seconds+" desc") })
	_, err = conn.Exec(t.Context(), "update samples set second = 'd' where second = 'panic'")
	require.NoError(t, err)
	require.NoError(t, s.QueryPreparedRows(t.Context(), conn, &rows, seconds+" desc"))
	require.Equal(t, []packedRow{{First: "d", Second: "d"}, {First: "c", Second: "c"}}, rows, "nothing stays of a row that could not be read")
}

// pointerRow embeds a pointer, to which rows that are copied would all refer.
type pointerRow struct {
	bun.BaseModel `bun:"table:samples,alias:sa"`

	Home *address `bun:"embed:home_"`
}

func TestRowsThatEmbedAPointerAreRefused(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	_, err := db.Pool.Exec(t.Context(), "insert into samples (home_city) values ('Kobe')")
	require.NoError(t, err)
	var rows []pointerRow
	require.ErrorContains(t, s.QueryPreparedRows(t.Context(), db.Pool, &rows, "select home_city from samples"), "embeds *store_test.address, a pointer")
	var parents []struct{ Rows []pointerRow }
	require.ErrorContains(t, s.QueryPreparedRows(t.Context(), db.Pool, &parents, "select array(select row(home_city, home_city) from samples) as rows"), "embeds *store_test.address, a pointer")
}

// extendedRow is a row with columns of another table.
type extendedRow struct {
	sampleRow `bun:",extend"`

	Total *int64
}

func TestScannerReadsExtendedRows(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	_, err := db.Pool.Exec(t.Context(), "insert into samples (second, home_city) values ('b', 'Kobe'), ('c', 'Oita')")
	require.NoError(t, err)
	var rows []extendedRow
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &rows, "select second, home_city, case when second = 'c' then 7::bigint end as total from samples order by second"))
	require.Equal(t, []extendedRow{{sampleRow: sampleRow{Second: "b", Home: address{City: "Kobe"}}}, {sampleRow: sampleRow{Second: "c", Home: address{City: "Oita"}}, Total: new(int64(7))}}, rows)
}

func TestSaveColumnsWritesOnlyTheNamedColumnsOfTheReadVersion(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	stored := &sampleRow{RowHeader: store.RowHeader{ID: store.NewID(), Partner: "acme", Version: 4}, First: "a", Second: "b", Amount: 1, Remaining: 2, Owner: store.NewID(), Subject: store.NewID()}
	changed := *stored
	changed.First, changed.Second, changed.Amount, changed.Remaining = "A", "B", 10, 20
	changed.Owner, changed.Subject, changed.Nullable = stored.Subject, stored.Owner, new("new")
	save := func(row *sampleRow) error {
		return s.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveColumns(ctx, row, "remaining", "second", "subject", "nullable")
		})
	}
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		other := *stored
		other.Partner = "globex"
		tx.QueueInsert(stored)
		tx.QueueInsert(&other)
		return nil
	}))
	outdated := changed
	outdated.Version--
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(save(&outdated)))
	require.NoError(t, save(&changed))
	require.EqualValues(t, 5, changed.Version)
	want := *stored
	want.Version, want.UpdatedAt = 5, changed.UpdatedAt
	want.Remaining, want.Second, want.Subject, want.Nullable = 20, "B", stored.Owner, new("new")
	var rows []sampleRow
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &rows, s.SelectStatement(new(sampleRow))+" order by sa.version"))
	require.Len(t, rows, 2)
	require.Equal(t, "globex", rows[0].Partner)
	require.Equal(t, "b", rows[0].Second, "the row of another partner with the same id")
	requireSameRow(t, &want, &rows[1])
}

// omittedRow has a column that is null instead of empty.
type omittedRow struct {
	bun.BaseModel `bun:"table:samples,alias:sa"`

	First  string
	Second string `bun:",nullzero"`
}

func TestEmptyTextIsNullOnlyInColumnsThatSaySo(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		tx.QueueInsert(&omittedRow{})
		tx.QueueInsert(&omittedRow{First: "a", Second: "b"})
		return nil
	}))
	rows, err := db.Pool.Query(t.Context(), "select first || '/' || coalesce(second, 'null') from samples order by first")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"/null", "a/b"}, found)
}
