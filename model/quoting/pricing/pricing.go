package pricing

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/money"
)

// Parameters are the price parameters of a product.
type Parameters struct {
	UncertaintyFactor decimal.Decimal // k in uncertainty_load = k·s/√N
	RiskFactor        decimal.Decimal // r in risk_load = r·s
	ExpenseShare      decimal.Decimal // of the premium
	CommissionShare   decimal.Decimal // of the premium
	MinimumPremium    int64           // minor units of the limit's currency
	MaximumRateOnLine decimal.Decimal // a higher rate is uninsurable
	SmoothingKM       decimal.Decimal // c, the standard deviation of the place's displacement; 0 smooths nothing
	ShortestTerm      string          // ISO 8601 duration; empty means a day
	FarthestStart     string          // ISO 8601 duration; empty means no bound
	Members           []string        // members of the context that a quote can set: radius_km, steps
}

// LineKind is the name of one part of a premium.
type LineKind string

const (
	// ExpectedLoss is the mean annual loss of the burn analysis.
	ExpectedLoss LineKind = "expected_loss"
	// UncertaintyLoad is the load for the uncertainty of the mean: k·s/√N.
	UncertaintyLoad LineKind = "uncertainty_load"
	// RiskLoad is the load for the variation around the mean: r·s.
	RiskLoad LineKind = "risk_load"
	// Expense is the share of the premium for running costs.
	Expense LineKind = "expense"
	// Commission is the partner's share of the premium; it gets the rounding remainder.
	Commission LineKind = "commission"
	// MinimumPremium is the difference to the product's minimum premium.
	MinimumPremium LineKind = "minimum_premium"
)

// Line is one part of the premium.
type Line struct {
	Kind   LineKind    `json:"kind"`
	Amount money.Money `json:"amount"`
}

// Price is the premium and the lines that sum to it, to the cent.
type Price struct {
	Premium    money.Money     `json:"premium"`
	Lines      []Line          `json:"lines"`
	RateOnLine decimal.Decimal `json:"rate_on_line"` // premium / limit
}

// Basis holds everything the price was computed from. Amounts in it are decimal strings
// of minor units, not rounded to whole ones; sums are shares of the limit. Members that
// only Formula 1 or only Formula 2 has are null or zero in the other's basis.
type Basis struct {
	Method                string          `json:"method"`
	Formula               int             `json:"formula"` // version; 0 in quotes stored before versions existed
	Dataset               string          `json:"dataset"`
	DatasetDigest         string          `json:"dataset_digest"` // "sha256:" and the digest of the data set's file
	FirstYear             int             `json:"first_year"`
	LastYear              int             `json:"last_year"`
	Years                 int             `json:"years"`                // N
	EventsInPlace         int             `json:"events_in_place"`      // touched the place, paying or not
	PayingEvents          int             `json:"paying_events"`        // would have paid at the place
	WeighedEvents         int             `json:"weighed_events"`       // number of events that count in the price
	EventsWithoutDepth    int             `json:"events_without_depth"` // of the weighed ones
	SmoothingKM           decimal.Decimal `json:"smoothing_km"`         // c
	AnnualShareSum        decimal.Decimal `json:"annual_share_sum"`     // Σ L_y
	SquareSum             decimal.Decimal `json:"square_sum"`           // Σ s_i
	WeightSum             decimal.Decimal `json:"weight_sum"`           // Σ a_i
	LargestFactor         decimal.Decimal `json:"largest_factor"`       // F
	PriorShare            decimal.Decimal `json:"prior_share"`          // q, season included
	SeasonShare           decimal.Decimal `json:"season_share"`         // of the year, at most 1
	ExpectedLoss          decimal.Decimal `json:"expected_loss"`
	StandardDeviation     decimal.Decimal `json:"standard_deviation"` // s
	EventRate             decimal.Decimal `json:"event_rate"`         // λ
	AttachmentProbability decimal.Decimal `json:"attachment_probability"`
	ReturnPeriodYears     decimal.Decimal `json:"return_period_years"`
	UncertaintyFactor     decimal.Decimal `json:"uncertainty_factor"` // k
	RiskFactor            decimal.Decimal `json:"risk_factor"`        // r
	ExpenseShare          decimal.Decimal `json:"expense_share"`
	CommissionShare       decimal.Decimal `json:"commission_share"`
	MinimumPremium        money.Money     `json:"minimum_premium"`
	MaximumRateOnLine     decimal.Decimal `json:"maximum_rate_on_line"`
	Season                *Season         `json:"season"` // nil when the term covers the whole year
	Notes                 []string        `json:"notes"`

	// Figures of a quote of formula 1; nil in others.
	MeanSeverity        *decimal.Decimal `json:"mean_severity"`
	AnnualLossSum       *decimal.Decimal `json:"annual_loss_sum"`
	AnnualLossSquareSum *decimal.Decimal `json:"annual_loss_square_sum"`
}

// Season is the part of the calendar year that prices a cover shorter than a year:
// month and day (MM-DD) in UTC, first day included, last excluded.
type Season struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// PastEvent is one historical event that would have paid.
type PastEvent struct {
	OccurredAt    time.Time       `json:"occurred_at"`
	Source        string          `json:"source"`
	SourceEventID string          `json:"source_event_id"`
	Index         hazard.Measure  `json:"index"`
	DistanceKM    *float64        `json:"distance_km"` // kilometres, two decimals; null at a station
	Factor        decimal.Decimal `json:"factor"`
	Payout        money.Money     `json:"payout"`
}
