package product

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"

	"parapet/model/hazard/trigger"
)

// Document is a product as written by its author. Amounts are minor units.
type Document struct {
	Key     string            `json:"key"`
	Version int               `json:"version"`
	Title   string            `json:"title"`
	Summary string            `json:"summary"`
	Place   trigger.PlaceKind `json:"place"`
	Context jsontext.Value    `json:"context"` // JSON Schema 2020-12
	Trigger trigger.Trigger   `json:"trigger"` // before a quote's members are applied
	Payout  trigger.Payout    `json:"payout"`  // before a quote's members are applied
	// Measurement names the sources that decide; nil in versions from before it existed.
	Measurement *trigger.Measurement `json:"measurement,omitempty"`
	Times       Times                `json:"times"`
	Settlement  Settlement           `json:"settlement"`
	Loadings    Loadings             `json:"price"`
	Currencies  []Currency           `json:"currencies"` // the first is the default
	Examples    []Example            `json:"examples"`
	Notes       []string             `json:"notes"`
}

// Times are the ISO 8601 durations of a product.
type Times struct {
	QuoteValidity   string `json:"quote_validity"`
	WaitingPeriod   string `json:"waiting_period"`
	ReportingWindow string `json:"reporting_window"`
	ShortestTerm    string `json:"shortest_term"`
	LongestTerm     string `json:"longest_term"`
	FarthestStart   string `json:"farthest_start"` // longest time until the start of cover
}

// Settlement limits what is paid without an operator. It does not depend on a rail.
type Settlement struct {
	AutomaticUpTo map[string]int64 `json:"automatic_up_to"` // per currency, limit included
}

// Loadings are the factors of a premium; section 6 of the contract calls the first four
// k, r, e and c.
type Loadings struct {
	UncertaintyFactor decimal.Decimal `json:"uncertainty_factor"`
	RiskFactor        decimal.Decimal `json:"risk_factor"`
	ExpenseShare      decimal.Decimal `json:"expense_share"`
	CommissionShare   decimal.Decimal `json:"commission_share"`
	MaximumRateOnLine decimal.Decimal `json:"maximum_rate_on_line"`
	// SmoothingKM is c, the standard deviation in kilometres of the normal distribution
	// that spreads history around the place. Zero means no smoothing.
	SmoothingKM decimal.Decimal `json:"smoothing_km"`
}

// Currency bounds the limits of one currency.
type Currency struct {
	Code           string `json:"code"`
	DefaultLimit   int64  `json:"default_limit"`
	MinimumLimit   int64  `json:"minimum_limit"`
	MaximumLimit   int64  `json:"maximum_limit"`
	MinimumPremium int64  `json:"minimum_premium"`
}

//go:embed document.schema.yaml
var documentSchemaSource []byte

var documentSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	source, err := jsonFromYAML(documentSchemaSource)
	if err != nil {
		return nil, err
	}
	return compileSchema(source)
})

// decodeDocument decodes a document strictly: every member must be known and every
// value valid. It returns all faults at once, each with its path.
func decodeDocument(source []byte) (Document, error) {
	document, err := jsonFromYAML(source)
	if err != nil {
		return Document{}, err
	}
	schema, err := documentSchema()
	if err != nil {
		return Document{}, err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return Document{}, err
	}
	if err := schema.Validate(instance); err != nil {
		return Document{}, &DocumentError{onePerMember(fieldsFromError(err, "", func([]string, string) string { return "" }))}
	}
	var d Document
	if err := json.Unmarshal(document, &d, json.RejectUnknownMembers(true)); err != nil {
		return Document{}, err
	}
	return d, nil
}

// DocumentError lists every invalid member of a document, one Field per member.
type DocumentError struct{ Fields []Field }

// Error writes each fault on its own line.
func (e *DocumentError) Error() string {
	lines := make([]string, len(e.Fields))
	for i, field := range e.Fields {
		lines[i] = field.Pointer + ": " + strings.TrimSuffix(field.Detail, ".")
	}
	return strings.Join(lines, "\n")
}

// newDocumentFault returns a Field for a rule that a schema cannot express.
func newDocumentFault(pointer, format string, args ...any) Field {
	return Field{Pointer: pointer, Code: CodeValue, Detail: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") + "."}
}

// findCurrency returns the bounds of a currency.
func (d Document) findCurrency(code string) (Currency, bool) {
	for _, currency := range d.Currencies {
		if currency.Code == code {
			return currency, true
		}
	}
	return Currency{}, false
}
