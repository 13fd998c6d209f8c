package wire

import "github.com/shopspring/decimal"

// Partner is a seller of cover. Only operators see the record.
type Partner struct {
	Header
	Slug   string       `json:"slug"` // immutable; also the id, and the partner claim of the partner's tokens
	Name   string       `json:"name"`
	Status string       `json:"status"` // enabled, disabled
	Terms  PartnerTerms `json:"terms"`
}

// PartnerTerms are what was agreed with one partner; an empty member has no bound of its
// own.
type PartnerTerms struct {
	Products        []string         `json:"products,omitzero"`         // keys it may sell; none: all
	CommissionShare *decimal.Decimal `json:"commission_share,omitzero"` // of the premium, instead of the product's
	MaximumLimits   []Money          `json:"maximum_limits,omitzero"`   // largest limit of one cover, by currency
	// RequestsPerSecond and RequestBurst replace the server's.
	RequestsPerSecond *int             `json:"requests_per_second,omitzero"`
	RequestBurst      *int             `json:"request_burst,omitzero"`
	Contacts          []PartnerContact `json:"contacts,omitzero"`
}

// PartnerContact is a person that operators write to.
type PartnerContact struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}
