package occurrence

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// FeedPoll is the state of a feed's address between two polls.
type FeedPoll struct {
	bun.BaseModel `bun:"table:feed_polls"`

	Source       string `bun:",pk"`
	URL          string `bun:",pk"`
	ETag         string `bun:"etag,nullzero"`
	LastModified string `bun:",nullzero"`
	NextPollAt   time.Time
	Failures     int
	LastError    string `bun:",nullzero"`
	PolledAt     time.Time
	FailingSince *time.Time // the first failed poll since the last success
}

// LoadDuePoll returns the state of a feed address that is due for a poll, nil when it is
// not due.
func (s *Service) LoadDuePoll(ctx context.Context, source, url string) (*FeedPoll, error) {
	poll := &FeedPoll{Source: source, URL: url}
	if err := s.DB.NewSelect().Model(poll).WherePK().Scan(ctx); err != nil && !store.IsNoRows(err) {
		return nil, store.TranslateError(fmt.Errorf("read feed state: %w", err))
	}
	now, err := s.ReadClock(ctx)
	if err != nil || now.Before(poll.NextPollAt) {
		return nil, store.TranslateError(err)
	}
	return poll, nil
}

// SavePoll saves the state of a feed address after a poll; wait is the time until the
// next one.
func (s *Service) SavePoll(ctx context.Context, poll FeedPoll, wait time.Duration) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		poll.PolledAt, poll.NextPollAt = tx.Now, tx.Now.Add(wait)
		if poll.FailingSince = nil; poll.Failures > 0 {
			poll.FailingSince = &tx.Now
		}
		_, err := tx.NewInsert().Model(&poll).On("conflict (source, url) do update").
			Set("etag = excluded.etag").Set("last_modified = excluded.last_modified").Set("next_poll_at = excluded.next_poll_at").
			Set("failures = excluded.failures").Set("last_error = excluded.last_error").Set("polled_at = excluded.polled_at").
			Set("failing_since = case when excluded.failures > 0 then coalesce(case when feed_poll.failures > 0 then feed_poll.failing_since end, excluded.failing_since) end").Exec(ctx)
		return err
	})
}

// feedReplayRow is the time shift of a replayed historical file, so that a second replay
// changes nothing.
type feedReplayRow struct {
	bun.BaseModel `bun:"table:feed_replays"`

	Source    string `bun:",pk"`
	Digest    string `bun:",pk"`
	EventID   string
	OffsetUS  int64
	CreatedAt time.Time
}

// ReplayShift returns how far a file's times are shifted so that an event happens now.
// find computes the shift from the business time; it is called once per source and file,
// and the result is stored. A replay for another event is rejected. Errors:
// state_conflict in production.
func (s *Service) ReplayShift(ctx context.Context, source, digest, event string, find func(now time.Time) (time.Duration, error)) (shift time.Duration, now time.Time, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		now = tx.Now
		if err := requireReplayAllowed(ctx, tx); err != nil {
			return err
		}
		row := &feedReplayRow{Source: source, Digest: digest, EventID: event, CreatedAt: tx.Now}
		if _, err := tx.NewRaw("select pg_advisory_xact_lock(hashtextextended(?, 2))", source+"/"+digest).Exec(ctx); err != nil {
			return fmt.Errorf("lock replay: %w", err)
		}
		err := tx.NewSelect().Model(row).WherePK().Scan(ctx)
		if err == nil {
			if event != "" && event != row.EventID {
				return apperr.Fail(apperr.CodeStateConflict, "This file was replayed so that another event (%q) happened at %s; begin with a fresh database to replay it for another event.", row.EventID, row.CreatedAt.Format(time.RFC3339))
			}
			// Use the time of the first replay, so that observations that were in the
			// future then stay left out.
			shift, now = time.Duration(row.OffsetUS)*time.Microsecond, row.CreatedAt
			return nil
		}
		if !store.IsNoRows(err) {
			return fmt.Errorf("read replay: %w", err)
		}
		if shift, err = find(tx.Now); err != nil {
			return err
		}
		row.OffsetUS = shift.Microseconds()
		_, err = tx.NewInsert().Model(row).Exec(ctx)
		return err
	})
	return shift, now, err
}

// requireReplayAllowed returns an error outside development: history with new dates in a
// production database would pay real money.
func requireReplayAllowed(ctx context.Context, tx *store.Tx) error {
	var marked bool
	if err := tx.NewRaw("select is_rehearsal from clock").Scan(ctx, &marked); err != nil {
		return fmt.Errorf("read clock: %w", err)
	}
	if !marked && !tx.Store.Development {
		return apperr.Fail(apperr.CodeStateConflict, "History can be replayed only into a development database, or where PARAPET_REHEARSAL allows it.")
	}
	return nil
}
