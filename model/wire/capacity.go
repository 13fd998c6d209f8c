package wire

import (
	"time"

	"github.com/shopspring/decimal"
)

// Capacity is the maximum amount at risk of one product in one place cell.
type Capacity struct {
	Product   string    `json:"product"`
	Cell      *string   `json:"cell"` // null: every cell without its own capacity
	Limit     Money     `json:"limit"`
	AtRisk    *Money    `json:"at_risk"` // remaining limits of active policies; null if the capacity is not for one cell
	UpdatedAt time.Time `json:"updated_at"`
	Author    string    `json:"author"`
	// AuthorIssuer and Author together identify the operator; null for Parapet itself.
	AuthorIssuer *string `json:"author_issuer"`
}

// Moratorium is a time and a place without sales of cover.
type Moratorium struct {
	ID           string     `json:"id"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	Version      int64      `json:"version"`
	Kind         *string    `json:"kind"` // peril; null for all
	Latitude     *float64   `json:"latitude"`
	Longitude    *float64   `json:"longitude"`
	RadiusKM     *float64   `json:"radius_km"` // of the circle; null for a station or everywhere
	Station      *string    `json:"station"`
	StartsAt     time.Time  `json:"starts_at"`
	EndsAt       time.Time  `json:"ends_at"`
	LiftedAt     *time.Time `json:"lifted_at"`
	OccurrenceID *string    `json:"occurrence_id"` // the event that caused it; null if an operator did
	Reason       string     `json:"reason"`
	Author       *string    `json:"author"`        // null for partners
	AuthorIssuer *string    `json:"author_issuer"` // null for partners and for Parapet itself
}

// QuoteMoratorium is a moratorium that prevents the binding of a quote.
type QuoteMoratorium struct {
	Reason string    `json:"reason"`
	EndsAt time.Time `json:"ends_at"` // cover that starts then or later can be bound
}

// MoratoriumRule stops the sale of a peril around its recent events.
type MoratoriumRule struct {
	Kind      string          `json:"kind"`
	Measure   string          `json:"measure"`
	Minimum   decimal.Decimal `json:"minimum"`
	RadiusKM  float64         `json:"radius_km"`
	Lasts     string          `json:"lasts"` // ISO 8601, from the event
	UpdatedAt time.Time       `json:"updated_at"`
	Author    string          `json:"author"`
	// AuthorIssuer and Author together identify the operator; null for Parapet itself.
	AuthorIssuer *string `json:"author_issuer"`
}
