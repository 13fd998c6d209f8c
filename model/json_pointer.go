package model

import (
	"cmp"
	"strings"
)

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// jsonPointer writes a JSON pointer (RFC 6901).
func jsonPointer(path ...string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(token))
	}
	return b.String()
}

// isWithinPointer tells whether a pointer leads to a place or into it.
func isWithinPointer(pointer, place string) bool {
	rest, ok := strings.CutPrefix(pointer, place)
	return ok && (rest == "" || rest[0] == '/')
}

// maxPointerLength bounds what an answer repeats of the caller's own names, in bytes.
const maxPointerLength = 256

// BoundPointer is a pointer that an answer can carry: in place of a very long one,
// that of the innermost member around it with a name of ordinary length.
func BoundPointer(pointer string) string {
	if len(pointer) <= maxPointerLength {
		return pointer
	}
	return pointer[:strings.LastIndexByte(pointer[:maxPointerLength+1], '/')]
}

// comparePointers orders pointers as people read: name by name, and elements of
// a list by their numbers.
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

// cutToken cuts the first name off a pointer.
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
