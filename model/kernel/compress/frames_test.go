package compress_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
)

func TestJoinedFramesAreOneText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(claim, 2000) // several blocks
	parts := []string{`{"object":`, claim, long, "}"}
	var stored []byte
	var want [][]byte
	for _, part := range parts {
		frame := compress.Frame([]byte(part))
		want = append(want, frame)
		stored = append(stored, frame...)
	}
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	require.Equal(t, strings.Join(parts, ""), string(text))
	frames, err := compress.Split(stored)
	require.NoError(t, err)
	require.Equal(t, want, frames)
	for _, frame := range frames {
		require.Len(t, frame, cap(frame), "appending to a frame must not change the next")
	}
}

// The release before reads frames with these options.
func TestReleaseBeforeReadsJoinedFrames(t *testing.T) {
	t.Parallel()
	dictionary := readDictionary(t)
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(1, dictionary), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(0))
	require.NoError(t, err)
	defer decoder.Close()
	text, err := decoder.DecodeAll(append(compress.Frame([]byte(claim)), compress.Frame([]byte("}"))...), nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(claim+"}"), text), "%s", text)
}

func TestLengthOfJoinedFramesIsBounded(t *testing.T) {
	t.Parallel()
	half := compress.Frame(bytes.Repeat([]byte("a"), 32<<20))
	text, err := compress.Decompress(append(bytes.Clone(half), half...))
	require.NoError(t, err)
	require.Len(t, text, 64<<20)
	_, err = compress.Decompress(append(append(bytes.Clone(half), half...), compress.Frame([]byte("a"))...))
	require.ErrorIs(t, err, zstd.ErrDecoderSizeExceeded)
}

func TestSplitFindsFramesOfEveryForm(t *testing.T) {
	t.Parallel()
	checked, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	require.NoError(t, err)
	defer checked.Close()
	run := checked.EncodeAll(bytes.Repeat([]byte("a"), 200<<10), nil) // blocks of one repeated byte
	end := compress.Frame([]byte("}"))
	frames, err := compress.Split(append(bytes.Clone(run), end...))
	require.NoError(t, err)
	require.Equal(t, [][]byte{run, end}, frames)
	for _, plain := range []string{"", "{}", "[", `"a"`} {
		frames, err := compress.Split([]byte(plain))
		require.NoError(t, err)
		require.Empty(t, frames)
	}
	whole := compress.Frame([]byte(claim))
	for _, stored := range [][]byte{run, whole} {
		for n := 1; n < len(stored); n++ {
			_, err := compress.Split(stored[:n])
			require.Error(t, err, n)
		}
	}
	_, err = compress.Split(append(bytes.Clone(whole), '}'))
	require.Error(t, err)
}

// A block of one repeated byte has one byte, whatever its size says.
func TestSplitReadsRunLengthBlocks(t *testing.T) {
	t.Parallel()
	run := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 100, 100<<3&0xff | 1<<1 | 1, 100 << 3 >> 8, 0, 'a'}
	text, err := compress.Decompress(run)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("a", 100), string(text))
	frames, err := compress.Split(append(bytes.Clone(run), run...))
	require.NoError(t, err)
	require.Equal(t, [][]byte{run, run}, frames)
}

func FuzzSplit(f *testing.F) {
	f.Add(compress.Frame([]byte(claim)))
	f.Fuzz(func(t *testing.T, stored []byte) {
		frames, err := compress.Split(stored)
		if err != nil || frames == nil {
			return
		}
		require.True(t, bytes.Equal(stored, bytes.Join(frames, nil)))
	})
}

func TestJoinedFramesAreDecompressedWithoutCopies(t *testing.T) {
	t.Parallel()
	long := compress.Frame([]byte(strings.Repeat(claim, 500)))
	stored := bytes.Join([][]byte{compress.Frame([]byte("{")), long, long, compress.Frame([]byte("}"))}, nil)
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	require.Len(t, text, 2+1000*len(claim))
	require.Less(t, cap(text), len(text)+1024)
}
