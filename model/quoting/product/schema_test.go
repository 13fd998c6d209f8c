package product

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// sampleSchema has a member of each type, with defaults, in two depths.
const sampleSchema = `{"type":"object","required":["name"],"properties":{
	"name":{"type":"string","minLength":1,"maxLength":5},
	"count":{"type":"integer","minimum":1,"maximum":1000,"default":3},
	"width_km":{"type":"number","minimum":0.5,"maximum":20.25,"default":2.5,"x-because":"wider is unknown"},
	"share":{"type":"string","pattern":"^[0-9.]{1,9}$","x-minimum":"0.1","x-maximum":"1","x-because":"it is a share","examples":["0.5"]},
	"flag":{"type":["boolean","null"]},
	"shape":{"type":"string","enum":["a","b"]},
	"at":{"type":"object","required":["x"],"properties":{"x":{"type":"integer","minimum":0,"maximum":9},"amount":{"type":"integer","minimum":0,"maximum":9,"default":1}}},
	"list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","required":["y"],"properties":{"y":{"type":"number","minimum":0,"maximum":1}}}}}}`

func newSchema(t *testing.T, source string) *schema {
	t.Helper()
	s, err := readSchema(jsontext.Value(source))
	require.NoError(t, err)
	return s
}

// faultsOf returns the faults of a value as pointer, code and detail.
func faultsOf(s *schema, value string) (faults []string) {
	for _, f := range s.readValue(jsontext.Value(value), "/c").fields {
		faults = append(faults, f.Pointer+" "+f.Code+": "+f.Detail)
	}
	return faults
}

func TestEachFaultOfAValueSaysWhatIsValid(t *testing.T) {
	t.Parallel()
	s := newSchema(t, sampleSchema)
	for value, want := range map[string]string{
		`{"name":"123456"}`:                       "/c/name value: name must have at most 5 characters.",
		`{"name":"a","count":0}`:                  "/c/count minimum: count must be at least 1.",
		`{"name":"a","count":1001}`:               "/c/count maximum: count must be at most 1000.",
		`{"name":"a","count":1.5}`:                "/c/count type: count must be a whole number.",
		`{"name":"a","count":99999999999999999}`:  "/c/count maximum: count must be at most 1000.",
		`{"name":"a","width_km":0.4}`:             "/c/width_km minimum: width_km must be at least 0.5: wider is unknown.",
		`{"name":"a","width_km":20.26}`:           "/c/width_km maximum: width_km must be at most 20.25: wider is unknown.",
		`{"name":"a","share":"0.09"}`:             "/c/share minimum: share must be at least 0.1: it is a share.",
		`{"name":"a","share":"1.01"}`:             "/c/share maximum: share must be at most 1: it is a share.",
		`{"name":"a","share":"half"}`:             `/c/share pattern: share must match the pattern ^[0-9.]{1,9}$, such as "0.5".`,
		`{"name":"a","share":"1e9"}`:              `/c/share pattern: share must match the pattern ^[0-9.]{1,9}$, such as "0.5".`,
		`{"name":"a","flag":"x"}`:                 "/c/flag type: flag must be null or a boolean.",
		`{"name":"a","shape":"c"}`:                "/c/shape enum: shape must be one of a, b.",
		`{"name":"a","shape":null}`:               "/c/shape null: shape must not be null; it must be a string.",
		`{"name":"a","at":{}}`:                    "/c/at/x required: at.x is required.",
		`{"name":"a","at":{"x":1,"amount":1.5}}`:  "/c/at/amount type: at.amount must be a whole number of minor units: 1250 for 12.50 USD.",
		`{"name":"a","at":[1]}`:                   "/c/at type: at must be an object.",
		`{"name":"a","list":[]}`:                  "/c/list value: list must have at least 1 items.",
		`{"name":"a","list":[{"y":1},{"y":0},0]}`: "/c/list value: list must have at most 2 items.",
		`{"name":"a","list":{}}`:                  "/c/list type: list must be an array.",
		`{"name":"a","list":[{"y":2}]}`:           "/c/list/0/y maximum: list.0.y must be at most 1.",
		`{"name":"a","width":1}`:                  "/c/width unknown: width does not exist; use width_km.",
		`{"name":"a","WIDTH_KM":1}`:               "/c/WIDTH_KM unknown: WIDTH_KM does not exist; use width_km.",
		`{"name":"a","cout":1}`:                   "/c/cout unknown: cout does not exist; use count.",
		`"x"`:                                     "/c type: context must be an object.",
		`{"name":"a","name":"b"}`:                 "/c type: context must be one JSON object without repeated names.",
		`{"name":"a"} {}`:                         "/c type: context must be one JSON object without repeated names.",
		" \n":                                     "/c required: context is required.",
	} {
		require.Equal(t, []string{want}, faultsOf(s, value), value)
	}
}

func TestBoundsOfASchemaAreInclusive(t *testing.T) {
	t.Parallel()
	s := newSchema(t, sampleSchema)
	for _, value := range []string{
		`{"name":"a"}`, `{"name":"éééée"}`, `{"name":"a","count":1}`, `{"name":"a","count":1000}`, `{"name":"a","count":1e3}`, `{"name":"a","count":10.0e1}`,
		`{"name":"a","width_km":0.5}`, `{"name":"a","width_km":20.25}`, `{"name":"a","share":"0.1"}`, `{"name":"a","share":"1.000"}`,
		`{"name":"a","flag":null}`, `{"name":"a","at":{"x":0}}`, `{"name":"a","list":[{"y":0},{"y":1e0}]}`,
	} {
		require.Empty(t, faultsOf(s, value), value)
	}
}

func TestDefaultsAreAddedAtEveryDepthAndWholeNumbersArePlain(t *testing.T) {
	t.Parallel()
	s := newSchema(t, sampleSchema)
	r := s.readValue(jsontext.Value(`{"at":{"x":9e0,"upward":[1]},"name":"a","hue":1.50,"list":[{"y":1.0e0,"reason":{}}],"count":1.0e2}`), "/c")
	require.Empty(t, r.fields)
	require.Equal(t, []string{ // order and digits as given
		`{"at":{"x":9,"upward":[1],"amount":1},"name":"a","hue":1.50,"list":[{"y":1.0e0,"reason":{}}],"count":100,"width_km":2.5}`,
		`{"at":{"x":9,"amount":1},"name":"a","list":[{"y":1}],"count":100,"width_km":2.5}`,
	}, []string{string(r.full), string(r.known)})
	require.Equal(t, []string{"at.upward", "hue", "list.0.reason"}, r.ignored)
}

func TestSchemaThatCannotBeInterpretedIsRefused(t *testing.T) {
	t.Parallel()
	for source, says := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"number","minimum":1}}}`:                                        "a is a number and must have a minimum and a maximum",
		`{"type":"object","properties":{"a":{"type":"integer","maximum":1}}}`:                                       "a is a number and must have a minimum and a maximum",
		`{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`:                                           "a has items and must have maxItems",
		`{"properties":{"a":{"type":"array","maxItems":1,"items":{"type":"number"}}}}`:                              "a.items is a number",
		`{"properties":{"b":{"properties":{"c":{"type":"integer"}}}}}`:                                              "b.c is a number",
		`{"properties":{"b":{"type":"array","maxItems":1,"items":{"properties":{"c":{"items":{"type":"null"}}}}}}}`: "b.items.c has items",
		`{"$ref":"urn:x"}`:                                     "plain keywords",
		`{"anyOf":[{"type":"string"}]}`:                        "plain keywords",
		`{"additionalProperties":false}`:                       "plain keywords",
		`{"properties":{"a":{"default":1,"const":1}}}`:         "plain keywords",
		`{"type":"nothing"}`:                                   "/type",
		`{"properties":{"a":{"type":"string","pattern":"["}}}`: "pattern",
		`[]`: "plain keywords",
	} {
		_, err := readSchema(jsontext.Value(source))
		require.ErrorContains(t, err, says, source)
	}
}

func TestInvalidDefaultIsAFaultOfTheContext(t *testing.T) {
	t.Parallel()
	s := newSchema(t, `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":3,"default":7},"share":{"type":"string","x-maximum":"1","default":"2"}}}`)
	require.Equal(t, []string{"/c/n maximum: n must be at most 3.", "/c/share maximum: share must be at most 1."}, faultsOf(s, `{}`))
	require.Empty(t, faultsOf(s, `{"n":2,"share":"0.5"}`))
}

func TestFaultsInsideAFaultAreLeftOut(t *testing.T) {
	t.Parallel()
	at := func(pointer, code string) Field { return Field{Pointer: pointer, Code: code} }
	got := onePerMember([]Field{
		at("/b/c", CodeMinimum), at("/a", CodeEnum), at("/a", CodeType), at("/b", CodeValue), at("/b/c/d", CodeNull),
		at("/bc", CodePattern), at("/e/1", CodeMaximum), at("/e/0/x", CodeRequired), at("/e/0", CodeFormat),
	})
	require.Equal(t, []Field{at("/a", CodeType), at("/b", CodeValue), at("/bc", CodePattern), at("/e/0", CodeFormat), at("/e/1", CodeMaximum)}, got)
}

func TestPointersOfFaultsAreEscaped(t *testing.T) {
	t.Parallel()
	f := fieldAt("/c", []string{"a/b", "~"}, CodeValue, "is %d%%", 5)
	require.Equal(t, Field{Pointer: "/c/a~1b/~0", Code: CodeValue, Detail: "a/b.~ is 5%."}, f)
	require.Equal(t, Field{Pointer: "/c", Code: CodeNull, Detail: "context is null."}, fieldAt("/c", nil, CodeNull, "is null"))
}

// randomValue returns a JSON value that is often what a member of the sample schema
// allows, and often not.
func randomValue(random *rand.Rand, depth int) string {
	scalars := []string{"0", "1", "9", "0.5", "1e2", "-1", "1e400", "1e-999999999", `"a"`, `"0.5"`, `"1.5"`, `""`, "true", "null"}
	switch kind := random.IntN(8); {
	case kind < 5 || depth == 0:
		return scalars[random.IntN(len(scalars))]
	case kind == 5:
		return "[" + randomValue(random, depth-1) + "]"
	default:
		names := []string{"name", "count", "width_km", "share", "flag", "shape", "at", "list", "x", "y", "amount", "unheard_of", "a/b"}
		random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		var members []string
		for _, name := range names[:random.IntN(5)] {
			members = append(members, fmt.Sprintf("%q:%s", name, randomValue(random, depth-1)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
}

// Whatever is given: the stored form holds every given member as it was and is itself
// read the same; faults are in order, one a member and none inside another, and what is
// left of the value without them has none.
func TestReadingAnyValueKeepsItsPromises(t *testing.T) {
	t.Parallel()
	s := newSchema(t, sampleSchema)
	random := rand.New(rand.NewPCG(6, 28))
	valid := 0
	for range 1500 {
		value := `{"name":"a","extra":` + randomValue(random, 1)
		for _, member := range []string{"at", "list", "share", "count", "width_km"} {
			if random.IntN(4) == 0 {
				value += fmt.Sprintf(",%q:%s", member, randomValue(random, 3))
			}
		}
		value += "}"
		r := s.readValue(jsontext.Value(value), "/c")
		again := s.readValue(r.full, "/c")
		require.Equal(t, string(r.full), string(again.full), value)
		require.Equal(t, string(r.known), string(again.known), value)
		require.Equal(t, r.fields, again.fields, value)
		var given, full map[string]jsontext.Value
		require.NoError(t, json.Unmarshal([]byte(value), &given))
		require.NoError(t, json.Unmarshal(r.full, &full))
		require.Equal(t, given["extra"], full["extra"], value)
		require.True(t, slices.IsSorted(r.ignored))
		for i, f := range r.fields {
			require.True(t, i == 0 || r.fields[i-1].Pointer < f.Pointer, value)
			require.NotEmpty(t, f.Code)
			require.False(t, slices.ContainsFunc(r.fields, func(other Field) bool { return strings.HasPrefix(f.Pointer, other.Pointer+"/") }), value)
		}
		if len(r.fields) == 0 {
			valid++
		}
		sound, err := r.withoutFaults(r.known, "/c")
		require.NoError(t, err)
		for _, f := range s.readValue(sound, "/c").fields {
			require.Equal(t, CodeRequired, f.Code, "%s: only a member that is needed can be missing then", value)
		}
	}
	require.Greater(t, valid, 50)
	require.Less(t, valid, 1000)
}
