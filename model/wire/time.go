package wire

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339Pattern requires what the library's parser does not: two digits everywhere, a
// full stop before the fraction, an existing zone.
var rfc3339Pattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// ParseTime parses an RFC 3339 time, within the years that the database supports, and
// returns it in UTC. Its letters may be lower-case, as section 5.6 allows. REST and
// GraphQL parse times with it.
func ParseTime(text string) (at time.Time, ok bool) {
	text = strings.ToUpper(text)
	at, err := time.Parse(time.RFC3339, text)
	at = at.UTC()
	return at, err == nil && rfc3339Pattern.MatchString(text) && at.Year() >= 1 && at.Year() <= 9999
}
