package rest

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// pageParameters are the query parameters of every list.
var pageParameters = []string{"limit", "cursor"}

// queryParameters returns the query parameters of a route.
func (r *route) queryParameters() []string {
	if !r.isPaged {
		return r.filters
	}
	return slices.Concat(r.filters, pageParameters)
}

// parseQuery reads the query string. It rejects unknown parameters: a misspelt one would
// silently change the result.
func (c *requestContext) parseQuery() error {
	values, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return apperr.BadParameter(apperr.FieldError{Code: "format", Detail: "The query string is not well formed: % is written %25, and ; %3B."}).WithCause(err)
	}
	q := query{Values: values}
	known := c.route.queryParameters()
	exist := "There is no such parameter here; there are " + strings.Join(known, ", ") + "."
	if len(known) == 0 {
		exist = "There is no such parameter here; this address takes none."
	}
	for name, given := range values {
		switch {
		case !slices.Contains(known, name):
			q.addFault(name, "unknown", exist)
		case len(given) > 1:
			q.addFault(name, "duplicate", "Give it once.")
		}
	}
	c.query = &q
	return q.err()
}

// query holds a request's query parameters and their faults.
type query struct {
	url.Values

	faults []apperr.FieldError
}

// addFault records a fault of a parameter with any name.
func (q *query) addFault(name, code, detail string) {
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(strings.ToValidUTF8(name, "\uFFFD"))
	q.faults = append(q.faults, apperr.FieldError{Pointer: apperr.BoundPointer(pointer), Code: code, Detail: detail})
}

// err returns all faults as one error, nil without faults.
func (q *query) err() error {
	switch {
	case len(q.faults) > 0:
		return apperr.BadParameter(q.faults...)
	case q.Has("cursor") && q.Get("cursor") == "":
		return store.InvalidCursor() // the first page has no cursor
	default:
		return nil
	}
}

var pageSizePattern = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)

// pageRequest reads limit and cursor.
func (q *query) pageRequest() store.PageRequest {
	page := store.PageRequest{Cursor: q.Get("cursor")}
	if text := q.Get("limit"); pageSizePattern.MatchString(text) {
		page.Limit, _ = strconv.Atoi(text)
	}
	if q.Has("limit") && (page.Limit < 1 || page.Limit > store.MaxPageSize) {
		q.addFault("limit", "value", "Use a whole number from 1 to "+strconv.Itoa(store.MaxPageSize)+", in plain digits.")
	}
	return page
}

// maxTextParam limits a filter's value, in bytes; no existing value is longer.
const maxTextParam = 512

// textParam reads a text parameter without control characters.
func (q *query) textParam(name string) string {
	text := q.Get(name)
	if q.Has(name) && (text == "" || len(text) > maxTextParam || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl)) {
		q.addFault(name, "value", "Give a value of ordinary text, or leave the parameter out.")
	}
	return text
}

// listParam reads a comma-separated parameter.
func (q *query) listParam(name string) []string {
	if !q.Has(name) {
		return nil
	}
	all := strings.Split(q.Get(name), ",")
	if slices.ContainsFunc(all, func(word string) bool { return !listItemPattern.MatchString(word) }) {
		q.addFault(name, "value", "Give words separated by commas, without blanks, or leave the parameter out.")
		return nil
	}
	return all
}

var (
	listItemPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	integerPattern  = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
)

// integerParam reads an integer parameter, 0 without one.
func (q *query) integerParam(name string) int64 {
	if !q.Has(name) {
		return 0
	}
	text := q.Get(name)
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !integerPattern.MatchString(text) {
		q.addFault(name, "value", fmt.Sprintf("Use a whole number from 0 to %d, in plain digits.", int64(math.MaxInt64)))
		return 0
	}
	return number
}

// timeParam reads a time parameter, nil without one.
func (q *query) timeParam(name string) *time.Time {
	if !q.Has(name) {
		return nil
	}
	at, ok := wire.ParseTime(q.Get(name))
	if !ok {
		q.addFault(name, "format", "Give an RFC 3339 time such as 2018-02-06T15:50:42Z; a + of the zone is written %2B.")
		return nil
	}
	return &at
}
