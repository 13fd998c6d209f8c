package compress_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
)

func TestJoinedFramesAreOneText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(claim, 2000) // several blocks
	parts := []string{`{"object":`, claim, "", long, "}"}
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

func TestLengthOfJoinedFramesIsBounded(t *testing.T) {
	t.Parallel()
	half := compress.Frame(bytes.Repeat([]byte("a"), 32<<20))
	text, err := compress.Decompress(append(bytes.Clone(half), half...))
	require.NoError(t, err)
	require.Len(t, text, 64<<20)
	_, err = compress.Decompress(append(append(bytes.Clone(half), half...), compress.Frame([]byte("a"))...))
	require.ErrorContains(t, err, "more than 67108864 bytes")
}

func TestPlainTextsHaveNoFrames(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "{}", "[", `"a"`} {
		frames, err := compress.Split([]byte(plain))
		require.NoError(t, err)
		require.Empty(t, frames)
	}
	_, err := compress.Split(append(compress.Frame([]byte(claim)), '}'))
	require.Error(t, err)
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

// A buffer that was used for a long text must not be part of a later frame.
func TestFramesDoNotShareMemory(t *testing.T) {
	t.Parallel()
	first := compress.Frame([]byte(claim))
	kept := bytes.Clone(first)
	for n := range 100 {
		compress.Frame([]byte(strings.Repeat("x", n*n)))
	}
	require.Equal(t, kept, first)
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
