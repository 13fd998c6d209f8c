package product

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestYAMLKeepsOrderDigitsAndTypes(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{b: 1, a: 2}":                     `{"b":1,"a":2}`,
		"[1, 1.50, -0, 12345678901234567]": `[1,1.50,-0,12345678901234567]`,
		"[true, True, TRUE, false, False]": `[true,true,true,false,false]`,
		"[yes, no, on, off]":               `["yes","no","on","off"]`,
		"[null, ~, Null]":                  `[null,null,null]`,
		"a:":                               `{"a":null}`,
		"[2026-01-02, '1.5', \"x\\ny\"]":   `["2026-01-02","1.5","x\ny"]`,
		"a: |\n  two\n  lines\n":           `{"a":"two\nlines\n"}`,
		"{a: {}, b: []}":                   `{"a":{},"b":[]}`,
		"'1': one":                         `{"1":"one"}`,
		"# a comment\n- x # another":       `["x"]`,
	} {
		text, err := jsonFromYAML([]byte(source))
		require.NoError(t, err, source)
		require.Equal(t, want, string(text), source)
	}
}

func TestYAMLThatJSONCannotHoldIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for source, says := range map[string]string{
		"a: 1\nb: &x 2\nc: *x":                "line 3: aliases are not allowed",
		"a: 1\n\nb: .inf":                     `line 3: ".inf" must be written as a plain decimal number`,
		"- .nan":                              "line 1",
		"- 1e3":                               `line 1: "1e3" must be written`,
		"- 1E3":                               `line 1: "1E3" must be written`,
		"- 0x10":                              `line 1: "0x10" must be written`,
		"- 010":                               `line 1: "010" must be written`,
		"- 1_000":                             `line 1: "1_000" must be written`,
		"- +1":                                `line 1: "+1" must be written`,
		"- .5":                                `line 1: ".5" must be written`,
		"- 0.1234567890123456789012345678901": "line 1",
		"a: 1\n2: b":                          `line 2: the name "2" must be a string; quote it`,
		"a: 1\ntrue: b":                       `line 2: the name "true" must be a string; quote it`,
		"a: 1\n? {b: c}\n: d":                 "line 2: the name",
		"a: 1\nb: !!binary aGk=":              "line 2: the tag !!binary is not allowed",
		"a: 1\nb: !mine x":                    "line 2: the tag !mine is not allowed",
		"a: 1\nb: 2\na: 3":                    `duplicate object member name "a"`,
		"a: [":                                "not YAML",
		"a: 1\n---\nb: 2":                     "one file holds one product",
		"a: 1\n---\n[":                        "one file holds one product",
		"":                                    "not YAML: EOF",
		"{a: 1, <<: {b: 2}}":                  "line 1: the name",
		"a: \"\\ud800\"":                      "not YAML",
		"- 12345678901234567890123456789012345.0": "line 1",
	} {
		_, err := jsonFromYAML([]byte(source))
		require.ErrorContains(t, err, says, source)
	}
}

func TestNumberOfAYAMLHasAtMost32Digits(t *testing.T) {
	t.Parallel()
	longest := "0.123456789012345678901234567890"
	require.Len(t, longest, 32)
	text, err := jsonFromYAML([]byte(longest))
	require.NoError(t, err)
	require.Equal(t, longest, string(text))
	_, err = jsonFromYAML([]byte(longest + "1"))
	require.ErrorContains(t, err, "plain decimal number")
}
