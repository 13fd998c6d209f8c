package receipt

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// Format is the version of the members of payloads.
const Format = 1

// The types of payloads.
const (
	TypeQuote = "quote"
	TypeClaim = "claim"
)

// Head has the members of every payload.
type Head struct {
	Type           string         `json:"type"`    // quote, claim
	Format         int            `json:"format"`  // 1
	Partner        string         `json:"partner"` // slug
	QuoteID        string         `json:"quote_id"`
	QuotedAt       time.Time      `json:"quoted_at"`
	Product        string         `json:"product"`
	ProductVersion int            `json:"product_version"`
	Cover          jsontext.Value `json:"cover"` // all terms, with the measurement where the product names one
	TermsHash      string         `json:"terms_hash"`
	Price          pricing.Price  `json:"price"`
	Basis          pricing.Basis  `json:"basis"` // with the digest of the history
}

// QuotePayload is the payload of a quote's receipt.
type QuotePayload struct {
	Head

	History []pricing.PastEvent `json:"history"` // what would have paid
	Events  []EventLink         `json:"events"`
}

// ClaimPayload is the payload of a claim's receipt.
type ClaimPayload struct {
	Head

	ClaimID      string    `json:"claim_id"`
	PolicyID     string    `json:"policy_id"`
	Origin       string    `json:"origin"` // trigger, approval
	EffectiveAt  time.Time `json:"effective_at"`
	PayableFrom  time.Time `json:"payable_from"`
	ExpiresAt    time.Time `json:"expires_at"`
	OccurrenceID *string   `json:"occurrence_id"` // null for origin approval
	Parts        []Part    `json:"parts"`
	Readings     []Reading `json:"readings"` // each version once
}

// Part is one decision: the first approves or declines the claim, later ones add what a
// growing occurrence owes more.
type Part struct {
	Part        int       `json:"part"`       // 1, 2, 3 …
	DecidedBy   string    `json:"decided_by"` // system, operator
	DecidedAt   time.Time `json:"decided_at"`
	Outcome     string    `json:"outcome"` // approved, declined
	ReasonCodes []string  `json:"reason_codes"`
	// Computable is whether outcome and amount follow from the terms and the readings.
	// Otherwise the reason codes say what decided: an operator, another claim for the event,
	// a retraction, or readings that were not kept.
	Computable    bool           `json:"computable"`
	Determination *Determination `json:"determination"` // null for origin approval
	PaidBefore    []PolicyPayout `json:"paid_before"`   // earlier payouts of the policy, which reduced its limit
	LimitBefore   money.Money    `json:"limit_before"`  // what was left of the limit
	OwedBefore    money.Money    `json:"owed_before"`   // what the determination of the part before owed
	Amount        *money.Money   `json:"amount"`        // approved by this part; null if it was declined
	Payouts       []PolicyPayout `json:"payouts"`       // of this part
	Events        []EventLink    `json:"events"`        // up to the decision
	// OtherClaims are the policy's other claims for the same event, after the source merged
	// its reports: what they owed is not owed again, so that the part is not computable.
	OtherClaims []string `json:"other_claims,omitempty"`
}

// Determination is the trigger's result with all inputs.
type Determination struct {
	ReceiptHash string         `json:"receipt_hash"` // digest of hashed
	Hashed      jsontext.Value `json:"hashed"`       // a Hashed, as it was hashed
	Steps       *Steps         `json:"steps"`        // null if the readings were not kept
}

// The recipes of receipt_hash. Recipe 1, of determinations without readings, has neither
// recipe nor the members after it.
const (
	RecipeWithoutReadings = 0
	Recipe                = 2
)

// Hashed is what receipt_hash is the digest of, in canonical JSON: the inputs of a
// determination and its result, whose own receipt_hash is empty.
type Hashed struct {
	Product        string             `json:"product"`
	ProductVersion int                `json:"product_version"`
	TermsHash      string             `json:"terms_hash"`
	CoverFrom      time.Time          `json:"cover_from"`
	CoverTo        time.Time          `json:"cover_to"` // earlier than the end of the term after a cancellation
	Source         string             `json:"source"`
	SourceEventID  string             `json:"source_event_id"`
	OccurredAt     time.Time          `json:"occurred_at"` // beginning of the occurrence
	Determination  wire.Determination `json:"determination"`

	Recipe         int        `json:"recipe,omitzero"` // 2
	TriggerVersion int        `json:"trigger_version,omitzero"`
	PayableFrom    *time.Time `json:"payable_from,omitzero"`
	ReadingsDigest string     `json:"readings_digest,omitzero"` // digest of the facts of a reading
	PaidDays       []DayRun   `json:"paid_days,omitempty"`      // at a station: days that other claims paid
}

// Steps are the numbers between the readings and the amount.
type Steps struct {
	Met         bool           `json:"met"`
	Reason      trigger.Reason `json:"reason"`
	MissedBy    string         `json:"missed_by"`    // distance of the index from the threshold; 0 if it was reached
	RadiusKM    *float64       `json:"radius_km"`    // radius in which the index was measured; null in a box and at a station
	OutsideKM   *float64       `json:"outside_km"`   // how far outside of the place; null inside
	LimitAmount money.Money    `json:"limit_amount"` // what the factor is a share of
}

// Reading is one version of an occurrence with the records of its source.
type Reading struct {
	Digest  string         `json:"digest"`  // of facts
	Facts   jsontext.Value `json:"facts"`   // a Facts, as it was hashed
	Records []SourceRecord `json:"records"` // of the observations that came from a feed or a file
}

// SourceRecord is the record of a feed behind one report of an observation.
type SourceRecord struct {
	ObservationVersion

	Record     string    `json:"record_base64"` // the source's bytes
	FileSHA256 string    `json:"file_sha256"`   // of the file that had it, hexadecimal
	FetchedAt  time.Time `json:"fetched_at"`
	Host       string    `json:"host"`
	Path       string    `json:"path"` // without the query, which may have a key
	// ReplayedFrom is the time in the record if the reading was moved to another time, as a
	// rehearsal does.
	ReplayedFrom *time.Time `json:"replayed_from,omitzero"`
}

// PolicyPayout is a payout as it was created.
type PolicyPayout struct {
	ID     string      `json:"id"`
	Amount money.Money `json:"amount"`
}

// EventLink is an event of the partner's feed without its data: enough to recompute its
// hash and to find it in the chain.
type EventLink struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"`
	OccurredAt   time.Time `json:"occurred_at"`
	Sequence     int64     `json:"sequence"`
	PreviousHash string    `json:"previous_hash"` // of the event before; 64 zeros for the first
	DataHash     string    `json:"data_hash"`     // SHA-256 of data as it was sent first
	Hash         string    `json:"hash"`
}
