package privacy

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPersonalMembersAreReplacedWhereTheyAre(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, text, want string
		ignored          []string
	}{
		"policy":        {"policy", `{"id":"pol_1","policyholder":{"name":"Ann"},"metadata":{"a":"b"},"limit":1}`, `{"id":"pol_1","policyholder":null,"metadata":{},"limit":1}`, nil},
		"claim":         {"claim", `{"description":"Her roof.","metadata":{},"payouts":[{"description":"kept"}]}`, `{"description":null,"metadata":{},"payouts":[{"description":"kept"}]}`, nil},
		"attachment":    {"attachment", `{"file_name":"ann.pdf","description":"d","purpose":"p","size":9}`, `{"file_name":"erased","description":null,"purpose":null,"size":9}`, nil},
		"message":       {"message", `{"author":{"name":"acme"},"body":"Dear Ann"}`, `{"author":{"name":"acme"},"body":"erased"}`, nil},
		"account":       {"payout_method", `{"beneficiary":{"name":"Ann","country":"DE"},"display":{"last4":"1234","country":"DE"}}`, `{"beneficiary":{"name":"erased","country":"DE"},"display":{"last4":"","country":"DE"}}`, nil},
		"quote":         {"quote", `{"context":{"policyholder":{"email":"a@b"},"partner":"acme"},"policyholder":1}`, `{"context":{"policyholder":null,"partner":"acme"},"policyholder":1}`, nil},
		"null stays":    {"claim", `{"description":null,"metadata":null}`, `{"description":null,"metadata":null}`, nil},
		"nothing added": {"claim", `{"id":"clm_1"}`, `{"id":"clm_1"}`, nil},
		"another kind":  {"payout", `{"description":"d","metadata":{"a":"b"}}`, `{"description":"d","metadata":{"a":"b"}}`, nil},
		"unknown context": {
			"quote", `{"context":{"a":{"note":"Ann","other":1},"note":"kept","x.y":[1]},"note":2}`,
			`{"context":{"a":{"note":null,"other":1},"note":"kept","x.y":null},"note":2}`,
			[]string{"a.note", "x.y"},
		},
	} {
		got, err := redactJSON([]byte(tc.text), "", newRedactionRule(tc.kind, tc.ignored))
		require.NoError(t, err, name)
		require.Equal(t, tc.want, string(got), name)
		again, err := redactJSON(got, "", newRedactionRule(tc.kind, tc.ignored))
		require.NoError(t, err, name)
		require.Equal(t, string(got), string(again), "%s: an erased record stays as it is", name)
	}
}

func TestOnlyMembersBelowTheRecordAreReplaced(t *testing.T) {
	t.Parallel()
	rule := newRedactionRule("message", nil)
	got, err := redactJSON([]byte(`{"body":"kept","object":{"body":"Dear Ann"},"objects":{"body":"kept"}}`), "/object", rule)
	require.NoError(t, err)
	want := `{"body":"kept","object":{"body":"erased"},"objects":{"body":"kept"}}`
	require.Equal(t, want, string(got))
}

func TestBrokenRecordIsNotRedacted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"body":`, `{"body":"a"`, `{"a":1,"a":2}`, `{"body":"a"}}`, "{\"body\":\"\xff\"}"} {
		_, err := redactJSON([]byte(text), "", newRedactionRule("message", nil))
		require.ErrorContains(t, err, "redact: ", text)
	}
}

// The bytes of an event are hashed, so text that is not personal keeps its spelling.
func TestOtherTextKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	values := rapid.SampledFrom([]string{`1.50`, `1e3`, `-0`, `12345678901234567890`, `"\u00e9\/"`, `"é"`, `"\u2028"`, `[]`, `{}`, `[1,[2.0,"a"]]`, `{"b":1,"a":{"body":2}}`, `true`, `null`})
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 6, rapid.ID[string]).Draw(t, "members")
		var before, after []string
		for _, name := range members {
			pair := `"` + name + `":` + values.Draw(t, "value")
			before, after = append(before, pair), append(after, pair)
		}
		if rapid.Bool().Draw(t, "personal") {
			at := rapid.IntRange(0, len(members)).Draw(t, "place")
			insert := func(list []string, pair string) []string {
				return append(append(append([]string{}, list[:at]...), pair), list[at:]...)
			}
			before, after = insert(before, `"body":{"name":"Ann"}`), insert(after, `"body":"erased"`)
		}
		text := []byte("{" + strings.Join(before, ",") + "}")
		got, err := redactJSON(text, "", newRedactionRule("message", nil))
		require.NoError(t, err)
		require.Equal(t, "{"+strings.Join(after, ",")+"}", string(got))
		require.True(t, jsontext.Value(got).IsValid())
	})
}
