package rest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// canon gives what is different in every run the same value in all of them: ids
// are counted, instants of now become instants of one day, cursors, receipts,
// secrets and hashes of events are counted too. A value keeps its length and its relations: equal stays equal, and what lies whole
// hours later still does.
type canon struct {
	seen   map[string]string
	ids    int
	times  []instant
	opaque []string // cursors and receipts, each followed by what stands for it
}

// instant is a time of this run and the one that stands for it.
type instant struct{ real, told time.Time }

func newCanon() *canon { return &canon{seen: map[string]string{}} }

var (
	variable = regexp.MustCompile(`\b[a-z]{3}_[0-9a-z]{26}\b|\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	opaque   = regexp.MustCompile(`"(?:next_cursor":"|hash":"|secret":"whsec_|receipt_hash":"sha256:)([^"]+)"`)
	terms    = regexp.MustCompile(`"terms_hash":"sha256:([^"]+)"`)
	dawn     = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

// text is a text with everything variable in it made canonical.
func (c *canon) text(text string) string {
	all := opaque.FindAllStringSubmatch(text, -1)
	if strings.Contains(text, `"starts_at":"`) { // the terms name the instant
		all = append(all, terms.FindAllStringSubmatch(text, -1)...)
	}
	for _, found := range all {
		if !slices.Contains(c.opaque, found[1]) {
			c.opaque = append(c.opaque, found[1], fmt.Sprintf("%0*d", len(found[1]), len(c.opaque)/2+1))
		}
	}
	text = strings.NewReplacer(c.opaque...).Replace(text)
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if c.seen[found] == "" {
			c.seen[found] = c.canonical(found)
		}
		return c.seen[found]
	})
}

// inTheirOrder has the instants of a text stay before and after each other.
func (c *canon) inTheirOrder(text string) {
	all := variable.FindAllString(text, -1)
	slices.Sort(all)
	for _, found := range all {
		if strings.HasPrefix(found, "20") {
			c.text(found)
		}
	}
}

func (c *canon) canonical(found string) string {
	if kind, _, id := strings.Cut(found, "_"); id {
		c.ids++
		return fmt.Sprintf("%s_01kjq%021d", kind, c.ids)
	}
	return c.time(found)
}

func (c *canon) time(value string) string {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return value
	}
	told := dawn.Add(time.Duration(len(c.times)) * time.Second)
	for _, before := range c.times {
		if before.real.Equal(at) { // written with fewer digits
			return written(before.told)
		}
		if later := at.Sub(before.real); later > 0 && later%time.Hour == 0 {
			told = before.told.Add(later)
		}
	}
	c.times = append(c.times, instant{at, told})
	return written(told)
}

func written(at time.Time) string { return at.Format("2006-01-02T15:04:05.000000Z") }

// entityTag is the ETag of a body, computed anew.
func entityTag(body string) string {
	sum := sha256.Sum256([]byte(body))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}
