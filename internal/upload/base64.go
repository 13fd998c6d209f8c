package upload

import (
	"bufio"
	"io"
	"strconv"
)

// base64Reader reads the characters of a JSON string that should be base64 and resolves
// its escapes. The end of the string is io.EOF.
type base64Reader struct {
	source       *bufio.Reader
	suspectLimit int    // limit of suspect, in bytes
	suspect      []byte // parts of the string that are not plain ASCII, as written
	bytesRead    int64  // bytes of the body, without the closing quote
	padded       bool
	afterPadding bool
	closed       bool // the closing quote was read
}

// isBase64 marks the characters of base64 without the padding.
var isBase64 = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		is[c] = true
	}
	return is
}()

// Read returns what has arrived.
func (s *base64Reader) Read(p []byte) (int, error) {
	if s.closed {
		return 0, io.EOF
	}
	if _, err := s.source.Peek(1); err != nil {
		return 0, err
	}
	arrived, _ := s.source.Peek(min(s.source.Buffered(), len(p)))
	run := 0
	for run < len(arrived) && isBase64[arrived[run]] {
		run++
	}
	if run == 0 {
		return s.readSpecial(p)
	}
	copy(p, arrived[:run])
	s.afterPadding = s.afterPadding || s.padded
	s.bytesRead += int64(run)
	_, err := s.source.Discard(run)
	return run, err
}

// readSpecial reads one character that is not plain.
func (s *base64Reader) readSpecial(p []byte) (int, error) {
	c, err := s.source.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '"' {
		s.closed = true
		return 0, io.EOF
	}
	s.bytesRead++
	if c == '\\' {
		if c, err = s.readEscape(); err != nil {
			return 0, err
		}
	} else if c < ' ' || c > '~' {
		if err := s.addSuspect(c); err != nil {
			return 0, err
		}
		c = 0 // not base64; a line feed must be escaped in JSON
	}
	s.afterPadding = s.afterPadding || s.padded && isBase64[c]
	s.padded = s.padded || c == '='
	p[0] = c
	return 1, nil
}

// addSuspect keeps text that the parser must check.
func (s *base64Reader) addSuspect(text ...byte) error {
	if len(s.suspect)+len(text) > s.suspectLimit {
		return ErrTooLarge
	}
	s.suspect = append(s.suspect, text...)
	return nil
}

// readEscape reads the characters after a backslash. JSON encoders escape slash and plus,
// and base64 may have line ends. Any other escape is not base64.
func (s *base64Reader) readEscape() (byte, error) {
	written := make([]byte, 2, 6)
	written[0] = '\\'
	for i := 1; i < len(written); i++ {
		c, err := s.source.ReadByte()
		if err != nil {
			return 0, err
		}
		s.bytesRead++
		written[i] = c
		if i == 1 && c == 'u' {
			written = written[:6]
		}
		if c == '"' && i > 1 {
			break // an invalid escape; the parser stops before it
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
	if isBase64[c] || c == '=' || c == '\n' || c == '\r' {
		return c, nil
	}
	return 0, s.addSuspect(written...)
}
