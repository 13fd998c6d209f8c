package events

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
)

// feedGenerations are the restores of a partner's feed, oldest first; usually empty.
// Generation 1 has no entry.
type feedGenerations []feedGeneration

// feedGeneration is one restore of a feed and the sequence after which the feed
// continued.
type feedGeneration struct {
	Generation     int
	ContinuesAfter int64 // later sequences name other events than in the earlier generations
	RestoredAt     time.Time
}

func (g feedGenerations) currentGeneration() int {
	if len(g) == 0 {
		return 1
	}
	return g[len(g)-1].Generation
}

// checkSequence rejects a sequence of an earlier generation beyond the point that a
// restore kept.
func (g feedGenerations) checkSequence(generation int, after int64) error {
	for _, restore := range g {
		if restore.Generation > max(generation, 1) && after > restore.ContinuesAfter {
			return apperr.FailFields(apperr.CodeCursorInvalid, "The history of events was restored from a backup", "%s",
				apperr.NewFieldError("/after_sequence", "restored", fmt.Sprintf("It was restored on %s: other events than before follow after sequence %d. Discard the events that you have after it, "+
					"read on from after_sequence=%d, and send the generation of your last event from then on.", restore.RestoredAt.UTC().Format(time.RFC3339), restore.ContinuesAfter, restore.ContinuesAfter)))
		}
	}
	if generation > g.currentGeneration() {
		return apperr.InvalidParameter("generation", fmt.Sprintf("The newest generation is %d.", g.currentGeneration()))
	}
	return nil
}

// loadGenerations returns the restores of a partner's feed, as they were at most
// PartnerCacheTTL ago.
func loadGenerations(ctx context.Context, s *store.Store, partner string) (feedGenerations, error) {
	return store.Local[partners.TtlCache[feedGenerations]](s).Get(ctx, partner, func(ctx context.Context) (list feedGenerations, err error) {
		err = s.QueryPreparedRows(ctx, s.Pool, &list, "select generation, continues_after, restored_at from feed_generations where partner = $1 order by generation", partner)
		if err != nil {
			return nil, store.TranslateError(fmt.Errorf("read generations of the feed: %w", err))
		}
		return list, nil
	})
}

// openFeedPage opens a page of the feed at its cursor, or at f.After without one.
func (s *Service) openFeedPage(ctx context.Context, actor actor.Actor, f *Filter, in store.PageRequest) (store.PageSpec, error) {
	generations, err := loadGenerations(ctx, s.Store, f.Partner)
	if err != nil {
		return store.PageSpec{}, err
	}
	if err := generations.checkSequence(f.Generation, f.After); err != nil {
		return store.PageSpec{}, err
	}
	current := generations.currentGeneration()
	for generation := current; ; generation-- { // a cursor belongs to the generation that created it
		p, err := s.ParsePage(actor, in, f.cursorFilter(generation), store.SortOldestFirst)
		if err != nil && generation > 1 {
			continue
		}
		if err != nil {
			return p, err
		}
		if p.After == "" {
			p.After = strconv.FormatInt(f.After, 10)
			return p, nil
		}
		after, err := strconv.ParseInt(p.After, 10, 64)
		if err != nil {
			return p, store.InvalidCursor().WithCause(err)
		}
		p.List = f.cursorFilter(current)
		return p, generations.checkSequence(generation, after)
	}
}

// cursorFilter identifies the list that a cursor of the feed belongs to.
func (f *Filter) cursorFilter(generation int) string {
	place := fmt.Sprintf("events?%q", []any{f.Partner, f.Types, f.Subject})
	if generation > 1 {
		place += "," + strconv.Itoa(generation)
	}
	return place
}

// BeginGeneration begins a new generation of every partner's feed. It takes the relay's
// lock, so that no relay pass runs at the same time.
func BeginGeneration(ctx context.Context, tx *store.Tx) error {
	tx.Batch.Queue("select pg_advisory_xact_lock($1)", relayLock)
	tx.Batch.Queue(`insert into feed_generations (partner, generation, continues_after, restored_at)
		select p.slug, coalesce((select max(generation) from feed_generations g where g.partner = p.slug), 1) + 1, coalesce(`+LastSequenceSQL("sequence", "p.slug")+`, 0), $1 from partners p`, tx.Now)
	if err := tx.Flush(ctx); err != nil {
		return fmt.Errorf("begin a generation of the feed: %w", err)
	}
	return nil
}
