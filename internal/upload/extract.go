package upload

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Rule selects the strings of a JSON object that are content.
type Rule struct {
	Member string // member of the outermost object
	Within bool   // selects the strings inside the member's value, not the value itself
	Least  int    // minimum length of a string as written, in bytes; at most 64 KiB
}

const (
	// buffered is the read-ahead, in bytes: the largest Rule.Least, to measure the length
	// of a string.
	buffered = 64 << 10
	// maxContents limits the contents of one body; further selected strings are copied
	// like others.
	maxContents = 50
)

// Extract copies a JSON object from a body, at most limit bytes of it. It decodes the
// strings that the rule selects from base64 into an unnamed file, which disappears with
// the process. In the copy, each such string holds the SHA-256 of its content, followed
// by any part of the string that may be invalid JSON. The parser of the copy checks the
// rest; the caller closes the body. Errors: ErrTooLarge, the reader's, those of the disk.
func Extract(body io.Reader, rule Rule, limit int) (_ *Body, err error) {
	e := extractor{in: bufio.NewReaderSize(&failing{Reader: body}, buffered), rule: rule, limit: limit}
	for err == nil {
		err = e.copyNext()
	}
	if !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, e.Close())
	}
	e.JSON = e.out.Bytes()
	return &e.Body, nil
}

// failing repeats the error of its reader: an unreadable body has no more bytes, even if
// a later read would succeed.
type failing struct {
	io.Reader

	err error
}

func (f *failing) Read(p []byte) (n int, err error) {
	if f.err == nil {
		n, f.err = f.Reader.Read(p)
	}
	return n, f.err
}

// extractor parses only enough JSON to find the members of the outermost object.
type extractor struct {
	Body

	in    *bufio.Reader
	out   bytes.Buffer
	rule  Rule
	limit int

	depth       int
	expectsName bool  // the next string of the outermost object is a name
	atMember    bool  // the last name was the member's
	blanks      int   // consecutive white space
	stored      int64 // bytes of the contents so far
}

// maxBlanks limits the copied consecutive white space.
const maxBlanks = 1 << 10

// skipBlank reports whether to omit a white space character because there are many in a
// row.
func (e *extractor) skipBlank(c byte) bool {
	if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		e.blanks = 0
		return false
	}
	e.blanks++
	switch {
	case e.blanks <= maxBlanks:
		return false
	case e.blanks == maxBlanks+1:
		e.gaps = append(e.gaps, gap{position: int64(e.out.Len())})
	}
	e.gaps[len(e.gaps)-1].omitted++
	return true
}

// copyNext copies one character or one string. It returns io.EOF at the end.
func (e *extractor) copyNext() error {
	c, err := e.in.ReadByte()
	if err != nil {
		return err
	}
	if e.skipBlank(c) {
		return nil
	}
	if err := e.writeByte(c); err != nil {
		return err
	}
	switch c {
	case '{', '[':
		e.depth++
		e.expectsName = true
	case '}', ']':
		e.depth--
	case ',':
		if e.depth == 1 {
			e.expectsName, e.atMember = true, false
		}
	case '"':
		name := e.depth == 1 && e.expectsName
		if selected := !name && e.atMember && e.rule.Within == (e.depth > 1); selected && len(e.contents) < maxContents && e.hasAtLeast(e.rule.Least) {
			return e.extractContent()
		}
		return e.copyString(name)
	}
	return nil
}

func (e *extractor) writeByte(c byte) error {
	if e.out.Len() >= e.limit {
		return ErrTooLarge
	}
	return e.out.WriteByte(c)
}

// hasAtLeast reports whether the current string has n bytes or more. It waits until they
// have arrived.
func (e *extractor) hasAtLeast(n int) bool {
	escaped := false
	for i := 0; i < n; {
		arrived, err := e.in.Peek(max(i+1, min(n, e.in.Buffered())))
		if err != nil {
			return false // copying meets the same error
		}
		for ; i < len(arrived); i++ {
			if arrived[i] == '"' && !escaped {
				return false
			}
			escaped = arrived[i] == '\\' && !escaped
		}
	}
	return true
}

// copyString copies the rest of a string.
func (e *extractor) copyString(name bool) error {
	from := e.out.Len() - 1
	for escaped := false; ; {
		c, err := e.in.ReadByte()
		if err != nil {
			return err
		}
		if err := e.writeByte(c); err != nil {
			return err
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
	}
	if name {
		text, err := jsontext.AppendUnquote(nil, e.out.Bytes()[from:])
		e.expectsName, e.atMember = false, err == nil && string(text) == e.rule.Member
	}
	return nil
}

// extractContent decodes the rest of a string into a content and writes its digest
// instead.
func (e *extractor) extractContent() (err error) {
	if e.file == nil {
		if e.file, err = createUnnamedFile(); err != nil {
			return storeError{err}
		}
	}
	from := int64(e.out.Len())
	digest := sha256.New()
	s := &base64Reader{source: e.in, suspectLimit: e.limit - e.out.Len()}
	into := &writeErrorTracker{Writer: io.MultiWriter(e.file, digest)}
	_, err = io.Copy(into, base64.NewDecoder(base64.StdEncoding.Strict(), s))
	if into.err != nil {
		return storeError{into.err}
	}
	if _, rest := io.Copy(io.Discard, s); rest != nil {
		return rest
	}
	c := &Content{SHA256: hex.EncodeToString(digest.Sum(nil)), NotBase64: err != nil || s.afterPadding}
	c.SectionReader = io.NewSectionReader(e.file, e.stored, into.written)
	e.stored += into.written
	e.out.WriteString(c.SHA256)
	e.out.Write(s.suspect)
	e.gaps = append(e.gaps, gap{int64(e.out.Len()), s.bytesRead - (int64(e.out.Len()) - from)})
	e.contents = append(e.contents, c)
	if !s.closed {
		return io.EOF // inside the string: the parser reports it
	}
	e.out.WriteByte('"')
	c.end = int64(e.out.Len())
	return nil
}

// writeErrorTracker counts the written bytes and distinguishes write errors from read
// errors.
type writeErrorTracker struct {
	io.Writer

	written int64
	err     error
}

func (k *writeErrorTracker) Write(p []byte) (int, error) {
	n, err := k.Writer.Write(p)
	k.written += int64(n)
	k.err = errors.Join(k.err, err)
	return n, err
}
