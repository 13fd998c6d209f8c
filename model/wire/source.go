package wire

import "time"

// Source is a registered hazard source and its health.
type Source struct {
	Header
	Name            string     `json:"name"` // immutable; also the id
	Perils          []string   `json:"perils"`
	Stages          []string   `json:"stages"`
	TokenSubjects   []string   `json:"token_subjects"` // empty for partners
	Enabled         bool       `json:"enabled"`
	LastReadingAt   *time.Time `json:"last_reading_at"`
	AgeSeconds      *int64     `json:"age_seconds"`
	OutageSince     *time.Time `json:"outage_since"`
	PoliciesWaiting int64      `json:"policies_waiting"`
}
