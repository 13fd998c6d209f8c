package compress_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
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
		given := []byte(text)
		stored := compress.Compress(given)
		clear(given) // the caller may reuse its buffer
		require.Equal(t, text, string(stored))
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

// storedClaim is what the first release with S2 stored for a claim.
const storedClaim = "015cad0115000970636c6d5f30316d6736713437397865307072303065347933336e376e77326d4246ef0614676c6f6265784a720200371abb113832323a31303a34362e37313730343532470200313ead0635fc206f70656e6564227d7d"

func TestStoredTextsStayReadable(t *testing.T) {
	t.Parallel()
	stored, err := hex.DecodeString(storedClaim)
	require.NoError(t, err)
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(claim), text), "%s", text)
}

// Releases before migration 0047 compressed with these options.
func TestTextsOfOlderReleasesAreRead(t *testing.T) {
	t.Parallel()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderDictRaw(1, readDictionary(t)), zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	defer encoder.Close()
	stored := encoder.EncodeAll([]byte("}"), encoder.EncodeAll([]byte(claim), nil))
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(claim+"}"), text), "%s", text)
	frames, err := compress.Split(stored)
	require.NoError(t, err)
	require.Empty(t, frames, "they are written again as frames")
	for _, damaged := range [][]byte{stored[:len(stored)-1], bytes.Replace(stored, []byte{1}, []byte{9}, 1)} {
		_, err := compress.Decompress(damaged)
		require.ErrorContains(t, err, "decompress")
	}
	long := encoder.EncodeAll(bytes.Repeat([]byte("a"), 64<<20+1), nil)
	_, err = compress.Decompress(long)
	require.ErrorIs(t, err, zstd.ErrDecoderSizeExceeded)
}

func TestDamagedFramesAreErrors(t *testing.T) {
	t.Parallel()
	stored := compress.Compress([]byte(claim))
	for name, damaged := range map[string][]byte{
		"a short block":      append([]byte{stored[0], stored[1] - 1}, stored[2:len(stored)-1]...),
		"no length":          {1, 0x80},
		"no block":           {1, 0},
		"a length too long":  {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
		"a block too large":  {1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"text behind":        append(bytes.Clone(stored), '}'),
		"another dictionary": append(bytes.Clone(stored), 2),
		"a Zstandard start":  []byte("("),
	} {
		_, err := compress.Decompress(damaged)
		require.ErrorContains(t, err, "decompress", name)
	}
	for n := 1; n < len(stored); n++ {
		_, err := compress.Decompress(stored[:n])
		require.Error(t, err, n)
		_, err = compress.Split(stored[:n])
		require.Error(t, err, n)
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
		if len(text) > 0 && (text[0] == '(' || text[0] == 1) { // no JSON
			return
		}
		read, err := compress.Decompress(compress.Compress(text))
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, read))
	})
}
