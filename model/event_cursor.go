package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/wire"
)

const (
	followBatch = 100 // records handed on at once
)

// Tail is a reader's place in something that grows: everything after the place
// where it began, what is there already and what is still to come, in order,
// nothing twice and nothing left out. A reader that is slow falls behind and harms
// nobody: what it has not read stands in the database.
type Tail[T any] struct {
	svc     *Service
	partner string // whose bell tells that there may be more
	allowed func(context.Context) error
	read    func(context.Context) ([]T, error) // what comes next; none when there is nothing yet
}

// Next waits for what comes next, and hands on what there is of it, at least one.
// Errors: ctx's own when it ends, partner_disabled within seconds of that, and what
// reading says.
func (t *Tail[T]) Next(ctx context.Context) ([]T, error) {
	for {
		found, err := t.look(ctx)
		if len(found) > 0 || err != nil {
			return found, err
		}
	}
}

// look reads once, and waits for the bell when there was nothing.
func (t *Tail[T]) look(ctx context.Context) ([]T, error) {
	rung, leave := t.svc.numbered.listen(t.svc, t.partner) //nolint:contextcheck // it watches for everybody, not for this reader
	defer leave()
	found, err := t.read(ctx)
	if len(found) > 0 || err != nil {
		return found, explain(err)
	}
	again := time.NewTicker(partnerFresh)
	defer again.Stop()
	for {
		select {
		case <-rung:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
			if err := t.allowed(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// FollowEvents is the feed of one partner from f.After on, as it grows; f.Wait does
// not matter. It ends when the history is restored to before what it has handed on.
// Errors: parameter_invalid, cursor_invalid.
func (s *Service) FollowEvents(ctx context.Context, actor Actor, f EventFilter) (*Tail[wire.Event], error) {
	allowed := func(ctx context.Context) error { return s.authorize(ctx, actor, ScopeEventsRead) }
	if err := allowed(ctx); err != nil {
		return nil, err
	}
	f.Wait = 0
	subject, err := f.check(actor)
	if err != nil {
		return nil, err
	}
	generations, err := s.loadGenerations(ctx, f.Partner)
	if err = firstOf(err, generations.check(f.Generation, f.After)); err != nil {
		return nil, err
	}
	f.Generation = generations.current()
	allowed = func(ctx context.Context) error {
		if err := s.authorize(ctx, actor, ScopeEventsRead); err != nil {
			return err
		}
		generations, err := s.loadGenerations(ctx, f.Partner)
		return firstOf(err, generations.check(f.Generation, f.After))
	}
	read := func(ctx context.Context) ([]wire.Event, error) { return s.eventsAfter(ctx, actor, &f, subject) }
	return &Tail[wire.Event]{svc: s, partner: f.Partner, allowed: allowed, read: read}, nil
}

// eventsAfter reads the next events, and moves f.After past everything it has looked
// at, also past what the filter leaves out: a rare type must not cost the whole history
// whenever the bell rings.
func (s *Service) eventsAfter(ctx context.Context, actor Actor, f *EventFilter, subject *uuid.UUID) ([]wire.Event, error) {
	head, err := s.head(ctx, f.Partner)
	if err != nil || head <= f.After {
		return nil, err
	}
	var rows []numberedEvent
	err = f.query(s.db.NewSelect().Model(&rows), actor, subject, f.After, followBatch).
		Where("n.sequence <= ?", head).OrderExpr("n.sequence").Limit(followBatch).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("follow feed: %w", err)
	}
	if f.After = head; len(rows) == followBatch {
		f.After = rows[followBatch-1].Sequence
	}
	return publics(rows, (*numberedEvent).public), nil
}

// head is a partner's last sequence; 0 without events.
func (s *Service) head(ctx context.Context, partner string) (int64, error) {
	last, err := s.preparedCount(ctx, "select coalesce("+lastNumber("sequence", "$1")+", 0)", partner)
	return int64(last), err
}

// FollowTimeline is a claim's story from the entry after a sequence on, as it is
// told. Errors: not_found, parameter_invalid.
func (s *Service) FollowTimeline(ctx context.Context, actor Actor, claim string, after int64) (*Tail[wire.TimelineEntry], error) {
	row := new(claimRow)
	if err := s.read(ctx, actor, ScopeClaimsRead, nounClaim, claim, row); err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, badSequence("entry")
	}
	read := func(ctx context.Context) ([]wire.TimelineEntry, error) {
		w := s.rows(new(timelineRow))
		w.and("!.claim_id = ? and !.partner = ? and !.sequence > ?", row.ID, row.Partner, after)
		var rows []timelineRow
		err := s.preparedRows(ctx, s.pool, &rows, fmt.Sprintf("%s%s order by %s.sequence limit %d", s.selectText(new(timelineRow)), w, w.alias, followBatch), w.args...)
		if len(rows) > 0 {
			after = rows[len(rows)-1].Sequence
		}
		return publics(rows, (*timelineRow).public), err
	}
	allowed := func(ctx context.Context) error { return s.authorize(ctx, actor, ScopeClaimsRead) }
	return &Tail[wire.TimelineEntry]{svc: s, partner: row.Partner, allowed: allowed, read: read}, nil
}

func publics[Row, Record any](rows []Row, public func(*Row) Record) []Record {
	records := make([]Record, len(rows))
	for i := range rows {
		records[i] = public(&rows[i])
	}
	return records
}

// badSequence is what is said of a place before the first.
func badSequence(what string) *Error {
	return badParameter("after_sequence", fmt.Sprintf("Use the sequence of the last %s you have, or 0 for all.", what))
}
