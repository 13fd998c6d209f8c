// Package compress stores JSON texts in few bytes: as a Zstandard frame (RFC 8878) whose
// dictionary is typical records. A record of a kilobyte takes 100 to 250 bytes.
//
// A stored text may also be plain: a frame begins with the byte 0x28, "(", and no JSON text
// does. Readers accept both. The package uses neither a connection nor a clock.
package compress

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// dictionary1 is never edited: stored texts refer to it by number, and only its bytes
// decompress them. A better dictionary gets the next number, and both are embedded.
//
//go:embed dictionary_1.txt
var dictionary1 []byte

// dictionaryID is the number of dictionary1 in each frame.
const dictionaryID = 1

// frameStart is the first byte of each Zstandard frame.
const frameStart = 0x28

// maxLength bounds a decompressed text, in bytes, however many frames it has. The largest
// record is far smaller.
const maxLength = 64 << 20

// newEncoder returns the encoder, which is safe for concurrent use. The fastest level
// takes a quarter of the time of the others and makes a tenth more bytes. A frame has no
// checksum: the hash chain of events covers the text.
var newEncoder = sync.OnceValue(func() *zstd.Encoder {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderDictRaw(dictionaryID, dictionary1), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(fmt.Sprintf("compress: %v", err)) // programming error: the options are constants
	}
	return encoder
})

// newDecoder returns the decoder, which is safe for concurrent use.
var newDecoder = sync.OnceValue(func() *zstd.Decoder {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionaryID, dictionary1), zstd.WithDecoderMaxMemory(maxLength), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(fmt.Sprintf("compress: %v", err)) // programming error: the options are constants
	}
	return decoder
})

// Compress returns a JSON text as it is stored: compressed, or plain if that is shorter.
func Compress(text []byte) []byte {
	frame := Frame(text)
	if len(frame) >= len(text) {
		return text
	}
	return frame
}

// Frame returns a part of a JSON text as one frame, also if that is longer. Joined frames
// are a stored text: their texts are joined (RFC 8878, section 3). So a part that several
// texts have is compressed once.
func Frame(part []byte) []byte {
	return newEncoder().EncodeAll(part, make([]byte, 0, len(part)/4))
}

// Decompress returns the JSON text of a stored text. A plain text is returned as it is.
// Errors: a frame that is damaged, or of a dictionary that this release does not know.
func Decompress(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != frameStart {
		return stored, nil
	}
	text, err := newDecoder().DecodeAll(stored, make([]byte, 0, textLength(stored)))
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
