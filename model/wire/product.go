package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
)

// Product is a published product: the data that quotes are computed from.
type Product struct {
	Header
	Key     string            `json:"key"` // used by quotes; also the id
	Title   string            `json:"title"`
	Summary string            `json:"summary"`
	Place   trigger.PlaceKind `json:"place"`          // circle, box, station
	Context jsontext.Value    `json:"context_schema"` // JSON Schema 2020-12 of a quote's context
	Trigger trigger.Trigger   `json:"trigger"`        // before a quote's members are applied
	Payout  trigger.Payout    `json:"payout"`         // before a quote's members are applied
	// Measurement names the sources that decide; nil in versions from before it existed.
	Measurement *trigger.Measurement `json:"measurement"`
	Times       jsontext.Value       `json:"times"`      // ISO 8601 durations
	Settlement  jsontext.Value       `json:"settlement"` // what is paid without an operator
	Price       jsontext.Value       `json:"price"`      // the loadings of the premium
	Currencies  jsontext.Value       `json:"currencies"` // bounds of the limit, the first is the default
	Examples    jsontext.Value       `json:"examples"`   // worked examples that this version passes
	Notes       []string             `json:"notes"`
	RetiredAt   *time.Time           `json:"retired_at"` // new quotes do not use the version from then on
}
