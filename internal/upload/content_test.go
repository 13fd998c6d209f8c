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

const member = "content_base64"

// extract is what a body says of its content, through readers of several manners.
func extract(t *testing.T, body string, check func(object []byte, content *upload.Content)) {
	t.Helper()
	for _, reader := range []io.Reader{
		strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body)), iotest.HalfReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body)),
	} {
		object, content, err := upload.Extract(reader, member, 1<<20)
		require.NoError(t, err)
		check(object, content)
		require.NoError(t, content.Close())
	}
}

func TestExtractDecodesAsAWholeParserDoes(t *testing.T) {
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
			extract(t, body, func(object []byte, content *upload.Content) {
				require.Equal(t, valid, jsontext.Value(object).IsValid(), "%q became %q", body, object)
				if !valid {
					return
				}
				decoded, err := base64.StdEncoding.Strict().DecodeString(*want.Content)
				require.Equal(t, err != nil, content.Unreadable, body)
				if err == nil {
					got, err := io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
					require.NoError(t, err)
					require.True(t, bytes.Equal(decoded, got), body)
				}
			})
		}
	}
}

// What is not the member's string stays as it is.
func TestExtractLeavesOtherMembersAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"a":"content_base64","b":"QQ=="}`, `{"a":{"content_base64":"QQ=="}}`, `["content_base64","QQ=="]`, `[{"content_base64":"QQ=="}]`,
		`{"content_base64":1,"b":"QQ=="}`, `{"content_base64":null}`, `{"content_base64":["QQ=="]}`, `{"a":"\"content_base64\":","b":"\\"}`, `{"content_base64"`, `{"content_base64":`,
	} {
		extract(t, body, func(object []byte, content *upload.Content) {
			require.Equal(t, body, string(object))
			require.Nil(t, content)
		})
	}
}

func TestExtractMakesTheCopyDependOnTheContentAlone(t *testing.T) {
	t.Parallel()
	copies := map[string]string{}
	for _, text := range []string{`\/\/8=`, `//8=`, `\u002f/8=`, `//9=`} {
		extract(t, `{"content_base64":"`+text+`"}`, func(object []byte, _ *upload.Content) { copies[text] = string(object) })
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
		_, content, err := upload.Extract(strings.NewReader(body), member, 1000)
		require.ErrorIs(t, err, upload.ErrTooLarge, name)
		require.Nil(t, content, name)
	}
	_, content, err := upload.Extract(strings.NewReader(`{"content_base64":"`+strings.Repeat("QUJD", 10_000)+`"}`), member, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 30_000, content.Size())
	require.NoError(t, content.Close())
}

// A caller who is cut off is not taken for one whose base64 is wrong.
func TestExtractReturnsTheErrorOfItsReader(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, begun := range []string{``, `{"a`, `{"content_base64":"QU`, `{"content_base64":"*`, `{"content_base64":"\u00`, `{"content_base64":"QUJD",`} {
		_, content, err := upload.Extract(io.MultiReader(strings.NewReader(begun), iotest.ErrReader(gone)), member, 1000)
		require.ErrorIs(t, err, gone, begun)
		require.False(t, upload.StoreFailed(err))
		require.Nil(t, content)
	}
}

// White space is no reason to refuse a body, nor to keep it in memory.
func TestExtractLeavesOutMuchWhiteSpace(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" \t\r\n", 10_000)
	body := blanks + `{` + blanks + `"content_base64":` + blanks + `"QQ=="` + blanks + `,"a":"` + strings.Repeat(" ", 3000) + `"}` + blanks
	extract(t, body, func(object []byte, content *upload.Content) {
		require.Less(t, len(object), 10_000)
		require.EqualValues(t, 1, content.Size())
		var want map[string]string
		require.NoError(t, json.Unmarshal(object, &want))
		require.Len(t, want["a"], 3000)
	})
}

func TestOffsetsAreThoseOfTheBody(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(" ", 5000) + `{"content_base64":"` + strings.Repeat("QUJD", 100) + `","a":1` + strings.Repeat(" ", 5000) + `,,}`
	extract(t, body, func(object []byte, content *upload.Content) {
		require.EqualValues(t, 3, content.Offset(3))
		require.EqualValues(t, strings.Index(body, ",,"), content.Offset(int64(bytes.Index(object, []byte(",,")))))
	})
	require.EqualValues(t, 7, (*upload.Content)(nil).Offset(7))
}

func TestSpoolKeepsWhatArrives(t *testing.T) {
	t.Parallel()
	content, err := upload.Spool(strings.NewReader("bytes"))
	require.NoError(t, err)
	kept, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, "bytes", string(kept))
	require.NoError(t, content.Close())
	_, err = upload.Spool(iotest.ErrReader(errors.New("gone")))
	require.ErrorContains(t, err, "gone")
	require.False(t, upload.StoreFailed(err))
}

// BenchmarkExtract takes a document of 10 MiB; memory is what one upload holds.
func BenchmarkExtract(b *testing.B) {
	body := `{"content_base64":"` + strings.Repeat("QUJD", 10<<20/3) + `"}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		_, content, err := upload.Extract(strings.NewReader(body), member, 1<<20)
		require.NoError(b, err)
		require.NoError(b, content.Close())
	}
}
