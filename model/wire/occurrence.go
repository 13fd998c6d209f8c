package wire

import "time"

// Occurrence is one thing that happened, by whatever observations: a quake, a
// storm with all its fixes, a wet spell, month or dekad at a station. It belongs to no
// partner.
type Occurrence struct {
	Header
	Source        string    `json:"source"`
	SourceEventID string    `json:"source_event_id"` // for rain <station>/<first day>, as it was first known
	Kind          string    `json:"kind"`            // earthquake, storm_fix, station_day
	OccurredAt    time.Time `json:"occurred_at"`     // the first moment; at a station the first day
	LastAt        time.Time `json:"last_at"`         // the last moment known; at a station the last day
	Stage         string    `json:"stage"`           // preliminary, final
	SourceVersion string    `json:"source_version"`  // grows with everything the source says
	MergedInto    *string   `json:"merged_into"`     // the occurrence it turned out to be; null while it stands for itself
	Station       *string   `json:"station"`         // null but for rain
	Definition    *string   `json:"definition"`      // what one occurrence at the station is: month, dekad or spell/<wet_mm>/<dry_days>; null but for rain
	Sandbox       bool      `json:"sandbox"`         // rehearsed: seen by one partner only
}

// Explanation is what one occurrence, past or as if, means for one policy: paid
// or not, and every number needed to see why.
type Explanation struct {
	Partner    string    `json:"partner"`
	PolicyID   string    `json:"policy_id"`
	Product    string    `json:"product"`
	OccurredAt time.Time `json:"occurred_at"` // the moment that counts
	Met        bool      `json:"met"`         // the trigger is met
	// Pays tells whether money is owed: by the claim's decision where there is one,
	// else by what would be decided now.
	Pays       bool        `json:"pays"`
	Index      *Measure    `json:"index"`     // null when nothing measured touched the place
	Threshold  Measure     `json:"threshold"` // the boundary reached, or the nearest one missed
	MissedBy   *Measure    `json:"missed_by"` // how far the index is from the threshold, or how many km outside the circle it happened; null when neither was missed
	Factor     string      `json:"factor"`    // share of the limit, a decimal
	Amount     Money       `json:"amount"`    // factor × limit, by the terms
	Payable    Money       `json:"payable"`   // of the amount, what the limit still holds, or what the claim was granted
	DistanceKM *float64    `json:"distance_km"`
	RadiusKM   *float64    `json:"radius_km"` // within which the index counts; null at a station
	Stage      string      `json:"stage"`     // preliminary, final
	Reasons    []string    `json:"reasons"`   // public reason codes
	Sentences  []string    `json:"sentences"` // the same for people, in reading order
	Claim      *ClaimBrief `json:"claim"`     // the claim that was made of it, if any
}

// Exposure is what an occurrence would cost, without anything being written.
type Exposure struct {
	OccurredAt time.Time       `json:"occurred_at"`
	Totals     []ExposureTotal `json:"totals"` // one a currency, in order of currency
	Bands      []ExposureBand  `json:"bands"`  // by currency and band, empty bands left out
}

// ExposureTotal sums one currency.
type ExposureTotal struct {
	Currency   string `json:"currency"`
	Touched    int    `json:"touched"`     // policies whose place it touches in their time
	NearMisses int    `json:"near_misses"` // of them, those whose trigger is not met
	Paying     int    `json:"paying"`      // claims that would be approved
	Owed       Money  `json:"owed"`        // factor × limit, summed
	Payable    Money  `json:"payable"`     // of it, what the limits still hold
}

// ExposureBand sums the paying claims of one currency whose factor lies above
// From and not above To, both shares of the limit.
type ExposureBand struct {
	Currency string `json:"currency"`
	From     string `json:"from"`
	To       string `json:"to"`
	Claims   int    `json:"claims"`
	Owed     Money  `json:"owed"`
	Payable  Money  `json:"payable"`
}
