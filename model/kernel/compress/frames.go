package compress

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// errCutFrame is returned for a frame that ends before its last block.
var errCutFrame = errors.New("compress: a frame is not complete")

// Split returns the frames of a stored text, which share its memory. A plain text has
// none. It reads only the headers: Decompress finds damaged blocks.
func Split(stored []byte) (frames [][]byte, err error) {
	if len(stored) == 0 || stored[0] != frameStart {
		return nil, nil
	}
	for len(stored) > 0 {
		n, _, err := readFrame(stored)
		if err != nil {
			return nil, err
		}
		frames = append(frames, stored[:n:n])
		stored = stored[n:]
	}
	return frames, nil
}

// The header of a block has three bytes, little-endian: whether it is the last one, its
// type in two bits, and its size (RFC 8878, section 3.1.1.2).
const (
	blockHeader = 3
	lastBlock   = 1
	blockType   = 3 << 1
	runLength   = 1 << 1 // the type of a block of one byte, repeated as often as its size says
	checksum    = 4
)

// textLength returns the room that a decompressed text takes: the decoder would otherwise
// copy the text before with each frame. It is 0 for damaged frames and texts over maxLength.
func textLength(stored []byte) (room int) {
	for len(stored) > 0 {
		n, text, err := readFrame(stored)
		if room += text + decoderSlack; err != nil || room > maxLength {
			return 0
		}
		stored = stored[n:]
	}
	return room
}

// A frame of at most shortText bytes need not say how many it has.
const (
	shortText    = 256
	decoderSlack = 16 // what the decoder reserves behind a text
)

// readFrame returns the length of the first frame and of its text, in bytes.
func readFrame(stored []byte) (n, text int, err error) {
	var header zstd.Header
	if err := header.Decode(stored); err != nil {
		return 0, 0, fmt.Errorf("compress: %w", err)
	}
	n, text = header.HeaderSize, shortText
	if header.HasFCS {
		text = int(min(header.FrameContentSize, maxLength+1))
	}
	for last := false; !last; {
		if len(stored) < n+blockHeader {
			return 0, 0, errCutFrame
		}
		block := int(stored[n]) | int(stored[n+1])<<8 | int(stored[n+2])<<16
		n += blockHeader
		if block&blockType == runLength {
			n++
		} else {
			n += block >> blockHeader
		}
		last = block&lastBlock != 0
	}
	if header.HasCheckSum {
		n += checksum
	}
	if len(stored) < n {
		return 0, 0, errCutFrame
	}
	return n, text, nil
}
