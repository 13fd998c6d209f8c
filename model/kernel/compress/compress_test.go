package compress_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
)

const claim = `{"object":{"id":"clm_01mg6q479xe0pr00e4y33n7nw3","object":"claim","partner":"globex","created_at":"2027-03-03T22:10:46.717045Z","version":1,"metadata":{},"status":"opened"}}`

func TestTextsAreStoredInFewerBytes(t *testing.T) {
	t.Parallel()
	stored := compress.Compress([]byte(claim))
	require.Less(t, len(stored), len(claim)*6/10)
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(claim), text), "the bytes are hashed: %s", text)
}

func TestShortTextsAreStoredPlain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{}`, `[]`, `null`, `0`, `"a"`} {
		require.Equal(t, text, string(compress.Compress([]byte(text))))
		read, err := compress.Decompress([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(read))
	}
}

func readDictionary(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("dictionary_1.txt")
	require.NoError(t, err)
	return text
}

func TestDictionaryDoesNotChange(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(readDictionary(t))
	require.Equal(t, "6796f65ee13b7b31c75bea8878c10d60f53051c207df096c78f3d3d77d21c134", hex.EncodeToString(sum[:]),
		"stored events refer to this dictionary: put a better one in a file with the next number")
}

func TestFramesOfOtherDictionariesAndDamagedFramesAreErrors(t *testing.T) {
	t.Parallel()
	stored := compress.Compress([]byte(claim))
	for name, broken := range map[string][]byte{
		"cut":              stored[:len(stored)-3],
		"other dictionary": bytes.Replace(stored, []byte{1}, []byte{9}, 1),
		"no frame":         []byte("("),
	} {
		_, err := compress.Decompress(broken)
		require.ErrorContains(t, err, "decompress", name)
	}
}

func TestScannedTextOutlivesTheBufferOfTheDriver(t *testing.T) {
	t.Parallel()
	for _, stored := range [][]byte{[]byte(claim), compress.Compress([]byte(claim))} {
		var text compress.JSON
		require.NoError(t, text.ScanBytes(stored))
		clear(stored)
		require.Equal(t, compress.JSON(claim), text)
	}
	var text compress.JSON
	require.NoError(t, text.ScanBytes([]byte{}))
	require.Empty(t, text)
	require.NoError(t, text.Scan([]byte(`{}`)))
	require.Equal(t, `{}`, string(text))
	require.NoError(t, text.Scan(nil))
	require.Nil(t, text)
	require.Error(t, text.Scan("a string"))
	require.Error(t, text.Scan([]byte("(")))
}

func FuzzCompress(f *testing.F) {
	f.Add([]byte(claim))
	f.Add([]byte(`{"a":` + strings.Repeat(`"\u00e9",`, 99) + `1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 0 && text[0] == '(' { // no JSON
			return
		}
		read, err := compress.Decompress(compress.Compress(text))
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, read))
	})
}
