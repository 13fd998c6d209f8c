package pricing

import (
	"fmt"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// OtherBasis is the error if the events of a price cannot be weighed again, because
// this release has another edition of the data or another formula.
type OtherBasis struct{ Priced, Shipped BasisVersion } //nolint:errname // named after the cause

// BasisVersion identifies the data and formula that, with the terms, determine the
// weights of events.
type BasisVersion struct {
	Formula int
	Digest  string // digest of the data set
}

// Error describes both versions.
func (e *OtherBasis) Error() string {
	return fmt.Sprintf("the price rests on formula %d and data with the digest %s; what is known here is formula %d and %s",
		e.Priced.Formula, e.Priced.Digest, e.Shipped.Formula, e.Shipped.Digest)
}

// ReweighEvents recomputes the events of a price, newest first, from the members of the
// quote: they add up to the sums of its basis. Formula 1 did not smooth: each event
// that would have paid counts with its factor. Errors: *OtherBasis.
func ReweighEvents(c trigger.Cover, b Basis, past []PastEvent, h *hazard.History) ([]WeighedEvent, error) {
	if b.Formula < 2 {
		return unsmoothedEvents(past), nil
	}
	priced, shipped := BasisVersion{b.Formula, b.DatasetDigest}, BasisVersion{Formula, methodsFor(&c).dataset(&c, h).Digest}
	if priced != shipped {
		return nil, &OtherBasis{Priced: priced, Shipped: shipped}
	}
	s, err := b.Season.parse()
	if err != nil {
		return nil, err
	}
	return weighHistory(c, b.SmoothingKM, h, s).weigher.shown(), nil
}

func unsmoothedEvents(past []PastEvent) []WeighedEvent {
	events := make([]WeighedEvent, len(past))
	for i, p := range past {
		events[i] = WeighedEvent{
			ID: p.SourceEventID, OccurredAt: p.OccurredAt, Year: p.OccurredAt.Year(), DistanceKM: p.DistanceKM,
			Weight: decimal.New(1, 0), Share: p.Factor, ShareSquare: p.Factor.Mul(p.Factor).Round(momentDecimals),
		}
	}
	sortWeighedEvents(events)
	return events
}
