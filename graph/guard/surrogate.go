package guard

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// joinSurrogates replaces escaped surrogate pairs in a document's strings by their
// characters; the parser would turn them into question marks. It returns the byte offset
// of an unpaired surrogate, or -1. A document without surrogates is returned unchanged.
func joinSurrogates(text string) (string, int) {
	if !strings.Contains(text, `\ud`) && !strings.Contains(text, `\uD`) {
		return text, -1
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		switch {
		case text[i] == '#':
			end = indexAfter(text, i, "\n")
		case strings.HasPrefix(text[i:], `"""`):
			end = blockEnd(text, i+3)
		case text[i] == '"':
			quoted, length, wrong := joinSurrogatesInString(text[i:])
			if wrong >= 0 {
				return "", i + wrong
			}
			out.WriteString(quoted)
			i += length
			continue
		}
		out.WriteString(text[i:end])
		i = end
	}
	return out.String(), -1
}

// indexAfter returns the index after the next end, or the length of the text.
func indexAfter(text string, from int, end string) int {
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(text)
}

// blockEnd returns the index after a block string, which has no escape other than that of
// its end.
func blockEnd(text string, from int) int {
	for {
		end := indexAfter(text, from, `"""`)
		if end == len(text) || text[end-4] != '\\' {
			return end
		}
		from = end
	}
}

// joinSurrogatesInString reads one string from its opening quote and returns its length.
func joinSurrogatesInString(text string) (quoted string, length, wrong int) {
	var out strings.Builder
	out.WriteByte('"')
	for i := 1; i < len(text); {
		switch {
		case text[i] == '"':
			return out.String() + `"`, i + 1, -1
		case text[i] == '\n' || text[i] == '\r':
			return out.String(), i, -1 // the lexer reports the missing end
		case text[i] != '\\':
			out.WriteByte(text[i])
			i++
		case !utf16.IsSurrogate(escapedUnit(text[i:])):
			end := min(i+2, len(text))
			out.WriteString(text[i:end])
			i = end
		default:
			pair := utf16.DecodeRune(escapedUnit(text[i:]), escapedUnit(text[i+6:]))
			if pair == utf8.RuneError {
				return "", 0, i
			}
			out.WriteRune(pair)
			i += 12
		}
	}
	return out.String(), len(text), -1
}

// escapedUnit returns the code unit of \uXXXX at the beginning of a text; 0 without one.
func escapedUnit(text string) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
