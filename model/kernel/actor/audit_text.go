package actor

import "strings"

// maxAuditText is the maximum length of a caller's text, in bytes.
const maxAuditText = 255

// BoundAuditText returns a text that Postgres can store, or otherwise when the text is
// empty.
func BoundAuditText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text[:min(len(text), maxAuditText)], ""), "\x00", "")
}
