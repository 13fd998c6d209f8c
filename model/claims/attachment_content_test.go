package claims

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// chunks reads a text in random pieces, some of them empty, and ends with an error.
type chunks struct {
	text   []byte
	random *rand.Rand
	end    error
	early  bool // the last piece comes with the error
}

func (c *chunks) Read(into []byte) (int, error) {
	n := min(c.random.IntN(7), len(c.text), len(into))
	copy(into, c.text[:n])
	c.text = c.text[n:]
	if len(c.text) == 0 && (c.early || n == 0) {
		return n, c.end
	}
	return n, nil
}

// A text is accepted if and only if it is UTF-8 without NUL, whatever the pieces in which
// it arrives, also when a piece ends inside a character.
func TestTextIsJudgedTheSameInAnyPieces(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	parts := []string{"a", "é", "損", "👩", "\n", "\x00", "\xff", "\xe6\x90", "\x80", "\xf0\x9f\x91", "\xed\xa0\x80", "z", "ß"}
	accepted := 0
	for range 3000 {
		var text strings.Builder
		for range random.IntN(12) {
			part := parts[random.IntN(len(parts))]
			if random.IntN(4) > 0 {
				part = parts[random.IntN(5)]
			}
			text.WriteString(part)
		}
		want := utf8.ValidString(text.String()) && !strings.Contains(text.String(), "\x00")
		flaw, err := findTextFlaw(&chunks{text: []byte(text.String()), random: random, end: io.EOF, early: random.IntN(2) == 0})
		require.NoError(t, err)
		require.Equal(t, want, flaw == "", "%q", text.String())
		if want {
			accepted++
		}
	}
	require.Greater(t, accepted, 500)
	require.Less(t, accepted, 2500)
}

func TestLongTextIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	for size := 32<<10 - 5; size <= 32<<10+5; size++ { // around the size of a block
		text := strings.Repeat("x", size) + "損"
		for name, content := range map[string]string{"whole": text, "cut": text[:len(text)-1], "wrong": text + "\xff", "with NUL": text + "\x00"} {
			flaw, err := findTextFlaw(strings.NewReader(content))
			require.NoError(t, err)
			require.Equal(t, name == "whole", flaw == "", "%s %d", name, size)
		}
	}
}

func TestReadErrorOfAnAttachmentIsNoFlaw(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	for name, find := range map[string]func(io.Reader) (string, error){"text": findTextFlaw, "JSON": findJSONFlaw, "GeoJSON": findGeoJSONFlaw} {
		for _, start := range []string{"", "{", `{"type":`, `{"type":"Point"`} {
			flaw, err := find(io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken)))
			require.ErrorIs(t, err, broken, "%s after %s", name, start)
			require.Empty(t, flaw)
		}
	}
}

func TestJSONOfAnAttachmentIsOneText(t *testing.T) {
	t.Parallel()
	for content, accepted := range map[string]bool{
		`{}`: true, ` [1, "é", null] `: true, "\ufeff{}": true, `7`: true, `{"a":1,"a":2}`: true, `"\ud800"`: true,
		"": false, " \n": false, "\ufeff": false, `{} {}`: false, `{},`: false, `{`: false, `[1,]`: false, `{a:1}`: false, `nul`: false, `'a'`: false, "{}\ufeff": false,
	} {
		flaw, err := findJSONFlaw(strings.NewReader(content))
		require.NoError(t, err)
		require.Equal(t, accepted, flaw == "", "%q", content)
		if !accepted {
			require.Contains(t, flaw, "not one JSON text (RFC 8259)")
		}
	}
}

func TestGeoJSONIsAnObjectOfAKnownType(t *testing.T) {
	t.Parallel()
	for _, kind := range geoJSONTypes {
		for _, content := range []string{`{"type":"` + kind + `"}`, `{"a":{"type":"x"},"type" : "` + kind + `","b":[]}`, `{"type":7,"type":"` + kind + `"}`} {
			flaw, err := findGeoJSONFlaw(strings.NewReader(content))
			require.NoError(t, err)
			require.Empty(t, flaw, content)
		}
	}
	for content, says := range map[string]string{
		`{"type":"point"}`:                  "not GeoJSON",
		`{"a":{"type":"Point"}}`:            "not GeoJSON",
		`{"type":"Point","type":["Point"]}`: "not GeoJSON",
		`[{"type":"Point"}]`:                "not GeoJSON",
		`"Point"`:                           "not GeoJSON",
		`{"type":"Point"} 1`:                "not one JSON text",
		`{"type":"Point"`:                   "not one JSON text",
		`{"type":"Point",}`:                 "not one JSON text",
		`["Point"`:                          "not one JSON text",
		" ":                                 "not GeoJSON",
	} {
		flaw, err := findGeoJSONFlaw(strings.NewReader(content))
		require.NoError(t, err)
		require.Contains(t, flaw, says, content)
	}
}

func TestFileNameFitsItsMediaType(t *testing.T) {
	t.Parallel()
	pdf, text := mediaTypeRules["application/pdf"], mediaTypeRules["text/plain"]
	for name, tc := range map[string]struct {
		kind mediaTypeRule
		code string
	}{
		"a.pdf": {pdf, ""}, "A.PDF": {pdf, ""}, "a": {pdf, ""}, "a.b.pdf": {pdf, ""}, "a.pdf.": {pdf, "mismatch"}, "a.txt": {pdf, "mismatch"},
		"a.md": {text, ""}, ".log": {text, ""}, "a.exe": {mediaTypeRule{}, ""},
		strings.Repeat("損", 251) + ".txt": {text, ""}, strings.Repeat("損", 252) + ".txt": {text, "value"},
		"": {text, "value"}, ".": {text, "value"}, "...": {text, "value"}, "a\\b": {text, "value"}, "a/b": {text, "value"}, "\ta": {text, "value"}, "a\u00a0": {text, "value"},
		"a\u2028b": {text, "value"}, "a\u2029b": {text, "value"}, "a\u202eb": {text, "value"}, "a\u200fb": {text, "value"}, "a\x7fb": {text, "value"}, "a\u200db": {text, ""},
	} {
		var v apperr.Validator
		requireFileName(&v, name, tc.kind)
		if tc.code == "" {
			require.Empty(t, v.FieldErrors, "%q", name)
			continue
		}
		require.Len(t, v.FieldErrors, 1, "%q", name)
		require.Equal(t, []string{"/file_name", tc.code}, []string{v.FieldErrors[0].Pointer, v.FieldErrors[0].Code}, "%q", name)
	}
	var v apperr.Validator
	requireFileName(&v, "a.txt", mediaTypeRules["image/jpeg"])
	require.Contains(t, v.FieldErrors[0].Detail, "ends in .jpg or .jpeg, or has no dot")
}

func TestFieldsOfAnAttachmentHaveInclusiveBounds(t *testing.T) {
	t.Parallel()
	long := func(n int) *string { return new(strings.Repeat("é", n)) }
	for name, tc := range map[string]struct {
		in     AttachmentRequest
		faults []string
	}{
		"the longest texts":  {AttachmentRequest{Purpose: long(100), Description: long(1000)}, nil},
		"longer texts":       {AttachmentRequest{Purpose: long(101), Description: long(1001)}, []string{"/purpose length", "/description length"}},
		"digest in capitals": {AttachmentRequest{SHA256: new("2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881")}, nil},
		"another digest":     {AttachmentRequest{SHA256: new("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4880")}, []string{"/sha256 mismatch"}},
		"the largest file":   {AttachmentRequest{Content: strings.NewReader(strings.Repeat("x", maxAttachmentSize))}, nil},
		"a larger file":      {AttachmentRequest{Content: strings.NewReader(strings.Repeat("x", maxAttachmentSize+1))}, []string{"/content_base64 length"}},
		"an empty file":      {AttachmentRequest{Content: strings.NewReader("")}, []string{"/content_base64 required"}},
	} {
		in := tc.in
		if in.FileName, in.ContentType = "a.txt", "text/plain"; in.Content == nil {
			in.Content = strings.NewReader("x")
		}
		var v apperr.Validator
		digest, err := in.validate(&v)
		require.NoError(t, err)
		require.Len(t, digest, 64)
		var faults []string
		for _, f := range v.FieldErrors {
			faults = append(faults, f.Pointer+" "+f.Code)
		}
		require.Equal(t, tc.faults, faults, name)
	}
	v := apperr.Validator{Unparsed: []apperr.FieldError{apperr.NewFieldError("/content_base64", "format", "Use base64.")}}
	in := AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", SHA256: new("0")}
	_, err := in.validate(&v)
	require.NoError(t, err)
	require.Empty(t, v.FieldErrors, "content that was not parsed has no digest to compare")
}
