package wire

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339Pattern is what the library's reading of a time does not insist on: two digits
// everywhere, a full stop before the fraction, a zone that exists.
var rfc3339Pattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// ParseTime reads an RFC 3339 time of a year that the database knows, in UTC. Its
// letters may be small, as section 5.6 allows. Every door reads times by it.
func ParseTime(text string) (at time.Time, ok bool) {
	text = strings.ToUpper(text)
	at, err := time.Parse(time.RFC3339, text)
	at = at.UTC()
	return at, err == nil && rfc3339Pattern.MatchString(text) && at.Year() >= 1 && at.Year() <= 9999
}
