package apperr

import (
	"cmp"
	"strings"
)

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// JSONPointer formats a JSON pointer (RFC 6901).
func JSONPointer(path ...string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(token))
	}
	return b.String()
}

// isWithinPointer reports whether a pointer refers to place or to something inside it.
func isWithinPointer(pointer, place string) bool {
	rest, ok := strings.CutPrefix(pointer, place)
	return ok && (rest == "" || rest[0] == '/')
}

// maxPointerLength bounds the caller's own names in a response, in bytes.
const maxPointerLength = 256

// BoundPointer returns a pointer of bounded length: it shortens a very long one to the
// innermost enclosing member whose pointer fits.
func BoundPointer(pointer string) string {
	if len(pointer) <= maxPointerLength {
		return pointer
	}
	return pointer[:strings.LastIndexByte(pointer[:maxPointerLength+1], '/')]
}

// comparePointers orders pointers name by name, and list elements by number.
func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var left, right string
		left, a = cutToken(a)
		right, b = cutToken(b)
		if order := compareTokens(left, right); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}

// cutToken splits the first name off a pointer.
func cutToken(pointer string) (name, rest string) {
	if end := strings.IndexByte(pointer[1:], '/'); end >= 0 {
		return pointer[1 : end+1], pointer[end+1:]
	}
	return pointer[1:], ""
}

func compareTokens(a, b string) int {
	na, nb := isNumeric(a), isNumeric(b)
	switch {
	case na && nb:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case na:
		return -1
	case nb:
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

func isNumeric(token string) bool {
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return false
		}
	}
	return token != ""
}
