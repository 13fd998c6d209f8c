package upload

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is the decoded content of one member of a body. It can be read as often as
// needed, from any place, until it is closed.
type Content struct {
	*io.SectionReader

	Unreadable bool // it is not base64 (RFC 4648 section 4, padded)

	file *os.File
	gaps []gap
}

// gap is a place in the copy where the body has more bytes.
type gap struct{ at, gone int64 }

// Close removes the content.
func (c *Content) Close() error {
	if c == nil {
		return nil
	}
	return c.file.Close()
}

// Offset is where a byte of the copy stood in the body.
func (c *Content) Offset(inCopy int64) int64 {
	offset := inCopy
	if c != nil {
		for _, g := range c.gaps {
			if g.at <= inCopy {
				offset += g.gone
			}
		}
	}
	return offset
}

// ErrTooLarge is a body whose other members together are longer than allowed.
var ErrTooLarge = errors.New("the body is too large without its content")

// storeError is a fault of the disk on which content is kept while it arrives.
type storeError struct{ error }

// Error says what failed.
func (e storeError) Error() string { return "store content while it arrives: " + e.error.Error() }

// Unwrap is the fault.
func (e storeError) Unwrap() error { return e.error }

// StoreFailed reports whether an error is a fault of the disk, not of the body.
func StoreFailed(err error) bool {
	var fault storeError
	return errors.As(err, &fault)
}

// Extract copies a JSON object from a body, at most limit bytes of it, and decodes the
// string of one of its members from base64 into a file that has no name, so that it is
// gone when the process is. The copy has the SHA-256 of the content in place of the
// string, and whatever in the string may not be JSON. Whoever parses the copy judges
// the rest. Without such a string the content is nil. Errors: ErrTooLarge, the reader's.
func Extract(body io.Reader, member string, limit int) (object []byte, content *Content, err error) {
	e := extraction{in: bufio.NewReaderSize(body, 32<<10), member: member, limit: limit}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.content.Close())
		}
	}()
	for err == nil {
		err = e.step()
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if e.content != nil {
		e.content.gaps = e.gaps
	}
	return e.out.Bytes(), e.content, nil
}

// Spool keeps what arrives in a file that has no name. Errors: the reader's, and of the
// disk.
func Spool(r io.Reader) (_ *Content, err error) {
	file, err := unnamed()
	if err != nil {
		return nil, storeError{err}
	}
	into := &kept{Writer: file}
	size, err := io.Copy(into, r)
	if into.err != nil {
		err = storeError{into.err}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Content{SectionReader: io.NewSectionReader(file, 0, size), file: file}, nil
}

// extraction knows just enough JSON to find the members of the outermost object.
type extraction struct {
	in     *bufio.Reader
	out    bytes.Buffer
	member string
	limit  int

	depth   int
	named   bool // the next string of the outermost object is a name
	reached bool // the last name was the member's
	content *Content
	blanks  int // white space in a row
	gaps    []gap
}

// mostBlanks is how much white space in a row is copied.
const mostBlanks = 1 << 10

// blank reports whether white space is left out, because there is much of it.
func (e *extraction) blank(c byte) bool {
	if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		e.blanks = 0
		return false
	}
	e.blanks++
	switch {
	case e.blanks <= mostBlanks:
		return false
	case e.blanks == mostBlanks+1:
		e.gaps = append(e.gaps, gap{at: int64(e.out.Len())})
	}
	e.gaps[len(e.gaps)-1].gone++
	return true
}

// step copies one character, or one string. It returns io.EOF at the end.
func (e *extraction) step() error {
	c, err := e.in.ReadByte()
	if err != nil {
		return err
	}
	if e.blank(c) {
		return nil
	}
	if err := e.put(c); err != nil {
		return err
	}
	switch c {
	case '{', '[':
		e.depth++
		e.named = true
	case '}', ']':
		e.depth--
	case ',':
		e.named, e.reached = true, false
	case '"':
		name := e.depth == 1 && e.named
		if e.depth == 1 && !name && e.reached {
			return e.divert()
		}
		return e.text(name)
	}
	return nil
}

func (e *extraction) put(c byte) error {
	if e.out.Len() >= e.limit {
		return ErrTooLarge
	}
	return e.out.WriteByte(c)
}

// text copies the rest of a string.
func (e *extraction) text(name bool) error {
	from := e.out.Len() - 1
	for escaped := false; ; {
		c, err := e.in.ReadByte()
		if err != nil {
			return err
		}
		if err := e.put(c); err != nil {
			return err
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
	}
	if name {
		text, err := jsontext.AppendUnquote(nil, e.out.Bytes()[from:])
		e.named, e.reached = false, err == nil && string(text) == e.member
	}
	return nil
}

// divert decodes the rest of a string into the content, and puts its digest in its
// place. Of two such members the last one counts; the parser refuses both.
func (e *extraction) divert() error {
	e.reached = false
	if err := e.content.Close(); err != nil {
		return storeError{err}
	}
	file, err := unnamed()
	if err != nil {
		return storeError{err}
	}
	e.content = &Content{file: file}
	from := int64(e.out.Len())
	digest := sha256.New()
	s := &base64Text{in: e.in, left: e.limit - e.out.Len()}
	into := &kept{Writer: io.MultiWriter(file, digest)}
	_, err = io.Copy(into, base64.NewDecoder(base64.StdEncoding.Strict(), s))
	if into.err != nil {
		return storeError{into.err}
	}
	if _, rest := io.Copy(io.Discard, s); rest != nil {
		return rest
	}
	e.content.Unreadable = err != nil || s.afterPadding
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return storeError{err}
	}
	e.content.SectionReader = io.NewSectionReader(file, 0, size)
	e.out.WriteString(hex.EncodeToString(digest.Sum(nil)))
	e.out.Write(s.suspect)
	e.gaps = append(e.gaps, gap{int64(e.out.Len()), s.read - (int64(e.out.Len()) - from)})
	if !s.closed {
		return io.EOF // within the string: the parser tells
	}
	return e.out.WriteByte('"')
}

// kept tells errors of writing from those of reading.
type kept struct {
	io.Writer

	err error
}

func (k *kept) Write(p []byte) (int, error) {
	n, err := k.Writer.Write(p)
	k.err = errors.Join(k.err, err)
	return n, err
}

// unnamed is a file that nobody else can open, and that is gone when it is closed.
func unnamed() (*os.File, error) {
	file, err := os.CreateTemp("", "parapet-upload-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
