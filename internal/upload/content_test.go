package upload_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/internal/upload"
)

var member = upload.Rule{Member: "content_base64"}

// checkExtraction copies a body by a rule, through readers that return data in different
// ways.
func checkExtraction(t *testing.T, body string, rule upload.Rule, check func(*upload.Body)) {
	t.Helper()
	for _, reader := range []io.Reader{
		strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body)), iotest.HalfReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body)),
	} {
		extracted, err := upload.Extract(reader, rule, 1<<20)
		require.NoError(t, err)
		check(extracted)
		require.NoError(t, extracted.Close())
	}
}

// only returns the single content of a body.
func only(t *testing.T, body *upload.Body) (content *upload.Content) {
	t.Helper()
	require.Equal(t, 1, body.Contents(), "%s", body.JSON)
	for end := range int64(len(body.JSON)) + 1 {
		if found := body.ContentAt(end); found != nil {
			content = found
		}
	}
	require.NotNil(t, content)
	return content
}

// read returns the bytes of a content.
func read(t *testing.T, content *upload.Content) string {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
	require.NoError(t, err)
	return string(got)
}

func TestExtractMatchesAFullParser(t *testing.T) {
	t.Parallel()
	file := make([]byte, 10_000)
	for i := range file {
		file[i] = byte(rand.N(256))
	}
	long := base64.StdEncoding.EncodeToString(file)
	for _, text := range []string{
		``, `QQ==`, `QUI=`, `QUJD`, `QQ`, `QQ=`, `QR==`, `QQ==QQ==`, `Q===`, `====`, `QUJD====`, `a*b`, `QUJD `, ` QUJD`, `QU JD`, `QUJD-_`,
		`QU\nJD`, `QUJD\r\n`, `QU\u000aJD`, `\/\/8=`, `\u002f\u002F8\u003d`, `\u002b\u002B8=`, `\u0051Q==`, `Q\"==`, `\\`, `\t`, `\u00e9`, `é`, `\ud83d\ude00`,
		`\ud800`, `\u0000`, `\x`, `\u12`, `\u12"`, "QU\nJD", "QU\x00JD", "\xff", `QUJD\`,
		long, strings.ReplaceAll(long, "/", `\/`), strings.ReplaceAll(long, "+", `\u002B`), long + "=", long[:5000] + "=" + long[5000:],
	} {
		for _, form := range []string{`{"content_base64":"%s","file_name":"a"}`, ` { "file_name" : "content_base64" , "content_base64" : "%s" } `, `{"content\u005fbase64":"%s"}`} {
			body := fmt.Sprintf(form, text)
			var want struct {
				Content *string `json:"content_base64"`
			}
			valid := jsontext.Value(body).IsValid() && json.Unmarshal([]byte(body), &want) == nil
			checkExtraction(t, body, member, func(extracted *upload.Body) {
				require.Equal(t, valid, jsontext.Value(extracted.JSON).IsValid(), "%q became %q", body, extracted.JSON)
				if !valid {
					return
				}
				content, whole := only(t, extracted), upload.Decode(*want.Content)
				require.Equal(t, whole.NotBase64, content.NotBase64, body)
				if !whole.NotBase64 {
					require.Equal(t, read(t, whole), read(t, content))
					require.Equal(t, whole.SHA256, content.SHA256)
				}
			})
		}
	}
}

// Strings outside the member stay unchanged.
func TestExtractLeavesOtherMembersAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"a":"content_base64","b":"QQ=="}`, `{"a":{"content_base64":"QQ=="}}`, `["content_base64","QQ=="]`, `[{"content_base64":"QQ=="}]`,
		`{"content_base64":1,"b":"QQ=="}`, `{"content_base64":null}`, `{"content_base64":["QQ=="]}`, `{"a":"\"content_base64\":","b":"\\"}`, `{"content_base64"`, `{"content_base64":`,
	} {
		checkExtraction(t, body, member, func(extracted *upload.Body) {
			require.Equal(t, body, string(extracted.JSON))
			require.Zero(t, extracted.Contents())
		})
	}
}

func TestExtractReplacesContentByItsDigest(t *testing.T) {
	t.Parallel()
	copies := map[string]string{}
	for _, text := range []string{`\/\/8=`, `//8=`, `\u002f/8=`, `//9=`} {
		checkExtraction(t, `{"content_base64":"`+text+`"}`, member, func(extracted *upload.Body) { copies[text] = string(extracted.JSON) })
	}
	require.Equal(t, copies[`//8=`], copies[`\/\/8=`])
	require.Equal(t, copies[`//8=`], copies[`\u002f/8=`])
	require.NotEqual(t, copies[`//8=`], copies[`//9=`])
}

func TestExtractBoundsWhatIsNotContent(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"another member":   `{"description":"` + strings.Repeat("a", 2000) + `"}`,
		"a name":           `{"` + strings.Repeat("a", 2000) + `":1}`,
		"what is no ASCII": `{"content_base64":"` + strings.Repeat("é", 2000) + `"}`,
		"escapes":          `{"content_base64":"` + strings.Repeat(`\t`, 2000) + `"}`,
	} {
		extracted, err := upload.Extract(strings.NewReader(body), member, 1000)
		require.ErrorIs(t, err, upload.ErrTooLarge, name)
		require.Nil(t, extracted, name)
	}
	extracted, err := upload.Extract(strings.NewReader(`{"content_base64":"`+strings.Repeat("QUJD", 10_000)+`"}`), member, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 30_000, only(t, extracted).Size())
	require.NoError(t, extracted.Close())
}

// A request that is cut off is not reported as invalid base64.
func TestExtractReturnsTheErrorOfItsReader(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, rule := range []upload.Rule{member, within} {
		for _, begun := range []string{``, `{"a`, `{"content_base64":"QU`, `{"content_base64":"*`, `{"content_base64":"\u00`, `{"content_base64":"QUJD",`, `{"variables":{"a":"QUJD`, `{"variables":{"a":"` + strings.Repeat("QUJD", 20)} {
			extracted, err := upload.Extract(io.MultiReader(strings.NewReader(begun), iotest.ErrReader(gone), strings.NewReader(`QUJD"}}`)), rule, 1000)
			require.ErrorIs(t, err, gone, begun)
			require.False(t, upload.IsStoreError(err))
			require.Nil(t, extracted)
		}
	}
}

// A reader may succeed again after it has failed, but then bytes are missing.
func TestExtractReadsNothingAfterAnError(t *testing.T) {
	t.Parallel()
	for _, begun := range []string{`{"variables":{"a":"QUJD`, `{"variables":{"a":"` + strings.Repeat("QUJD", 20)} {
		_, err := upload.Extract(io.MultiReader(strings.NewReader(begun), iotest.TimeoutReader(strings.NewReader(strings.Repeat("A", 100_000))), strings.NewReader(`"}}`)), within, 1<<20)
		require.ErrorIs(t, err, iotest.ErrTimeout, begun)
	}
}

// White space does not cause a rejection, and is not kept in memory.
func TestExtractLeavesOutMuchWhiteSpace(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" \t\r\n", 10_000)
	body := blanks + `{` + blanks + `"content_base64":` + blanks + `"QQ=="` + blanks + `,"a":"` + strings.Repeat(" ", 3000) + `"}` + blanks
	checkExtraction(t, body, member, func(extracted *upload.Body) {
		require.Less(t, len(extracted.JSON), 10_000)
		require.EqualValues(t, 1, only(t, extracted).Size())
		var want map[string]string
		require.NoError(t, json.Unmarshal(extracted.JSON, &want))
		require.Len(t, want["a"], 3000)
	})
}

func TestOffsetMapsCopyToBody(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(" ", 5000) + `{"content_base64":"` + strings.Repeat("QUJD", 100) + `","a":1` + strings.Repeat(" ", 5000) + `,,}`
	checkExtraction(t, body, member, func(extracted *upload.Body) {
		require.EqualValues(t, 3, extracted.Offset(3))
		require.EqualValues(t, strings.Index(body, ",,"), extracted.Offset(int64(bytes.Index(extracted.JSON, []byte(",,")))))
	})
	require.EqualValues(t, 7, (*upload.Body)(nil).Offset(7))
}

// within selects strings of at least 20 bytes among the variables.
var within = upload.Rule{Member: "variables", Within: true, Least: 20}

func TestExtractDecodesLongStringsWithin(t *testing.T) {
	t.Parallel()
	long, short := strings.Repeat("QUJD", 5), strings.Repeat("QUJD", 5)[1:]
	escaped := strings.Repeat(`\/`, 10)
	for body, contents := range map[string]int{
		`{"variables":{"a":"` + long + `"}}`:                                                       1,
		`{"variables":{"a":"` + short + `"}}`:                                                      0,
		`{"variables":{"a":"` + escaped + `"}}`:                                                    1,
		`{"variables":{"a":"` + escaped[2:] + `"}}`:                                                0,
		`{"variables":{"a":"` + strings.Repeat(`\"`, 9) + `"}}`:                                    0,
		`{"variables":{"a":"` + strings.Repeat(`\\`, 9) + `"}}`:                                    0,
		`{"variables":{"a":"` + strings.Repeat(`\"`, 10) + `"}}`:                                   1,
		`{"variables":{"a":"` + strings.Repeat(`*`, 30) + `"}}`:                                    1,
		`{"variables":[[{"a":["` + long + `"]}]],"b":1}`:                                           1,
		`{"b":{},"variables":{"b":[1,2],"a":"` + long + `","c":{"d":"` + long + `"}}}`:             2,
		`{"variables":"` + long + `"}`:                                                             0,
		`{"variables":1,"a":["` + long + `"]}`:                                                     0,
		`{"query":"` + long + `","extensions":{"variables":{"a":"` + long + `"}},"a":"variables"}`: 0,
		`[{"variables":{"a":"` + long + `"}}]`:                                                     0,
		`{"variables":{"variables":{"b":"` + short + `"},"` + short + `":1},"b":["` + long + `"]}`: 0,
	} {
		checkExtraction(t, body, within, func(extracted *upload.Body) {
			require.Equal(t, contents, extracted.Contents(), body)
			if contents == 0 {
				require.Equal(t, body, string(extracted.JSON))
			}
		})
	}
}

// Strings far apart in a body are found at their positions, with any content between
// them.
func TestExtractKeepsContentsApart(t *testing.T) {
	t.Parallel()
	names := strings.Repeat(`{"name":"`+strings.Repeat("n", 15)+`"},`, 10_000) // more than the read buffer
	body := `{"variables":{"a":"` + strings.Repeat("QUJD", 50_000) + `","b":[` + names + `"*` + strings.Repeat("a", 50) + `"],"c":"` + strings.Repeat("QUJE", 7) + `"}}`
	checkExtraction(t, body, within, func(extracted *upload.Body) {
		require.True(t, jsontext.Value(extracted.JSON).IsValid())
		d := jsontext.NewDecoder(bytes.NewReader(extracted.JSON))
		found := map[jsontext.Pointer]*upload.Content{}
		for {
			if _, err := d.ReadToken(); err != nil {
				break
			}
			if ref, is := extracted.RefAt(d.InputOffset()); is {
				found[d.StackPointer()] = extracted.Content(ref)
			}
		}
		require.Len(t, found, 3)
		require.Equal(t, strings.Repeat("ABC", 50_000), read(t, found["/variables/a"]))
		require.True(t, found["/variables/b/10000"].NotBase64)
		require.Equal(t, strings.Repeat("ABD", 7), read(t, found["/variables/c"]))
		require.Equal(t, upload.Decode(strings.Repeat("QUJE", 7)).SHA256, found["/variables/c"].SHA256)
		_, is := extracted.RefAt(1)
		require.False(t, is)
	})
}

func TestExtractBoundsTheNumberOfContents(t *testing.T) {
	t.Parallel()
	body := `{"variables":[` + strings.Repeat(`"`+strings.Repeat("QUJD", 10)+`",`, 100) + `1]}`
	checkExtraction(t, body, within, func(extracted *upload.Body) {
		require.Equal(t, 50, extracted.Contents())
		require.Equal(t, 50, bytes.Count(extracted.JSON, []byte(`"QUJDQUJD`)))
	})
}

// BenchmarkExtract extracts a document of 10 MiB; memory is the memory of one upload.
func BenchmarkExtract(b *testing.B) {
	body := `{"content_base64":"` + strings.Repeat("QUJD", 10<<20/3) + `"}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		extracted, err := upload.Extract(strings.NewReader(body), member, 1<<20)
		require.NoError(b, err)
		require.NoError(b, extracted.Close())
	}
}
