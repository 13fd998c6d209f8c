// Package compress stores JSON texts in few bytes: as S2 blocks whose dictionary is typical
// records. A record of a kilobyte takes 100 to 250 bytes. S2 (https://github.com/klauspost/compress/tree/master/s2)
// makes a tenth more bytes of these records than Zstandard at its fastest level, in a tenth
// of the time.
//
// A stored text is plain or a sequence of frames; its first byte says which. Readers also
// accept the Zstandard frames that releases before migration 0047 wrote. The package uses
// neither a connection nor a clock.
package compress

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// dictionary1 is never edited: only its bytes decompress the texts that were stored with
// it. A better dictionary gets a start of frame of its own, and both are embedded.
//
//go:embed dictionary_1.txt
var dictionary1 []byte

// These are first bytes of stored texts. No JSON text begins with one of them.
const (
	frameStart     = 0x01 // a frame with dictionary1: this byte, the length of the block as an unsigned varint, the block
	zstandardStart = 0x28 // a Zstandard frame (RFC 8878) with dictionary1 as its dictionary 1
)

// maxLength bounds a decompressed text, in bytes, however many frames it has. The largest
// record is far smaller.
const maxLength = 64 << 20

// errTooLong is returned for a stored text of more than maxLength bytes.
var errTooLong = fmt.Errorf("the text has more than %d bytes", maxLength)

// newDictionary returns the dictionary of frames, which is safe for concurrent use.
var newDictionary = sync.OnceValue(func() *s2.Dict { return s2.MakeDictManual(dictionary1, 0) })

// newDecoder returns the decoder of Zstandard frames, which is safe for concurrent use.
var newDecoder = sync.OnceValue(func() *zstd.Decoder {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(1, dictionary1), zstd.WithDecoderMaxMemory(maxLength), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(fmt.Sprintf("compress: %v", err)) // programming error: the options are constants
	}
	return decoder
})

// blocks pools buffers for encoded blocks. A block may be longer than its text.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the length of the largest buffer that is kept, in bytes.
const maxBuffer = 64 << 10

// Compress returns a JSON text as it is stored: compressed, or plain if it gets no shorter.
// The result shares no memory with text.
func Compress(text []byte) []byte {
	frame := Frame(text)
	if len(frame) >= len(text) {
		return bytes.Clone(text)
	}
	return frame
}

// Frame returns a part of a JSON text as one frame, also if that is longer. Joined frames
// are a stored text: their texts are joined. So a part that several texts have is
// compressed once.
func Frame(part []byte) []byte {
	buffer := blocks.Get().(*[]byte)
	block := newDictionary().Encode(*buffer, part)
	frame := make([]byte, 0, 1+binary.MaxVarintLen32+len(block))
	frame = append(binary.AppendUvarint(append(frame, frameStart), uint64(len(block))), block...)
	if *buffer = block[:cap(block)]; cap(block) <= maxBuffer {
		blocks.Put(buffer)
	}
	return frame
}

// Decompress returns the JSON text of a stored text. A plain text is returned as it is.
// Errors: a frame that is damaged or cut, and a text that is too long.
func Decompress(stored []byte) (text []byte, err error) {
	if len(stored) == 0 {
		return stored, nil
	}
	switch stored[0] {
	case frameStart:
		text, err = joinFrames(stored)
	case zstandardStart:
		text, err = newDecoder().DecodeAll(stored, nil)
	default:
		return stored, nil
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return text, nil
}

// JSON is a JSON text whose column is stored compressed or plain. A scan decompresses it,
// so that its value is always plain. Writers store the result of Compress.
type JSON []byte

// ScanBytes implements pgtype.BytesScanner.
func (j *JSON) ScanBytes(stored []byte) error {
	text, err := Decompress(stored)
	if err != nil {
		return err
	}
	if len(text) > 0 && &text[0] == &stored[0] { // the driver reuses its buffer
		text = append([]byte(nil), text...)
	}
	*j = text
	return nil
}

// Scan implements sql.Scanner.
func (j *JSON) Scan(value any) error {
	switch stored := value.(type) {
	case nil:
		*j = nil
		return nil
	case []byte:
		return j.ScanBytes(stored)
	default:
		return errors.New("compress: the column is not bytea")
	}
}
