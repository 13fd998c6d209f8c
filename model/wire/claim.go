package wire

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
)

// OccurrenceBrief is the occurrence shown in a claim.
type OccurrenceBrief struct {
	ID            string    `json:"id"`
	Source        string    `json:"source"`
	SourceEventID string    `json:"source_event_id"`
	OccurredAt    time.Time `json:"occurred_at"` // beginning, as known at the determination
}

// Determination is the result of the trigger for a policy and an occurrence.
type Determination struct {
	Index         *Measure  `json:"index"`       // null if nothing touched the place
	Threshold     Measure   `json:"threshold"`   // the reached boundary, or the nearest missed one
	OccurredAt    time.Time `json:"occurred_at"` // the decisive moment: the earthquake, the storm's decisive moment, the last day of the index
	DistanceKM    *float64  `json:"distance_km"` // from the centre of the circle or box, two decimals
	Factor        string    `json:"factor"`      // share of the limit, a decimal
	Amount        Money     `json:"amount"`      // factor × limit, rounded once, half up
	Stage         string    `json:"stage"`       // preliminary, final
	FirstDay      *string   `json:"first_day"`   // of the days at a station that form the index, 2027-01-01; null for other perils
	LastDay       *string   `json:"last_day"`    // inclusive
	SourceVersion string    `json:"source_version"`
	TermsHash     string    `json:"terms_hash"`
	ReceiptHash   string    `json:"receipt_hash"` // sha256 of terms, facts and result in canonical JSON
	// Measurement is what the rule of the terms made of the sources' readings; left out when
	// the terms do not name several sources, unless the long stop ended the wait for one.
	Measurement *MeasurementResult `json:"measurement,omitzero"`
}

// MeasurementResult is what the rule of the terms made of the readings of the sources.
type MeasurementResult struct {
	State          string          `json:"state"`           // waiting, selected, fallback, kept, operator, stopped
	SelectedSource *string         `json:"selected_source"` // whose determination counts; null without one
	EvaluatedAt    time.Time       `json:"evaluated_at"`
	DeadlineAt     time.Time       `json:"deadline_at"` // end of the wait
	LongStopAt     time.Time       `json:"long_stop_at"`
	Sources        []SourceReading `json:"sources"` // that reported, in order of rank
}

// HasReadingsOf reports whether another result has the same readings, and counts the same
// of them.
func (m *MeasurementResult) HasReadingsOf(other *MeasurementResult) bool {
	return other != nil && slices.EqualFunc(m.Sources, other.Sources, func(a, b SourceReading) bool {
		return a.ReadingsDigest == b.ReadingsDigest && (a.CountedAt == nil) == (b.CountedAt == nil)
	})
}

// SourceReading is what one source reported of an event and would alone have paid.
type SourceReading struct {
	Source         string     `json:"source"`
	SourceEventID  string     `json:"source_event_id"`
	SourceVersion  string     `json:"source_version"`
	Stage          string     `json:"stage"`      // preliminary, final
	CountedAt      *time.Time `json:"counted_at"` // when it had the stage that counts; null before
	EndedAt        time.Time  `json:"ended_at"`   // end of the occurrence by this source
	Index          *Measure   `json:"index"`      // null if nothing touched the place
	Amount         Money      `json:"amount"`     // what this source alone would owe
	Reason         string     `json:"reason"`     // of its determination alone
	Used           bool       `json:"used"`       // by the rule
	ReadingsDigest string     `json:"readings_digest"`
}

// Decision is the decision on a claim.
type Decision struct {
	Outcome      string     `json:"outcome"` // approved, deferred, declined
	ReasonCodes  []string   `json:"reason_codes"`
	DecidedAt    time.Time  `json:"decided_at"`
	NextReviewAt *time.Time `json:"next_review_at"`
}

// Claim is a claim for money under a policy because of an occurrence.
type Claim struct {
	Header
	References
	PolicyID        string           `json:"policy_id"`
	Status          string           `json:"status"` // opened, approved, deferred, declined, withdrawn, closed
	Origin          string           `json:"origin"` // trigger, approval
	Description     *string          `json:"description"`
	Occurrence      *OccurrenceBrief `json:"occurrence"`    // null for origin approval
	Determination   *Determination   `json:"determination"` // null for origin approval
	RequestedAmount *Money           `json:"requested_amount"`
	Amount          *Money           `json:"amount"`   // owed; null until decided
	Decision        *Decision        `json:"decision"` // null until decided
	Payouts         []Payout         `json:"payouts"`  // the newest 20, oldest first
	PayoutsCount    int64            `json:"payouts_count"`
	OpenedAt        time.Time        `json:"opened_at"`
	ClosedAt        *time.Time       `json:"closed_at"`
	// MeasurementState is computed when the claim is read; absent in most events, and when
	// the terms of the policy have no measurement or the claim no occurrence.
	MeasurementState *MeasurementState `json:"measurement_state,omitzero"`
}

// MeasurementState is how far the sources of a policy's terms have come for a claim.
type MeasurementState struct {
	Sources        []SourceState `json:"sources"`         // those of the terms in order of rank, then others that reported
	SelectedSource *string       `json:"selected_source"` // null while none is selected
	DecisionDueAt  *time.Time    `json:"decision_due_at"` // null once decided
	PayoutDueAt    *time.Time    `json:"payout_due_at"`   // null when nothing is owed or all is paid
	LongStopAt     time.Time     `json:"long_stop_at"`
	Challenge      *Challenge    `json:"challenge"` // the newest; null without one
}

// SourceState is what one source alone reports for a claim.
type SourceState struct {
	Source string   `json:"source"`
	State  string   `json:"state"`  // reported, waiting, late, not_applicable
	Index  *Measure `json:"index"`  // null without a reading in the place
	Amount *Money   `json:"amount"` // what the source alone would owe; null without a reading
}

// Challenge is a partner's challenge of the decision on a claim.
type Challenge struct {
	Status      string     `json:"status"` // open, rejected, accepted
	OpenedAt    time.Time  `json:"opened_at"`
	DecidedAt   *time.Time `json:"decided_at"`
	ReasonCodes []string   `json:"reason_codes"` // challenge_accepted, challenge_rejected; empty while it is open
}

// TimelineEntry is an entry of a claim's timeline, or a change of a policy itself.
type TimelineEntry struct {
	Header
	ClaimID  *string        `json:"claim_id"` // null for a change of the policy itself
	Sequence int64          `json:"sequence"` // 1, 2, 3 … without gaps, per claim and for the policy itself
	Kind     string         `json:"kind"`     // an event type, or trigger.observed
	At       time.Time      `json:"at"`
	Actor    Actor          `json:"actor"`
	Summary  string         `json:"summary"`
	Data     jsontext.Value `json:"data"`
	EventID  *string        `json:"event_id"` // null only for trigger.observed
}

// These are the data of the timeline entries that a large event writes for each claim. The
// members are in the order of their names, as in the data of all entries.
type (
	// ObservedData is the data of the entry for the observed event, the first one.
	ObservedData struct {
		DistanceKM    *float64         `json:"distance_km"`
		Index         *Measure         `json:"index"`
		Occurrence    *OccurrenceBrief `json:"occurrence"`
		SourceVersion string           `json:"source_version"`
		Stage         trigger.Stage    `json:"stage"`
	}
	// DeterminationData is the data of the entry for a claim that was opened or determined
	// again.
	DeterminationData struct {
		Determination *Determination `json:"determination"`
	}
	// DecisionData is the data of the entry for a decision.
	DecisionData struct {
		Amount   *Money    `json:"amount"`
		Decision *Decision `json:"decision"`
	}
	// IncreaseData is the data of the entry for a claim that is owed more, because the
	// occurrence grew or the source revised it.
	IncreaseData struct {
		Amount        *Money         `json:"amount"`
		Determination *Determination `json:"determination"`
	}
	// PayoutData is the data of the entry for an event of a payout.
	PayoutData struct {
		Amount            Money   `json:"amount"`
		BlockedReason     *string `json:"blocked_reason"`
		PayoutID          string  `json:"payout_id"`
		ProviderReference *string `json:"provider_reference"`
		Status            string  `json:"status"`
	}
)

// Attachment is a document that belongs to a claim.
type Attachment struct {
	Header
	ClaimID     string  `json:"claim_id"`
	FileName    string  `json:"file_name"`
	ContentType string  `json:"content_type"`
	Size        int64   `json:"size"`   // bytes
	SHA256      string  `json:"sha256"` // hexadecimal
	Purpose     *string `json:"purpose"`
	Description *string `json:"description"`
	Status      string  `json:"status"` // stored
	DownloadURL string  `json:"download_url"`
}

// Message is one message of the conversation about a claim.
type Message struct {
	Header
	ClaimID string `json:"claim_id"`
	Author  Actor  `json:"author"`
	Body    string `json:"body"`
}
