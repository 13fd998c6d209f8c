package pricing

import (
	"fmt"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// OtherData is the error when the events of a price cannot be weighed again,
// because this release ships another edition of the data.
type OtherData struct{ Priced, Shipped string } //nolint:errname // names what is wrong

// Error names both digests.
func (e *OtherData) Error() string {
	return fmt.Sprintf("the price rests on data with the digest %s; this release has %s", e.Priced, e.Shipped)
}

// WeighAgain lists the events of a price anew, newest first, from what the quote
// shows: they add up to the sums of its basis. Formula 1 did not smooth: each
// event that would have paid counts with its factor. Errors: *OtherData.
func WeighAgain(c trigger.Cover, b Basis, past []Past, h *hazard.History) ([]WeighedEvent, error) {
	if b.Formula < Formula {
		return unsmoothed(past), nil
	}
	if digest := datasetOf(c, h).Digest; digest != b.DatasetDigest {
		return nil, &OtherData{Priced: b.DatasetDigest, Shipped: digest}
	}
	s, err := b.Season.private()
	if err != nil {
		return nil, err
	}
	return weighed(c, b.SmoothingKM, h, s).weigh.shown(), nil
}

func unsmoothed(past []Past) []WeighedEvent {
	events := make([]WeighedEvent, len(past))
	for i, p := range past {
		events[i] = WeighedEvent{
			ID: p.SourceEventID, OccurredAt: p.OccurredAt, Year: p.OccurredAt.Year(), DistanceKM: p.DistanceKM,
			Weight: decimal.New(1, 0), Share: p.Factor, ShareSquare: p.Factor.Mul(p.Factor).Round(momentDecimals),
		}
	}
	newest(events)
	return events
}
