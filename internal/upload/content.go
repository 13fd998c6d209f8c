package upload

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strconv"
)

// Content is decoded base64. It can be read repeatedly, from any position, until its body
// is closed.
type Content struct {
	*io.SectionReader

	SHA256    string // of the bytes, hexadecimal
	NotBase64 bool   // it is not base64 (RFC 4648 section 4, padded)

	end int64 // end of its string in the copy of the body
}

// Decode decodes text that arrived as a whole.
func Decode(text string) *Content {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	digest := sha256.Sum256(decoded)
	return &Content{
		SectionReader: io.NewSectionReader(bytes.NewReader(decoded), 0, int64(len(decoded))),
		SHA256:        hex.EncodeToString(digest[:]), NotBase64: err != nil,
	}
}

// Body is a copy of a JSON object in which the SHA-256 of each content replaces its
// string. A nil Body has no content.
type Body struct {
	JSON []byte

	contents []*Content
	file     *os.File // holds all contents; nil without one
	gaps     []gap
}

// gap is a position in the copy where bytes of the body were omitted.
type gap struct{ position, omitted int64 }

// Contents returns the number of decoded strings.
func (b *Body) Contents() int {
	if b == nil {
		return 0
	}
	return len(b.contents)
}

// ContentAt returns the content whose string ends before this byte of the copy, or nil.
func (b *Body) ContentAt(end int64) *Content {
	if b != nil {
		for _, content := range b.contents {
			if content.end == end {
				return content
			}
		}
	}
	return nil
}

// Ref represents a content among the decoded values of the copy. It is a string type for
// code that checks types, and no caller can create one.
type Ref string

// RefAt returns the Ref of the content whose string ends before this byte of the copy.
func (b *Body) RefAt(end int64) (_ Ref, found bool) {
	return Ref(strconv.FormatInt(end, 10)), b.ContentAt(end) != nil
}

// Content returns the content of a Ref of this body.
func (b *Body) Content(ref Ref) *Content {
	end, _ := strconv.ParseInt(string(ref), 10, 64)
	return b.ContentAt(end)
}

// Close removes the contents.
func (b *Body) Close() error {
	if b == nil || b.file == nil {
		return nil
	}
	return b.file.Close()
}

// Offset returns the position in the body of a byte of the copy.
func (b *Body) Offset(inCopy int64) int64 {
	offset := inCopy
	if b != nil {
		for _, g := range b.gaps {
			if g.position <= inCopy {
				offset += g.omitted
			}
		}
	}
	return offset
}

// ErrTooLarge means that the body without its contents is longer than allowed.
var ErrTooLarge = errors.New("the body is too large without its content")

// storeError is a disk failure while content is stored.
type storeError struct{ error }

// Error describes the failure.
func (e storeError) Error() string { return "store content while it arrives: " + e.error.Error() }

// Unwrap returns the cause.
func (e storeError) Unwrap() error { return e.error }

// IsStoreError reports whether an error is a disk failure and not a fault of the body.
func IsStoreError(err error) bool {
	var fault storeError
	return errors.As(err, &fault)
}

// createUnnamedFile returns a file that no other process can open and that disappears
// when it is closed.
func createUnnamedFile() (*os.File, error) {
	file, err := os.CreateTemp("", "parapet-upload-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
