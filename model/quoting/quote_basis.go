package quoting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// GetBasis lists the past events behind a quote's price, newest first. Errors:
// not_found, parameter_invalid, cursor_invalid, state_conflict when this release has
// another edition of the data or another formula than the quote was priced with.
func (s *Service) GetBasis(ctx context.Context, actor actor.Actor, quote string, in store.PageRequest) (*store.Page[pricing.WeighedEvent], error) {
	record, err := s.Get(ctx, actor, quote)
	if err != nil {
		return nil, err
	}
	return s.WeighedEvents(ctx, actor, record, in)
}

// WeighedEvents is GetBasis for a loaded quote. It recomputes the events from the
// data, which never changes, so a cursor is a position in the list.
func (s *Service) WeighedEvents(ctx context.Context, actor actor.Actor, quote *wire.Quote, in store.PageRequest) (*store.Page[pricing.WeighedEvent], error) {
	p, err := s.ParsePage(actor, in, "basis of "+quote.ID, store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	history, err := catalog.LoadHistoryOf(ctx, s.Store, quote.Basis.DatasetDigest)
	if err != nil {
		return nil, err
	}
	events, err := pricing.ReweighEvents(quote.Cover, quote.Basis, quote.History, history)
	if other := (*pricing.OtherBasis)(nil); errors.As(err, &other) {
		return nil, apperr.Fail(apperr.CodeStateConflict, "The events cannot be weighed again: %s. The sums in the quote's basis do not change; create a new quote to see its events.", other)
	}
	if err != nil {
		return nil, fmt.Errorf("weigh events of %s: %w", quote.ID, err)
	}
	p.Count = func(context.Context) (int, error) { return len(events), nil }
	places := make([]int, len(events))
	for i := range places {
		places[i] = i
	}
	if p.Order.Reversed(p.Last) == store.SortOldestFirst {
		slices.Reverse(places)
	}
	if p.After != "" {
		after, err := strconv.Atoi(p.After)
		if err != nil {
			return nil, fmt.Errorf("cursor of the basis of %s: %w", quote.ID, err)
		}
		places = places[slices.Index(places, after)+1:]
	}
	places = places[:min(len(places), int(p.FetchLimit()))]
	return store.NewPage(p, places, func(i *int) string { return strconv.Itoa(*i) }, func(i *int) pricing.WeighedEvent { return events[*i] })
}
