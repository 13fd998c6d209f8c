package apperr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the contract for a partner's reference and metadata.
const (
	maxReferenceLength     = 128
	maxMetadataKeys        = 50
	maxMetadataKeyLength   = 40
	maxMetadataValueLength = 500
)

// RequireReferences validates a partner's reference and metadata. It refuses control
// characters in a reference, because they are typing errors that lists do not show.
func (v *Validator) RequireReferences(reference *string, metadata map[string]string) {
	v.Require(reference == nil || isMeaningfulText(*reference, maxReferenceLength), "/partner_reference", "value",
		fmt.Sprintf("Use 1 to %d characters, without control characters and not only blanks.", maxReferenceLength))
	v.Require(len(metadata) <= maxMetadataKeys, "/metadata", "length", fmt.Sprintf("Use at most %d keys.", maxMetadataKeys))
	for key, value := range metadata {
		v.Require(key != "" && utf8.RuneCountInString(key) <= maxMetadataKeyLength, JSONPointer("metadata", key), "length", fmt.Sprintf("Use keys of 1 to %d characters.", maxMetadataKeyLength))
		v.Require(utf8.RuneCountInString(value) <= maxMetadataValueLength, JSONPointer("metadata", key), "length", fmt.Sprintf("Use values of at most %d characters.", maxMetadataValueLength))
	}
}

// isMeaningfulText reports whether a text is not blank and has at most most characters.
func isMeaningfulText(text string, most int) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, unicode.IsControl)
}
