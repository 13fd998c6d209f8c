package bulk_test

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/schema"

	"parapet/model/dbconn"
	"parapet/model/kernel/bulk"
	"parapet/model/modeltest"
)

// createRows creates the table of row, and returns a connection to its database.
func createRows(t testing.TB) (*modeltest.Bundle, *schema.Table, *pgx.Conn) {
	t.Helper()
	b := modeltest.New(t)
	_, err := b.DB.Pool.Exec(t.Context(), createTable)
	require.NoError(t, err)
	conn, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	return b, b.DB.Bun.Table(reflect.TypeFor[row]()), conn.Conn()
}

// copyRows copies rows into a new table.
func copyRows(t *testing.T, rows []*row, through func(io.Reader) io.Reader) *modeltest.Bundle {
	t.Helper()
	b, table, conn := createRows(t)
	c := bulk.CopyRows(table, rows, 0)
	read := c.Rows
	c.Rows = func(types []uint32) io.Reader { return through(read(types)) }
	require.NoError(t, dbconn.Send(t.Context(), conn, nil, []dbconn.Copy{c}))
	return b
}

func TestCopiedRowsAreReadBackEqual(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]func(io.Reader) io.Reader{
		"in large reads":  func(r io.Reader) io.Reader { return r },
		"byte after byte": iotest.OneByteReader,
		"in halves":       iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, empty := newRows()
			requireReadBack(t, copyRows(t, []*row{full, empty}, through), full, empty)
		})
	}
}

func TestCopiedTextsKeepTheirCharacters(t *testing.T) {
	t.Parallel()
	full, _ := newRows()
	full.Reasons = []string{"", `\N`, `\.`, `\`, "a\tb", "a\nb\n", "\r\n", "\b\f\v", "日本 é", strings.Repeat(`\`, 7) + "x", `{"a","b"}`}
	full.Partner = strings.Join(full.Reasons, "")
	b := copyRows(t, []*row{full}, func(r io.Reader) io.Reader { return r })
	var read row
	require.NoError(t, b.DB.Bun.NewSelect().Model(&read).Scan(t.Context()))
	require.Equal(t, full.Partner, read.Partner)
	require.Equal(t, full.Reasons, read.Reasons)
}

func TestCopiedTimesAndNumbersReachTheLimits(t *testing.T) {
	t.Parallel()
	rows := make([]*row, 5)
	for i := range rows {
		rows[i], _ = newRows()
		rows[i].ID[15] = byte(i)
	}
	rows[0].Day, rows[1].Day = new(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)), new(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))
	rows[2].Day, rows[3].Day = new(time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC)), new(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
	rows[4].Day = new(time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("", -5*3600))) // the day that it names in its zone
	rows[0].At, rows[1].At = time.Date(1, 1, 1, 0, 0, 0, 1_000, time.UTC), time.Date(1999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	rows[2].At, rows[3].At = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	rows[0].Amount, rows[1].Amount, rows[0].Count, rows[1].Count = math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32
	b := copyRows(t, rows, func(r io.Reader) io.Reader { return r })
	var read []struct {
		Day, At       string
		Amount, Count int64
	}
	require.NoError(t, b.DB.Bun.NewRaw("select day::text, (at at time zone 'utc')::text as at, amount, count from bulk_rows order by id").Scan(t.Context(), &read))
	var texts []string
	for _, each := range read {
		texts = append(texts, fmt.Sprint(each.Day, " ", each.At, " ", each.Amount, " ", each.Count))
	}
	require.Equal(t, []string{
		"0001-01-01 0001-01-01 00:00:00.000001 -9223372036854775808 -2147483648",
		"1999-12-31 1999-12-31 23:59:59.999999 9223372036854775807 2147483647",
		"2000-02-29 2000-01-01 00:00:00 -1 7",
		"9999-12-31 9999-12-31 22:59:59 -1 7",
		"2026-03-02 2026-03-01 23:59:59.999999 -1 7",
	}, texts)
}

func TestCopyNamesTheColumnAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, table, conn := createRows(t)
	for message, change := range map[string]func(full *row, types map[string]uint32){
		"column body: ": func(full *row, _ map[string]uint32) { full.Body.Name = "\xff" },
		"column count: 2147483648 does not fit into an integer":                                   func(full *row, _ map[string]uint32) { full.Count = math.MaxInt32 + 1 },
		"column count: -2147483649 does not fit into an integer":                                  func(full *row, _ map[string]uint32) { full.Count = math.MinInt32 - 1 },
		"column amount: a value of type int64 cannot be copied to a column of type 25 in pg_type": func(_ *row, types map[string]uint32) { types["amount"] = pgtype.TextOID },
		"column status: a value of type bulk_test.state cannot be copied to a column of type 1700 in pg_type": func(_ *row, types map[string]uint32) {
			types["status"] = pgtype.NumericOID
		},
		"column status: panic: ": func(_ *row, types map[string]uint32) { types["status"] = pgtype.UUIDOID },
	} {
		full, _ := newRows()
		c := bulk.CopyRows(table, []*row{full}, 0)
		read := c.Rows
		c.Rows = func(types []uint32) io.Reader {
			named := make(map[string]uint32)
			for i, field := range table.Fields {
				named[field.Name] = types[i]
			}
			change(full, named)
			for i, field := range table.Fields {
				types[i] = named[field.Name]
			}
			return read(types)
		}
		require.ErrorContains(t, dbconn.Send(t.Context(), conn, nil, []dbconn.Copy{c}), message)
	}
}

// BenchmarkCopyRows compares CopyRows with the encoder of pgx.CopyFrom, which takes each
// value as an interface.
func BenchmarkCopyRows(b *testing.B) {
	_, table, conn := createRows(b)
	full, empty := newRows()
	rows := slices.Repeat([]*row{full, empty}, 500)
	c := bulk.CopyRows(table, rows, 0)
	var types []uint32
	described, err := conn.Prepare(b.Context(), "", c.ColumnsQuery)
	require.NoError(b, err)
	for _, column := range described.Fields {
		types = append(types, column.DataTypeOID)
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := io.Copy(io.Discard, c.Rows(types))
			require.NoError(b, err)
		}
	})
	b.Run("pgx", func(b *testing.B) {
		b.ReportAllocs()
		var out []byte
		for b.Loop() {
			for _, each := range rows {
				out = out[:0]
				for i, field := range table.Fields {
					out, err = conn.TypeMap().Encode(types[i], pgx.BinaryFormatCode, field.Value(reflect.ValueOf(each).Elem()).Interface(), out)
					require.NoError(b, err)
				}
			}
		}
	})
}
