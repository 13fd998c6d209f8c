package events

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/wire"
)

const (
	FollowBatchSize = 100 // records returned at once
)

// Cursor reads a growing list from its starting position: existing and future records, in
// order, each exactly once. A slow reader only falls behind; its unread records stay in
// the database.
type Cursor[T any] struct {
	Store        *store.Store
	Partner      string // the partner whose notifications wake the reader
	CheckAllowed func(context.Context) error
	// ReadNext returns the next records; none when there are none yet. head is the
	// partner's last sequence as it was notified; -1: not known.
	ReadNext func(ctx context.Context, head int64) ([]T, error)
}

// Next waits for the next records and returns at least one. Errors: ctx's own when it
// ends, partner_disabled within seconds after it applies, and errors of the read.
func (t *Cursor[T]) Next(ctx context.Context) ([]T, error) {
	for {
		found, err := t.poll(ctx)
		if len(found) > 0 || err != nil {
			return found, err
		}
	}
}

// poll reads once, and waits for a notification when there was nothing.
func (t *Cursor[T]) poll(ctx context.Context) ([]T, error) {
	notified, head, unsubscribe := store.Local[Notifier](t.Store).subscribe(t.Store, t.Partner) //nolint:contextcheck // it watches for all readers
	defer unsubscribe()
	found, err := t.ReadNext(ctx, head)
	if len(found) > 0 || err != nil {
		return found, store.TranslateError(err)
	}
	again := time.NewTicker(partners.PartnerCacheTTL)
	defer again.Stop()
	for {
		select {
		case <-notified:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
			if err := t.CheckAllowed(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// Follow returns a cursor on the feed of one partner after f.After; it ignores
// f.Wait. The cursor ends with an error when the history is restored to a point before
// the events it has returned. Errors: parameter_invalid, cursor_invalid.
func (s *Service) Follow(ctx context.Context, caller actor.Actor, f Filter) (*Cursor[wire.Event], error) {
	allowed := func(ctx context.Context) error { return s.Authorize(ctx, caller, actor.ScopeEventsRead) }
	if err := allowed(ctx); err != nil {
		return nil, err
	}
	f.Wait = 0
	subject, err := f.validate(caller)
	if err != nil {
		return nil, err
	}
	generations, err := loadGenerations(ctx, s.Store, f.Partner)
	if err = cmp.Or(err, generations.checkSequence(f.Generation, f.After)); err != nil {
		return nil, err
	}
	f.Generation = generations.currentGeneration()
	allowed = func(ctx context.Context) error {
		if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
			return err
		}
		generations, err := loadGenerations(ctx, s.Store, f.Partner)
		return cmp.Or(err, generations.checkSequence(f.Generation, f.After))
	}
	read := func(ctx context.Context, head int64) ([]wire.Event, error) {
		return s.eventsAfter(ctx, caller, &f, subject, head)
	}
	return &Cursor[wire.Event]{Store: s.Store, Partner: f.Partner, CheckAllowed: allowed, ReadNext: read}, nil
}

// eventsAfter reads the next events and moves f.After past all events that it examined,
// including those that the filter excludes: otherwise a reader of a rare type would scan
// the whole history at every notification.
func (s *Service) eventsAfter(ctx context.Context, caller actor.Actor, f *Filter, subject *uuid.UUID, head int64) ([]wire.Event, error) {
	head, err := s.knownHead(ctx, f.Partner, head)
	if err != nil || head <= f.After {
		return nil, err
	}
	rows, err := s.readShared(ctx, caller, f, subject, f.After, head, FollowBatchSize)
	if err != nil {
		return nil, fmt.Errorf("follow feed: %w", err)
	}
	if f.After = head; len(rows) == FollowBatchSize {
		f.After = rows[FollowBatchSize-1].Sequence
	}
	return ToRecords(rows, (*SequencedEvent).ToRecord), nil
}

// knownHead returns head, or the partner's last sequence when head is not known.
func (s *Service) knownHead(ctx context.Context, partner string, head int64) (int64, error) {
	if head >= 0 {
		return head, nil
	}
	err := LimitRead(ctx, s.Store, func() (err error) {
		head, err = s.lastSequence(ctx, partner)
		return err
	})
	return head, err
}

// lastSequence returns a partner's last sequence; 0 without events.
func (s *Service) lastSequence(ctx context.Context, partner string) (int64, error) {
	last, err := s.QueryPreparedCount(ctx, "select coalesce("+LastSequenceSQL("sequence", "$1")+", 0)", partner)
	return int64(last), err
}

// ToRecords returns the v1 records of rows.
func ToRecords[Row, Record any](rows []Row, public func(*Row) Record) []Record {
	records := make([]Record, len(rows))
	for i := range rows {
		records[i] = public(&rows[i])
	}
	return records
}

// InvalidSequence is the error for a sequence below 0.
func InvalidSequence(what string) *apperr.Error {
	return apperr.InvalidParameter("after_sequence", fmt.Sprintf("Use the sequence of the last %s you have, or 0 for all.", what))
}
