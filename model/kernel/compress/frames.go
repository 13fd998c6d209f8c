package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"
)

// errNoFrame is returned for bytes that are no complete frame.
var errNoFrame = errors.New("a frame is not complete")

// Split returns the frames of a stored text, which share its memory. A plain text and one
// of an older release have none. It does not read the blocks: Decompress finds damage.
func Split(stored []byte) (frames [][]byte, err error) {
	if len(stored) == 0 || stored[0] != frameStart {
		return nil, nil
	}
	for len(stored) > 0 {
		frame, _, err := cutFrame(stored)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		frames = append(frames, frame)
		stored = stored[len(frame):]
	}
	return frames, nil
}

// cutFrame returns the first frame of a stored text and the frame's block.
func cutFrame(stored []byte) (frame, block []byte, err error) {
	if stored[0] != frameStart {
		return nil, nil, errNoFrame
	}
	length, n := binary.Uvarint(stored[1:])
	if n <= 0 || length > math.MaxInt32 {
		return nil, nil, errNoFrame
	}
	begin := 1 + n
	end := begin + int(length)
	if end > len(stored) {
		return nil, nil, errNoFrame
	}
	return stored[:end:end], stored[begin:end], nil
}

// joinFrames returns the text of frames.
func joinFrames(stored []byte) ([]byte, error) {
	length := 0
	for rest := stored; len(rest) > 0; {
		frame, block, err := cutFrame(rest)
		if err != nil {
			return nil, err
		}
		n, err := s2.DecodedLen(block)
		if err != nil {
			return nil, err
		}
		if length += n; n > maxLength || length > maxLength {
			return nil, errTooLong
		}
		rest = rest[len(frame):]
	}
	text := make([]byte, 0, length)
	for rest := stored; len(rest) > 0; {
		frame, block, err := cutFrame(rest)
		if err != nil {
			return nil, err
		}
		part, err := newDictionary().Decode(text[len(text):], block)
		if err != nil {
			return nil, err
		}
		text = text[:len(text)+len(part)]
		rest = rest[len(frame):]
	}
	return text, nil
}
