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

// canonicalizer replaces values that differ in every run by fixed ones: ids are numbered,
// instants of now become instants of one day, and cursors, receipts, secrets and hashes
// of events are numbered too. A value keeps its length and its relations: equal values
// stay equal, and instants that are whole hours apart stay so.
type canonicalizer struct {
	replacements map[string]string
	ids          int
	times        []timePair
	opaque       []string // cursors and receipts, each followed by its replacement
}

// timePair is a time of this run and its replacement.
type timePair struct{ real, canonical time.Time }

func newCanonicalizer() *canonicalizer { return &canonicalizer{replacements: map[string]string{}} }

var (
	volatilePattern  = regexp.MustCompile(`\b[a-z]{3}_[0-9a-z]{26}\b|\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	opaquePattern    = regexp.MustCompile(`"(?:next_cursor":"|hash":"|secret":"whsec_|(?:data|previous)_hash":"|jws":"|(?:receipt_hash|readings_digest|digest)":"sha256:)([^"]+)"`)
	termsHashPattern = regexp.MustCompile(`"terms_hash":"sha256:([^"]+)"`)
	canonicalStart   = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

// replaceVolatile replaces every variable value in a text.
func (c *canonicalizer) replaceVolatile(text string) string {
	all := opaquePattern.FindAllStringSubmatch(text, -1)
	if strings.Contains(text, `"starts_at":"`) { // the terms name the instant
		all = append(all, termsHashPattern.FindAllStringSubmatch(text, -1)...)
	}
	for _, found := range all {
		if !slices.Contains(c.opaque, found[1]) {
			c.opaque = append(c.opaque, found[1], fmt.Sprintf("%0*d", len(found[1]), len(c.opaque)/2+1))
		}
	}
	text = strings.NewReplacer(c.opaque...).Replace(text)
	return volatilePattern.ReplaceAllStringFunc(text, func(found string) string {
		if c.replacements[found] == "" {
			c.replacements[found] = c.canonicalValue(found)
		}
		return c.replacements[found]
	})
}

// registerTimes registers the instants of a text in their order, which the replacements
// keep.
func (c *canonicalizer) registerTimes(text string) {
	all := volatilePattern.FindAllString(text, -1)
	slices.Sort(all)
	for _, found := range all {
		if strings.HasPrefix(found, "20") {
			c.replaceVolatile(found)
		}
	}
}

func (c *canonicalizer) canonicalValue(found string) string {
	if kind, _, id := strings.Cut(found, "_"); id {
		c.ids++
		return fmt.Sprintf("%s_01kjq%021d", kind, c.ids)
	}
	return c.canonicalTime(found)
}

func (c *canonicalizer) canonicalTime(value string) string {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return value
	}
	canonical := canonicalStart.Add(time.Duration(len(c.times)) * time.Second)
	for _, before := range c.times {
		if before.real.Equal(at) { // written with fewer digits
			return formatTime(before.canonical)
		}
		if later := at.Sub(before.real); later > 0 && later%time.Hour == 0 {
			canonical = before.canonical.Add(later)
		}
	}
	c.times = append(c.times, timePair{at, canonical})
	return formatTime(canonical)
}

func formatTime(at time.Time) string { return at.Format("2006-01-02T15:04:05.000000Z") }

// entityTag computes the ETag of a body.
func entityTag(body string) string {
	sum := sha256.Sum256([]byte(body))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}
