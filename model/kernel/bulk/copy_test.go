package bulk_test

import (
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/bulk"
	"parapet/model/modeltest"
)

// copyRows copies rows into a new table.
func copyRows(t *testing.T, rows []*row, through func(io.Reader) io.Reader) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t)
	_, err := b.DB.Pool.Exec(t.Context(), createTable)
	require.NoError(t, err)
	table := b.DB.Bun.Table(reflect.TypeFor[row]())
	conn, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	done, err := conn.Conn().PgConn().CopyFrom(t.Context(), through(bulk.CopyRows(table.Fields, rows)), bulk.CopyStatement(table))
	require.NoError(t, err)
	require.EqualValues(t, len(rows), done.RowsAffected())
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

func TestCopyNamesTheColumnThatIsNoJSON(t *testing.T) {
	t.Parallel()
	full, _ := newRows()
	full.Body.Name = "\xff"
	table := modeltest.New(t).DB.Bun.Table(reflect.TypeFor[row]())
	_, err := io.Copy(io.Discard, bulk.CopyRows(table.Fields, []*row{full}))
	require.ErrorContains(t, err, "column body: ")
}

func TestPanicWhileRowsAreCopiedIsAnError(t *testing.T) {
	t.Parallel()
	table := modeltest.New(t).DB.Bun.Table(reflect.TypeFor[row]())
	_, err := io.Copy(io.Discard, bulk.CopyRows(table.Fields, []*row{nil}))
	require.ErrorContains(t, err, "copy rows: panic: ")
}
