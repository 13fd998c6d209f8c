package strictjson

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPositionMatchesEditors(t *testing.T) {
	t.Parallel()
	text := []byte("{\n  \"ä\": 1,\n,}")
	for offset, want := range map[int64][2]int{0: {1, 1}, 2: {2, 1}, 7: {2, 5}, 13: {3, 1}, 14: {3, 2}, 99: {3, 3}, -1: {1, 1}} {
		line, column := place(text, AsSent, offset)
		require.Equal(t, want, [2]int{line, column}, offset)
	}
	line, column := place(text, func(offset int64) int64 { return offset + 100*min(max(0, offset-10), 1) }, 12)
	require.Equal(t, [2]int{2, 110}, [2]int{line, column}, "the caller sent 100 bytes more before it")
}

func TestCanonicalComparesNumbersByValue(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		`5e1`:                 {`50`, `50.0`, `5e1`, `5E+1`, `0.5e2`, `500e-1`},
		`5`:                   {`5`, `5.000`, `0.05e2`},
		`-25e-3`:              {`-0.025`, `-2.5e-2`, `-25E-3`},
		`0`:                   {`0`, `-0`, `0.0`, `0e7`, `-0.0e-7`},
		`9007199254740993`:    {`9007199254740993`, `9007199254740993.0`},
		`9007199254740992`:    {`9007199254740992`},
		`[1,"50.0",{"a":2}]`:  {` [ 1.0, "50.0" , {"a":2.00} ] `},
		`{"a":"\"1.0","b":1}`: {`{"b":1.0,"a":"\"1.0"}`, `{"a":"\u00221.0","b":10e-1}`},
		`1e99999999999`:       {`1e99999999999`},
	} {
		for _, spelling := range spellings {
			got, err := Canonicalize([]byte(spelling))
			require.NoError(t, err, spelling)
			require.Equal(t, want, string(got), spelling)
		}
	}
	_, err := Canonicalize([]byte(`{"a":`))
	require.Error(t, err)
}
