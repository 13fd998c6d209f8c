package upload

import (
	"bufio"
	"io"
	"strconv"
)

// base64Text reads the characters of a JSON string that should be base64, without their
// escapes. The end of the string is io.EOF.
type base64Text struct {
	in           *bufio.Reader
	left         int    // how much of suspect there may be
	suspect      []byte // what the string has that is not plain ASCII, as it was written
	read         int64  // bytes of the body, without the closing quote
	padded       bool
	afterPadding bool
	closed       bool // the closing quote was read
}

// plain are the characters of base64 besides the padding.
var plain = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		is[c] = true
	}
	return is
}()

// Read takes as much as has arrived.
func (s *base64Text) Read(p []byte) (int, error) {
	if s.closed {
		return 0, io.EOF
	}
	if _, err := s.in.Peek(1); err != nil {
		return 0, err
	}
	arrived, _ := s.in.Peek(min(s.in.Buffered(), len(p)))
	run := 0
	for run < len(arrived) && plain[arrived[run]] {
		run++
	}
	if run == 0 {
		return s.special(p)
	}
	copy(p, arrived[:run])
	s.afterPadding = s.afterPadding || s.padded
	s.read += int64(run)
	_, err := s.in.Discard(run)
	return run, err
}

// special reads one character that is not plain.
func (s *base64Text) special(p []byte) (int, error) {
	c, err := s.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '"' {
		s.closed = true
		return 0, io.EOF
	}
	s.read++
	if c == '\\' {
		if c, err = s.escape(); err != nil {
			return 0, err
		}
	} else if c < ' ' || c > '~' {
		if err := s.suspend(c); err != nil {
			return 0, err
		}
		c = 0 // not base64; a line feed must be escaped in JSON
	}
	s.afterPadding = s.afterPadding || s.padded && plain[c]
	s.padded = s.padded || c == '='
	p[0] = c
	return 1, nil
}

// suspend keeps what the parser must judge.
func (s *base64Text) suspend(text ...byte) error {
	if len(s.suspect)+len(text) > s.left {
		return ErrTooLarge
	}
	s.suspect = append(s.suspect, text...)
	return nil
}

// escape reads what follows a backslash. JSON writers escape the slash and the plus
// sign; base64 may have line ends. Everything else is none.
func (s *base64Text) escape() (byte, error) {
	written := make([]byte, 2, 6)
	written[0] = '\\'
	for i := 1; i < len(written); i++ {
		c, err := s.in.ReadByte()
		if err != nil {
			return 0, err
		}
		s.read++
		written[i] = c
		if i == 1 && c == 'u' {
			written = written[:6]
		}
		if c == '"' && i > 1 {
			break // a broken escape; the parser stops before it
		}
	}
	c := byte(0)
	switch written[1] {
	case '/':
		c = '/'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 'u':
		if code, err := strconv.ParseUint(string(written[2:]), 16, 16); err == nil && code < 0x80 {
			c = byte(code)
		}
	}
	if plain[c] || c == '=' || c == '\n' || c == '\r' {
		return c, nil
	}
	return 0, s.suspend(written...)
}
