package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
)

// Quote is a priced offer of cover. Its parts are embedded in the order of the members, so
// that a part that does not change is encoded once.
type Quote struct {
	QuoteHead
	QuoteTerms
	QuotePricing
	QuoteTail
}

// QuoteHead are the members of a quote before its terms.
type QuoteHead struct {
	Header
	References
	Product        string         `json:"product"`
	ProductVersion int            `json:"product_version"`
	Status         string         `json:"status"`          // priced, bound, expired
	Context        jsontext.Value `json:"context"`         // as given, with defaults filled in
	IgnoredContext []string       `json:"ignored_context"` // members of context the product does not know
}

// QuoteTerms are the terms that a quote offers. They never change.
type QuoteTerms struct {
	Cover     trigger.Cover `json:"cover"`      // all terms that would bind
	TermsHash string        `json:"terms_hash"` // sha256 of the canonical terms
}

// QuotePricing is the price of the terms and what it was computed from. It never changes.
type QuotePricing struct {
	Price   pricing.Price       `json:"price"`
	Basis   pricing.Basis       `json:"basis"`
	History []pricing.PastEvent `json:"history"` // every past event that would have paid, newest first
}

// QuoteTail are the members of a quote after its price.
type QuoteTail struct {
	ExpiresAt time.Time `json:"expires_at"`
	// Moratorium is the reason why the cover cannot be bound now; null if it can, and
	// once the quote is bound or expired.
	Moratorium *QuoteMoratorium `json:"moratorium"`
	PolicyID   *string          `json:"policy_id"`
}

// ClaimBrief identifies a claim inside its policy.
type ClaimBrief struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// Policy is a bound policy, at any time of its life.
type Policy struct {
	PolicyHead
	PolicyCover // embedded like the others, so that the document keeps the order of the members
	PolicyTail
}

// PolicyCover is the cover of a policy.
type PolicyCover struct {
	Cover trigger.Cover `json:"cover"`
}

// StoredPolicy is a Policy whose cover is the text that was stored at the bind. Cover never
// changes, so a caller that only writes the record need not decode it.
type StoredPolicy struct {
	PolicyHead
	Cover jsontext.Value `json:"cover"`
	PolicyTail
}

// PolicyHead are the members of a policy before its cover.
type PolicyHead struct {
	Header
	References
	Status         string  `json:"status"`      // active, exhausted, expired, cancelled, archived
	CoverPhase     string  `json:"cover_phase"` // scheduled, waiting, in_force, ended
	QuoteID        string  `json:"quote_id"`
	Product        string  `json:"product"`
	ProductVersion int     `json:"product_version"`
	Policyholder   *Person `json:"policyholder"`
}

// PolicyTail are the members of a policy after its cover.
type PolicyTail struct {
	TermsHash      string       `json:"terms_hash"`
	Premium        Money        `json:"premium"`
	Limit          Money        `json:"limit"`
	LimitRemaining Money        `json:"limit_remaining"`
	EffectiveAt    time.Time    `json:"effective_at"`
	ExpiresAt      time.Time    `json:"expires_at"`
	Claims         []ClaimBrief `json:"claims"` // the newest 20, oldest first
	ClaimsCount    int64        `json:"claims_count"`
	CancelledAt    *time.Time   `json:"cancelled_at"`
}
