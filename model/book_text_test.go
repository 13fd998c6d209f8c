package model_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.jetify.com/typeid/base32"

	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
)

// bookTexts are the texts of a template, split into pieces that are equal in all copies
// and parts that differ.
type bookTexts struct {
	parts    []bookPart
	known    map[string]int // part by its text in the template
	literals map[string]func(*bookCopy, string) string
	pattern  *regexp.Regexp
	receipts []bookText
	since    time.Time // earlier times are unchanged
}

// bookPart returns a copy's own form of a part.
type bookPart func(*bookCopy) string

// bookText is a text of the template: pieces alternating with parts, which are indexes.
type bookText struct {
	pieces []string
	parts  []int
}

// bookCopy is one copy while it is being written.
type bookCopy struct {
	number  int
	partner string
	shift   time.Duration
	seed    uint64

	texts    []string // by part
	receipts []string
	events   map[uuid.UUID]bookEvent
}

// referencePrefix returns the copy's own form of bookMark.
func (b *bookCopy) referencePrefix() string { return fmt.Sprintf("copy-%06d", b.number) }

// bookEvent is an event's data in the hash chain.
type bookEvent struct {
	id   string
	kind event.Type
	at   time.Time
	data [sha256.Size]byte
}

const (
	patternUUID   = `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	patternTypeID = `(?:quo|pol|clm|tle|att|msg|pmt|pay|obs|occ|evt|whe|dlv|rep|fnd|aud)_[0-7][0-9a-hjkmnp-tv-z]{25}`
	patternTime   = `20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d`
)

// replaceText replaces a text by each copy's own form.
func (t *bookTexts) replaceText(text string, own func(*bookCopy, string) string) {
	if t.literals == nil {
		t.literals, t.known = map[string]func(*bookCopy, string) string{}, map[string]int{}
	}
	t.literals[text], t.pattern = own, nil
}

// parseText splits a text into pieces and parts.
func (t *bookTexts) parseText(text string) bookText {
	if t.pattern == nil {
		alternatives := []string{patternUUID, patternTypeID, patternTime}
		for literal := range t.literals {
			alternatives = append(alternatives, regexp.QuoteMeta(literal))
		}
		slices.Sort(alternatives)
		t.pattern = regexp.MustCompile(strings.Join(alternatives, "|"))
	}
	var parsed bookText
	end := 0
	for _, at := range t.pattern.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		part, ok := t.known[found]
		if !ok {
			part = -1
			if own := t.parsePart(found); own != nil {
				part, t.parts = len(t.parts), append(t.parts, own)
			}
			t.known[found] = part
		}
		if part >= 0 {
			parsed.pieces, parsed.parts, end = append(parsed.pieces, text[end:at[0]]), append(parsed.parts, part), at[1]
		}
	}
	parsed.pieces = append(parsed.pieces, text[end:])
	return parsed
}

func (t *bookTexts) parsePart(found string) bookPart {
	if own := t.literals[found]; own != nil {
		return func(b *bookCopy) string { return own(b, found) }
	}
	if id, err := uuid.Parse(found); err == nil {
		return func(b *bookCopy) string { return b.mapID(id).String() }
	}
	if prefix, suffix, ok := strings.Cut(found, "_"); ok {
		bytes, err := base32.Decode(suffix)
		if err != nil {
			return nil
		}
		return func(b *bookCopy) string { return prefix + "_" + base32.Encode(b.mapID(uuid.UUID(bytes))) }
	}
	layout := time.DateOnly + found[10:11] + time.TimeOnly
	at, err := time.Parse(layout, found)
	if err != nil || at.Before(t.since) {
		return nil
	}
	return func(b *bookCopy) string { return at.Add(b.shift).Format(layout) }
}

// mapID returns the copy's id for a template's id, with the copy's time and randomness.
func (b *bookCopy) mapID(id uuid.UUID) uuid.UUID {
	at := int64(binary.BigEndian.Uint64(id[:8])>>16) + b.shift.Milliseconds()
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], uint64(at)<<16)
	copy(id[:6], head[:6])
	tail := binary.BigEndian.Uint64(id[8:]) ^ b.seed>>2 // the variant stays
	binary.BigEndian.PutUint64(id[8:], tail)
	return id
}

// computeOwnValues computes the copy's own values.
func (t *bookTexts) computeOwnValues(b *bookCopy) {
	b.texts, b.events, b.receipts = make([]string, len(t.parts)), map[uuid.UUID]bookEvent{}, make([]string, len(t.receipts))
	own := func() {
		for i, part := range t.parts {
			b.texts[i] = part(b)
		}
	}
	own()
	for i, receipt := range t.receipts {
		sum := sha256.Sum256(receipt.textFor(b))
		b.receipts[i] = "sha256:" + hex.EncodeToString(sum[:])
	}
	own() // again, with the receipts' hashes
}

// textFor returns the copy's form of the text.
func (x bookText) textFor(b *bookCopy) []byte {
	size := 0
	for _, piece := range x.pieces {
		size += len(piece)
	}
	text := make([]byte, 0, size+40*len(x.parts))
	for i, part := range x.parts {
		text = append(append(text, x.pieces[i]...), b.texts[part]...)
	}
	return append(text, x.pieces[len(x.parts)]...)
}

// saveEvent compresses an event's data and saves their hash for the chain.
func (b *bookCopy) saveEvent(table *bookTable, values [][]byte) {
	id := uuid.MustParse(string(*table.columnValue(values, "id")))
	at, err := time.Parse("2006-01-02 15:04:05-07", string(*table.columnValue(values, "occurred_at")))
	if err != nil {
		panic(err)
	}
	data := strings.ReplaceAll(string(*table.columnValue(values, "data")), `\\\\`, `\`)
	hash := sha256.Sum256([]byte(data))
	*table.columnValue(values, "data") = fmt.Appendf(nil, `\\x%x`, compress.Compress([]byte(data)))
	*table.columnValue(values, "data_hash") = fmt.Appendf(nil, `\\x%x`, hash)
	b.events[id] = bookEvent{"evt_" + base32.Encode(id), event.Type(*table.columnValue(values, "type")), at, hash}
}
