package wire

import (
	"time"

	"parapet/model/hazard"
)

// Occurrence is one event in the world, formed by its observations: an earthquake, a
// storm with all its fixes, a wet spell, month or dekad at a station. It belongs to no
// partner.
type Occurrence struct {
	Header
	Source        string    `json:"source"`
	SourceEventID string    `json:"source_event_id"` // for rain <station>/<first day>, as first known
	Kind          string    `json:"kind"`            // earthquake, storm_fix, station_day
	OccurredAt    time.Time `json:"occurred_at"`     // the first moment; at a station the first day
	LastAt        time.Time `json:"last_at"`         // the last known moment; at a station the last day
	Stage         string    `json:"stage"`           // preliminary, final
	SourceVersion string    `json:"source_version"`  // grows with every change at the source
	MergedInto    *string   `json:"merged_into"`     // the occurrence it was merged into; null otherwise
	Station       *string   `json:"station"`         // null except at a station
	Definition    *string   `json:"definition"`      // definition of occurrences at the station, see trigger.Definition; null elsewhere
	Sandbox       bool      `json:"sandbox"`         // a rehearsal that only one partner sees

	Location    *hazard.Point `json:"location"`     // the epicentre, the storm's last position; null at a station
	MainMeasure *NamedMeasure `json:"main_measure"` // the magnitude, the strongest wind, the sum of rain, the number of hot or cold days
}

// NamedMeasure is a measured value with its name.
type NamedMeasure struct {
	Name string `json:"name"`
	Measure
}

// OccurrenceRelation is an operator's decision whether two occurrences are one event.
type OccurrenceRelation struct {
	Occurrence *Occurrence `json:"occurrence"`
	Other      *Occurrence `json:"other"`
	SameEvent  bool        `json:"same_event"`
}

// OccurrenceWatch is the data of the event occurrence.watch.
type OccurrenceWatch struct {
	Object *Occurrence `json:"object"`
	Covers int64       `json:"covers"` // of the partner that preliminary readings meet or nearly meet
}

// Explanation is the result of one occurrence, recorded or hypothetical, for one
// policy: paid or not, and every number that explains it.
type Explanation struct {
	Partner    string    `json:"partner"`
	PolicyID   string    `json:"policy_id"`
	Product    string    `json:"product"`
	OccurredAt time.Time `json:"occurred_at"` // the decisive moment
	Met        bool      `json:"met"`         // the trigger is met
	// Pays is whether money is owed: by the claim's decision if there is one, otherwise
	// by the decision that would be made now.
	Pays       bool        `json:"pays"`
	Index      *Measure    `json:"index"`     // null if nothing measured touched the place
	Threshold  Measure     `json:"threshold"` // the reached boundary, or the nearest missed one
	MissedBy   *Measure    `json:"missed_by"` // distance of the index from the threshold, or km outside the circle; null if neither was missed
	Factor     string      `json:"factor"`    // share of the limit, a decimal
	Amount     Money       `json:"amount"`    // factor × limit, by the terms
	Payable    Money       `json:"payable"`   // the part of the amount within the remaining limit, or the amount granted to the claim
	DistanceKM *float64    `json:"distance_km"`
	RadiusKM   *float64    `json:"radius_km"` // within which the index counts; null in a box and at a station
	Stage      string      `json:"stage"`     // preliminary, final
	Reasons    []string    `json:"reasons"`   // public reason codes
	Sentences  []string    `json:"sentences"` // the same in words, in reading order
	Claim      *ClaimBrief `json:"claim"`     // the claim for it, if any
}

// Exposure is the cost that an occurrence would have; nothing is stored.
type Exposure struct {
	OccurredAt time.Time       `json:"occurred_at"`
	Totals     []ExposureTotal `json:"totals"` // one per currency, ordered by currency
	Bands      []ExposureBand  `json:"bands"`  // by currency and band, without empty bands
}

// ExposureTotal holds the sums of one currency.
type ExposureTotal struct {
	Currency   string `json:"currency"`
	Touched    int    `json:"touched"`     // policies whose place it touches during their cover
	NearMisses int    `json:"near_misses"` // those of them whose trigger is not met
	Paying     int    `json:"paying"`      // claims that would be approved
	Owed       Money  `json:"owed"`        // factor × limit, summed
	Payable    Money  `json:"payable"`     // the part of it within the remaining limits
}

// ExposureBand sums the paying claims of one currency whose factor is above From and at
// most To, both shares of the limit.
type ExposureBand struct {
	Currency string `json:"currency"`
	From     string `json:"from"`
	To       string `json:"to"`
	Claims   int    `json:"claims"`
	Owed     Money  `json:"owed"`
	Payable  Money  `json:"payable"`
}

// OccurrenceProgress is how far an occurrence is matched, decided and paid, as the caller
// may see it: a partner sees its own policies only.
type OccurrenceProgress struct {
	OccurrenceID string         `json:"occurrence_id"` // after merges
	Version      int64          `json:"version"`       // of the occurrence
	Status       string         `json:"status"`        // waiting, deciding, complete
	Settled      bool           `json:"settled"`       // complete, and every payout has left, is blocked or was cancelled
	Candidates   int64          `json:"candidates"`    // policies that this version may affect; 0 while waiting
	Decided      int64          `json:"decided"`       // those of them that were decided
	ClaimsOpened int64          `json:"claims_opened"` // claims for the occurrence, of any status
	Lines        []ProgressLine `json:"lines"`         // by partner and currency
	HasMore      bool           `json:"has_more"`      // there are more lines than are shown
}

// ProgressLine is the progress of the policies of one partner and currency.
type ProgressLine struct {
	Partner      string `json:"partner"`
	Currency     string `json:"currency"`
	Candidates   int64  `json:"candidates"`
	Decided      int64  `json:"decided"`
	ClaimsOpened int64  `json:"claims_opened"`
	Owed         Money  `json:"owed"`     // by approved claims
	Pending      Money  `json:"pending"`  // payouts on their way or in doubt
	Blocked      Money  `json:"blocked"`  // payouts that wait for somebody
	Released     Money  `json:"released"` // paid and not returned
}
