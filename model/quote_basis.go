package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"parapet/model/pricing"
	"parapet/model/wire"
)

// GetQuoteBasis lists the past events behind a quote's price, newest first. Errors:
// not_found, parameter_invalid, cursor_invalid, state_conflict when this release has
// another edition of the data or another formula than the quote was priced with.
func (s *Service) GetQuoteBasis(ctx context.Context, actor Actor, quote string, in PageRequest) (*Page[pricing.WeighedEvent], error) {
	record, err := s.GetQuote(ctx, actor, quote)
	if err != nil {
		return nil, err
	}
	return s.WeighedEvents(actor, record, in)
}

// WeighedEvents is GetQuoteBasis for a loaded quote. It recomputes the events from the
// data, which never changes, so a cursor is a position in the list.
func (s *Service) WeighedEvents(actor Actor, quote *wire.Quote, in PageRequest) (*Page[pricing.WeighedEvent], error) {
	p, err := s.parsePage(actor, in, "basis of "+quote.ID)
	if err != nil {
		return nil, err
	}
	events, err := pricing.ReweighEvents(quote.Cover, quote.Basis, quote.History, s.history)
	if other := (*pricing.OtherBasis)(nil); errors.As(err, &other) {
		return nil, Fail(CodeStateConflict, "The events cannot be weighed again: %s. The sums in the quote's basis stay as they are; ask for a new quote to see its events.", other)
	}
	if err != nil {
		return nil, fmt.Errorf("weigh events of %s: %w", quote.ID, err)
	}
	p.count = func(context.Context) (int, error) { return len(events), nil }
	places := make([]int, len(events))
	for i := range places {
		places[i] = i
	}
	if p.order.orDefault(newestFirst).reversed(p.last) == oldestFirst {
		slices.Reverse(places)
	}
	if p.after != "" {
		after, err := strconv.Atoi(p.after)
		if err != nil {
			return nil, fmt.Errorf("cursor of the basis of %s: %w", quote.ID, err)
		}
		places = places[slices.Index(places, after)+1:]
	}
	places = places[:min(len(places), int(p.fetchLimit()))]
	return newPage(p, places, func(i *int) string { return strconv.Itoa(*i) }, func(i *int) pricing.WeighedEvent { return events[*i] })
}
