package model

import "strings"

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer writes a JSON pointer (RFC 6901).
func pointer(path ...string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(token))
	}
	return b.String()
}
