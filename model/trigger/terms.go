// Package trigger decides whether what was measured meets what was agreed, and
// how much is owed. It is one pure function of cover and occurrence, so that a
// stranger with both can repeat every decision.
package trigger

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/money"
)

// Cover is everything that binds: the quote shows it, the policy keeps it, and
// its canonical JSON is hashed into terms_hash.
type Cover struct {
	Limit    money.Money `json:"limit"`     // most that is ever paid under the policy
	StartsAt *time.Time  `json:"starts_at"` // nil: cover starts at the instant of binding
	Term     string      `json:"term"`      // ISO 8601 duration, P365D
	// WaitingPeriod after the start of cover in which occurrences never pay (ISO 8601).
	WaitingPeriod string `json:"waiting_period"`
	// ReportingWindow after the end of cover in which claims may still open (ISO 8601).
	ReportingWindow string  `json:"reporting_window"`
	Place           Place   `json:"place"`
	Trigger         Trigger `json:"trigger"`
	Payout          Payout  `json:"payout"`
}

// PlaceKind is the shape of the insured place.
type PlaceKind string

const (
	// Circle is a circle on the sphere around a point.
	Circle PlaceKind = "circle"
	// AtStation is one weather station.
	AtStation PlaceKind = "station"
)

// Place is where something must happen. A circle has a centre and a radius; a
// station has a name.
type Place struct {
	Kind      PlaceKind `json:"kind"`
	Latitude  float64   `json:"latitude,omitzero"`
	Longitude float64   `json:"longitude,omitzero"`
	RadiusKM  float64   `json:"radius_km,omitzero"`
	Station   string    `json:"station,omitzero"`
}

// MarshalJSON is MarshalJSONTo for other encoders.
func (p Place) MarshalJSON() ([]byte, error) { return json.Marshal(p) }

// MarshalJSONTo writes what belongs to the kind: a circle on the equator has a
// latitude of 0, not none.
func (p Place) MarshalJSONTo(out *jsontext.Encoder) error {
	if p.Kind != Circle {
		type bare Place
		return json.MarshalEncode(out, bare(p))
	}
	return json.MarshalEncode(out, struct {
		Kind      PlaceKind `json:"kind"`
		Latitude  float64   `json:"latitude"`
		Longitude float64   `json:"longitude"`
		RadiusKM  float64   `json:"radius_km"`
	}{p.Kind, p.Latitude, p.Longitude, p.RadiusKM})
}

// Center is the circle's centre.
func (p Place) Center() hazard.Point {
	return hazard.Point{Latitude: p.Latitude, Longitude: p.Longitude}
}

// Direction tells on which side of a threshold the trigger is met.
type Direction string

const (
	// AtLeast is met by an index at or above the threshold (above it when strict).
	AtLeast Direction = "at_least"
	// AtMost is met by an index at or below the threshold (below it when strict).
	AtMost Direction = "at_most"
)

// WindRule tells which wind a track segment has.
type WindRule string

const (
	// LargerOfEnds takes the larger wind of the segment's two fixes.
	LargerOfEnds WindRule = "larger_of_ends"
	// Interpolated takes the wind at the closest point, linear along the segment.
	Interpolated WindRule = "interpolated"
)

// Stage is how settled a measurement is.
type Stage string

const (
	// Preliminary measurements may still be revised.
	Preliminary Stage = "preliminary"
	// Final measurements are what the source stands by.
	Final Stage = "final"
	// Retracted measurements were withdrawn by their source and are never judged.
	Retracted Stage = "retracted"
)

// Trigger says what is measured and when it counts.
type Trigger struct {
	Kind      hazard.Kind `json:"kind"`  // which observations are looked at
	Index     string      `json:"index"` // magnitude, sustained_wind, precipitation_sum
	Unit      string      `json:"unit"`  // mw, kn, mm
	Direction Direction   `json:"direction"`
	// Strict leaves the boundary itself out; the field's habit, and ours, is to
	// include it.
	Strict    bool  `json:"strict"`
	DecidesOn Stage `json:"decides_on"` // final, or preliminary where the product decides at once
	// MaximumDepthKM leaves deeper earthquakes out, boundary included. A source
	// that gives no depth is taken as within it.
	MaximumDepthKM *decimal.Decimal `json:"maximum_depth_km,omitempty"`
	// Wind is the rule for a storm's segments.
	Wind WindRule `json:"wind,omitzero"`
	// MaximumGapHours is the longest time between two fixes that still makes a segment.
	MaximumGapHours int `json:"maximum_gap_hours,omitzero"`
	// Days is the largest number of consecutive days of a wet spell whose precipitation
	// is summed.
	Days int `json:"days,omitzero"`
	// WetMM is the least precipitation of a wet day, in millimetres. Together with
	// DryDays it defines the wet spells of a trigger at_least.
	WetMM *decimal.Decimal `json:"wet_mm,omitempty"`
	// DryDays is the number of consecutive days below WetMM that ends a wet spell.
	DryDays int `json:"dry_days,omitzero"`
	// Calendar is the period whose precipitation a trigger at_most sums.
	Calendar Calendar `json:"calendar,omitzero"`
}

// Shape is how an index becomes a share of the limit.
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

// Ring is a step table of its own for the part of a circle within RadiusShare
// of its radius (0 < share ≤ 1). The outermost ring has share 1; a place is
// paid by the best ring that was reached.
type Ring struct {
	RadiusShare decimal.Decimal `json:"radius_share"`
	Steps       []Rung          `json:"steps"`
}

// Payout turns an index into a share of the limit. Which members are set
// follows from the shape; Validate tells. Steps and rings go from the mildest
// to the severest threshold, so a deficit's thresholds descend.
//
// The members are omitempty and not omitzero, which would drop a decimal of 0:
// a drought cover is exhausted at 0 mm.
type Payout struct {
	Shape     Shape            `json:"shape"`
	Threshold *decimal.Decimal `json:"threshold,omitempty"`  // lump
	Steps     []Rung           `json:"steps,omitzero"`       // step, without rings
	Rings     []Ring           `json:"rings,omitzero"`       // step, concentric
	Attach    *decimal.Decimal `json:"attach,omitempty"`     // linear, tick
	Exhaust   *decimal.Decimal `json:"exhaust,omitempty"`    // linear
	TickSize  *decimal.Decimal `json:"tick_size,omitempty"`  // tick, in units of the index
	TickShare *decimal.Decimal `json:"tick_share,omitempty"` // tick, share of the limit a tick
}

// Period is the half-open time [From, To) in which occurrences count.
type Period struct{ From, To time.Time }

// Contains tells whether t lies in the period.
func (p Period) Contains(t time.Time) bool { return !t.Before(p.From) && t.Before(p.To) }

// Occurrence is one thing that happened, as the source tells it at one version.
// Exactly one of Quake, Storm and Rain is set.
type Occurrence struct {
	Source        string
	SourceEventID string
	SourceVersion string
	Stage         Stage
	Quake         *hazard.Quake
	Storm         *hazard.Storm
	Rain          *RainOccurrence
	// Unit is what the index was measured in, where it is not the terms' own: the
	// scale of an earthquake's magnitude. It is told, not judged.
	Unit string
}

// Reason is a public reason code.
type Reason string

const (
	// ThresholdMet is the only reason to pay: touched, in time, far enough.
	ThresholdMet Reason = "threshold_met"
	// ThresholdNotMet touched the place in time, but pays no share of the limit.
	ThresholdNotMet Reason = "threshold_not_met"
	// OutsidePeriod touched the place before the cover or after it.
	OutsidePeriod Reason = "outside_period"
	// OutsidePlace came not close enough, or too deep, or with nothing measured.
	OutsidePlace Reason = "outside_place"
	// WaitingPeriod touched the place in the cover's first time, which never pays.
	WaitingPeriod Reason = "waiting_period"
	// EvidenceNeeded is the answer for a month or dekad that is over, would pay by the
	// days that are known, and lacks others.
	EvidenceNeeded Reason = "evidence_needed"
	// SourcePreliminary is the answer for a month or dekad that would pay by the days
	// that are known, while days are still to come or to become final.
	SourcePreliminary Reason = "source_preliminary"
)

// Determination is what the trigger says of one cover and one occurrence.
type Determination struct {
	Met        bool
	Reason     Reason
	OccurredAt time.Time        // the moment that counts: the quake, the storm's decisive moment, the last day that makes up the index
	Index      *decimal.Decimal // nil when nothing measured touched the place
	Threshold  decimal.Decimal  // the boundary reached, or the nearest one that was missed
	Missed     decimal.Decimal  // how far the index is from that boundary; 0 when it is reached
	Factor     decimal.Decimal  // share of the limit, at most 18 decimals for display; 0 unless met
	Amount     int64            // minor units of the limit's currency, rounded once, half up
	DistanceKM *float64         // of the decisive measurement from the centre, or the closest approach outside; 2 decimals; nil at a station
	RadiusKM   *float64         // the radius within which the decisive index was measured; nil at a station
	// Stage is Final when no reading that the cover counts is preliminary and, at a
	// station, no reading is to come that can change the index.
	Stage Stage
	// FirstDay and LastDay are the days at a station that make up the index, both
	// included; zero for other perils and where no day counts.
	FirstDay, LastDay time.Time
}
