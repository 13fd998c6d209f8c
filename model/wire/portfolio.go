package wire

import (
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// BookLine sums policies of one currency. Product, partner and cell are null unless the
// lines are grouped by them.
type BookLine struct {
	Product  *string    `json:"product"`
	Partner  *string    `json:"partner"`
	Cell     *PlaceCell `json:"cell"`
	Currency string     `json:"currency"`

	PoliciesInForce int64 `json:"policies_in_force"`
	LimitAtRisk     Money `json:"limit_at_risk"`    // their remaining limits
	PremiumInForce  Money `json:"premium_in_force"` // their whole premium

	PoliciesBound  int64   `json:"policies_bound"`  // in the period
	PremiumWritten Money   `json:"premium_written"` // premium of the bound policies
	Paid           Money   `json:"paid"`            // released under them and not returned, at any time
	Reserved       Money   `json:"reserved"`        // owed under them and not yet paid
	LossRatio      *string `json:"loss_ratio"`      // (paid + reserved) / premium written, four decimals; null without premium
}

// PlaceCell is the location of policies: a cell of one degree, or a station.
type PlaceCell struct {
	Name      string  `json:"name"`      // N23E121 by the south-west corner, or the station
	Latitude  *int    `json:"latitude"`  // of the south-west corner; null for a station
	Longitude *int    `json:"longitude"` // -180 to 179; null for a station
	Station   *string `json:"station"`   // null for a cell
}

// CoverMap is the covers of a map: one by one when there are few, or else sums by cell.
type CoverMap struct {
	CellDegrees float64    `json:"cell_degrees"` // size of the cells
	Policies    int64      `json:"policies"`     // in the box
	Covers      []MapCover `json:"covers"`       // empty when there are cells
	Cells       []MapCell  `json:"cells"`        // empty when there are covers
}

// MapCover is a policy on a map.
type MapCover struct {
	PolicyID string        `json:"policy_id"`
	Partner  string        `json:"partner"`
	Product  string        `json:"product"`
	Peril    string        `json:"peril"`
	Place    trigger.Place `json:"place"`
	Limit    Money         `json:"limit"`
}

// MapCell sums the policies of a cell of a map.
type MapCell struct {
	West     float64      `json:"west"`   // western border
	South    float64      `json:"south"`  // southern border
	Center   hazard.Point `json:"center"` // the mean of the middles of their places
	Policies int64        `json:"policies"`
	Limits   []Money      `json:"limits"` // one for each currency
}

// StatusFigure is the count and sum of records of one status and currency.
type StatusFigure struct {
	Status string `json:"status"`
	Count  int64  `json:"count"`
	Amount Money  `json:"amount"`
}

// Series holds the figures of one currency over time, with every bucket.
type Series struct {
	Currency string        `json:"currency"`
	Points   []SeriesPoint `json:"points"` // oldest first
}

// SeriesPoint is one day, ISO week or month in UTC, cut to the requested period.
type SeriesPoint struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // exclusive

	PoliciesBound   int64   `json:"policies_bound"`
	PremiumWritten  Money   `json:"premium_written"`
	ClaimsOpened    int64   `json:"claims_opened"`
	ClaimsApproved  Money   `json:"claims_approved"`  // owed by claims whose last approval lies in this bucket
	PayoutsReleased Money   `json:"payouts_released"` // sent by the rail, including those returned later
	LossRatio       *string `json:"loss_ratio"`       // of the policies bound in this bucket, whenever they paid
}

// DoubtFigure is money that has not arrived and is not on its way: payouts of one
// status and currency in an age range.
type DoubtFigure struct {
	Status    string  `json:"status"`     // reconciling, blocked
	OlderThan string  `json:"older_than"` // ISO 8601, inclusive
	Under     *string `json:"under"`      // ISO 8601; null for the oldest
	Count     int64   `json:"count"`
	Amount    Money   `json:"amount"`
}
