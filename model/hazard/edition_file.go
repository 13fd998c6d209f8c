package hazard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// maxEditionFile bounds an unpacked file; the shipped ones have up to 7 MiB.
const maxEditionFile = 64 << 20

// UnpackFile returns the bytes of a file of history that may be compressed by gzip.
func UnpackFile(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		return content, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	file, err := io.ReadAll(io.LimitReader(packed, maxEditionFile+1))
	if err == nil && len(file) > maxEditionFile {
		err = fmt.Errorf("the file has more than %d MiB", maxEditionFile>>20)
	}
	return file, err
}

// PackFile compresses a file of history.
func PackFile(file []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(file); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}
