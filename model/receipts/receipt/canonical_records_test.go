package receipt

import (
	"flag"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/internal/recordgen"
	"parapet/model/wire"
)

var update = flag.Bool("update", false, "write canonical_records.go")

func TestCanonicalAppendersAreGeneratedFromTheTypes(t *testing.T) {
	t.Parallel()
	hashed := reflect.TypeFor[Hashed]()
	recordgen.Check(t, recordgen.File{Name: "canonical_records.go", Package: hashed.PkgPath(), Canonical: true, Records: []reflect.Type{hashed}}, *update)
}

func TestCanonicalAppendersWriteCanonicalJSON(t *testing.T) {
	t.Parallel()
	times := rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(t, "µs")) })
	values := rapid.MakeCustom[Hashed](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{reflect.TypeFor[time.Time](): times.AsAny()}})
	rapid.Check(t, func(t *rapid.T) {
		hashed := values.Draw(t, "hashed")
		encoded, err := wire.Encode(hashed)
		require.NoError(t, err)
		expected, err := CanonicalText(encoded)
		require.NoError(t, err)
		for _, value := range []any{hashed, &hashed} {
			text, err := Canonical(value)
			require.NoError(t, err)
			require.Equal(t, string(expected), string(text))
		}
		require.True(t, appendCanonicalRecord(new(wire.Appender), hashed))
	})
}

func TestCanonicalJSONOfIntegersThatNoDoubleHolds(t *testing.T) {
	t.Parallel()
	for number, canonical := range map[int64]string{1 << 53: "9007199254740992", 1<<53 + 1: "9007199254740992", -1<<53 - 1: "-9007199254740992", -1 << 53: "-9007199254740992"} {
		text, err := Canonical(Hashed{Determination: wire.Determination{Amount: wire.Money{Amount: number}}})
		require.NoError(t, err)
		require.Contains(t, string(text), `"amount":`+canonical+`,`)
	}
	_, err := Canonical(Hashed{Product: "\xff"})
	require.Error(t, err)
}
