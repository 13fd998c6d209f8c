package trigger

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/money"
)

// Cover holds all binding terms: the quote shows it, the policy stores it, and its
// canonical JSON is hashed into terms_hash.
type Cover struct {
	Limit    money.Money `json:"limit"`     // maximum total payout of the policy
	StartsAt *time.Time  `json:"starts_at"` // nil: cover starts at the instant of binding
	Term     string      `json:"term"`      // ISO 8601 duration, P365D
	// WaitingPeriod is the time after the start of cover in which occurrences never pay
	// (ISO 8601).
	WaitingPeriod string `json:"waiting_period"`
	// ReportingWindow is the time after the end of cover in which claims may still be
	// opened (ISO 8601).
	ReportingWindow string  `json:"reporting_window"`
	Place           Place   `json:"place"`
	Trigger         Trigger `json:"trigger"`
	Payout          Payout  `json:"payout"`
	// Measurement names the sources that decide. Nil: policies bound before products had
	// one, for which every source of their peril decides.
	Measurement *Measurement `json:"measurement,omitempty"`
}

// Direction is the side of a threshold on which the trigger is met.
type Direction string

const (
	// AtLeast: met by an index at or above the threshold (above it if strict).
	AtLeast Direction = "at_least"
	// AtMost: met by an index at or below the threshold (below it if strict).
	AtMost Direction = "at_most"
)

// WindRule defines the wind of a track segment.
type WindRule string

const (
	// LargerOfEnds uses the larger wind of the segment's two fixes.
	LargerOfEnds WindRule = "larger_of_ends"
	// Interpolated uses the wind at the closest point, linear along the segment.
	Interpolated WindRule = "interpolated"
)

// Stage is the finality of a measurement.
type Stage string

const (
	// Preliminary measurements may still be revised.
	Preliminary Stage = "preliminary"
	// Final measurements are confirmed by the source.
	Final Stage = "final"
	// Retracted measurements were withdrawn by their source and are never evaluated.
	Retracted Stage = "retracted"
)

// Trigger defines what is measured and when it counts.
type Trigger struct {
	Kind      hazard.Peril `json:"kind"`  // what the cover insures against
	Index     string       `json:"index"` // magnitude, sustained_wind, central_pressure, precipitation_sum, hot_days, cold_days
	Unit      string       `json:"unit"`  // mw, kn, mb, mm, days
	Direction Direction    `json:"direction"`
	// Strict excludes the boundary itself; the market's practice, and the default, is
	// to include it.
	Strict    bool  `json:"strict"`
	DecidesOn Stage `json:"decides_on"` // final, or preliminary if the product decides at once
	// MaximumDepthKM excludes deeper earthquakes; a depth equal to it counts. An
	// earthquake without a depth counts as within it.
	MaximumDepthKM *decimal.Decimal `json:"maximum_depth_km,omitempty"`
	// Wind is the rule for the wind of a storm's segments.
	Wind WindRule `json:"wind,omitzero"`
	// MaximumGapHours is the longest time between two fixes that form a segment.
	MaximumGapHours int `json:"maximum_gap_hours,omitzero"`
	// Days is the maximum number of consecutive days of a wet spell whose precipitation
	// is summed.
	Days int `json:"days,omitzero"`
	// WetMM is the minimum precipitation of a wet day, in millimetres. Together with
	// DryDays it defines the wet spells of a trigger at_least.
	WetMM *decimal.Decimal `json:"wet_mm,omitempty"`
	// DryDays is the number of consecutive days below WetMM that ends a wet spell.
	DryDays int `json:"dry_days,omitzero"`
	// Calendar is the period whose precipitation a trigger at_most sums.
	Calendar Calendar `json:"calendar,omitzero"`
	// DegreesC is the temperature, in degrees Celsius, from which a day counts as hot, or
	// down to which as cold; the temperature itself counts.
	DegreesC *decimal.Decimal `json:"degrees_c,omitempty"`
	// SeasonFrom and SeasonTo are the first and the last day of the season whose days are
	// counted: MM-DD, both included.
	SeasonFrom *string `json:"season_from,omitempty"`
	SeasonTo   *string `json:"season_to,omitempty"`
}

// Shape is the rule that turns an index into a share of the limit.
type Shape string

const (
	// Lump pays the whole limit at the threshold.
	Lump Shape = "lump"
	// Step pays the factor of the highest threshold reached.
	Step Shape = "step"
	// Linear pays clamp((x − attach) / (exhaust − attach), 0, 1).
	Linear Shape = "linear"
	// Tick pays a factor for each whole tick beyond attach, up to the limit.
	Tick Shape = "tick"
)

// Rung is one line of a step table.
type Rung struct {
	Threshold decimal.Decimal `json:"threshold"`
	Factor    decimal.Decimal `json:"factor"` // share of the limit, 0 < factor ≤ 1
}

// Ring is a separate step table for the part of a circle within RadiusShare of its
// radius (0 < share ≤ 1). The outermost ring has share 1; the best reached ring pays.
type Ring struct {
	RadiusShare decimal.Decimal `json:"radius_share"`
	Steps       []Rung          `json:"steps"`
}

// Payout turns an index into a share of the limit. The shape determines which members
// are set; Validate checks them. Steps and rings are ordered by rising severity, so a
// deficit's thresholds descend.
//
// The members are omitempty and not omitzero, which would drop a decimal of 0: a
// drought cover is exhausted at 0 mm.
type Payout struct {
	Shape     Shape            `json:"shape"`
	Threshold *decimal.Decimal `json:"threshold,omitempty"`  // lump
	Steps     []Rung           `json:"steps,omitzero"`       // step, without rings
	Rings     []Ring           `json:"rings,omitzero"`       // step, concentric
	Attach    *decimal.Decimal `json:"attach,omitempty"`     // linear, tick
	Exhaust   *decimal.Decimal `json:"exhaust,omitempty"`    // linear
	TickSize  *decimal.Decimal `json:"tick_size,omitempty"`  // tick, in units of the index
	TickShare *decimal.Decimal `json:"tick_share,omitempty"` // tick, share of the limit per tick
}

// Period is the half-open time [From, To) in which occurrences count.
type Period struct{ From, To time.Time }

// Contains reports whether t lies in the period.
func (p Period) Contains(t time.Time) bool { return !t.Before(p.From) && t.Before(p.To) }

// Occurrence is one occurrence in one version of the source's data. Exactly one of
// Quake, Storm and AtStation is set.
type Occurrence struct {
	Source        string
	SourceEventID string
	SourceVersion string
	Stage         Stage
	Quake         *hazard.Quake
	Storm         *hazard.Storm
	AtStation     *StationOccurrence
	// Unit is the unit of the measured index, if it is not the terms' own: the scale of
	// an earthquake's magnitude. It is shown and has no effect on the evaluation.
	Unit string
}

// Reason is a public reason code.
type Reason string

const (
	// ThresholdMet is the only reason to pay: the occurrence touched the place in time
	// and reached the threshold.
	ThresholdMet Reason = "threshold_met"
	// ThresholdNotMet: it touched the place in time, but pays no share of the limit.
	ThresholdNotMet Reason = "threshold_not_met"
	// OutsidePeriod: it touched the place before or after the cover.
	OutsidePeriod Reason = "outside_period"
	// OutsidePlace: it was too far away, too deep, a storm of another basin, or without a
	// measurement.
	OutsidePlace Reason = "outside_place"
	// WaitingPeriod: it touched the place in the waiting period, which never pays.
	WaitingPeriod Reason = "waiting_period"
	// EvidenceNeeded: a month or dekad is over and would pay by its known days, but
	// days are missing.
	EvidenceNeeded Reason = "evidence_needed"
	// SourcePreliminary: a month or dekad would pay by its known days, but days are
	// still to come or to become final.
	SourcePreliminary Reason = "source_preliminary"
	// SourceNotNamed: the terms do not name the source that reported it.
	SourceNotNamed Reason = "source_not_named"
)

// Determination is the result of the trigger for one cover and one occurrence.
type Determination struct {
	Met        bool
	Reason     Reason
	OccurredAt time.Time        // the decisive moment: the earthquake, the storm's decisive moment, the last day of the index
	Index      *decimal.Decimal // nil if nothing measured touched the place
	Threshold  decimal.Decimal  // the reached boundary, or the nearest missed one
	Missed     decimal.Decimal  // distance of the index from that boundary; 0 if reached
	Factor     decimal.Decimal  // share of the limit, at most 18 decimals for display; 0 unless met
	Amount     int64            // minor units of the limit's currency, rounded once, half up
	DistanceKM *float64         // distance of the decisive measurement from the centre, or the closest approach outside; 2 decimals; nil at a station
	RadiusKM   *float64         // the radius within which the decisive index was measured; nil in a box and at a station
	OutsideKM  *float64         // how far outside of the place the occurrence was, if nothing was measured there; 2 decimals; nil at a station
	// Stage is Final if no counting observation is preliminary and, at a station, no
	// future observation can change the index.
	Stage Stage
	// FirstDay and LastDay are the days at a station that form the index, both
	// included; zero for other perils and if no day counts.
	FirstDay, LastDay time.Time
}
