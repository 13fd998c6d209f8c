package model

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// FeedPoll is what is remembered of a feed's address between two polls.
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
}

// DuePoll is the state of a feed address that is due, nil when it is not its
// time yet.
func (s *Service) DuePoll(ctx context.Context, source, url string) (*FeedPoll, error) {
	poll := &FeedPoll{Source: source, URL: url}
	if err := s.db.NewSelect().Model(poll).WherePK().Scan(ctx); err != nil && !absent(err) {
		return nil, explain(fmt.Errorf("read feed state: %w", err))
	}
	now, err := s.now(ctx)
	if err != nil || now.Before(poll.NextPollAt) {
		return nil, explain(err)
	}
	return poll, nil
}

// KeepPoll remembers a feed address after a poll; wait is until the next one.
func (s *Service) KeepPoll(ctx context.Context, poll FeedPoll, wait time.Duration) error {
	return s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		poll.PolledAt, poll.NextPollAt = u.now, u.now.Add(wait)
		_, err := u.NewInsert().Model(&poll).On("conflict (source, url) do update").
			Set("etag = excluded.etag").Set("last_modified = excluded.last_modified").Set("next_poll_at = excluded.next_poll_at").
			Set("failures = excluded.failures").Set("last_error = excluded.last_error").Set("polled_at = excluded.polled_at").Exec(ctx)
		return err
	})
}

// replayRow is the shift a historical file was given, so that replaying it again
// changes nothing.
type replayRow struct {
	bun.BaseModel `bun:"table:feed_replays"`

	Source    string `bun:",pk"`
	Digest    string `bun:",pk"`
	EventID   string
	ShiftUS   int64 `bun:"shift_us"`
	CreatedAt time.Time
}

// ReplayShift is how far a file's times are moved so that an event happens now.
// find computes it from the business time; it is asked once per source and file,
// and the answer is kept: replaying for another event is refused. Errors: state_conflict in production.
func (s *Service) ReplayShift(ctx context.Context, source, digest, event string, find func(now time.Time) (time.Duration, error)) (shift time.Duration, now time.Time, err error) {
	err = s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		now = u.now
		if err := u.rehearsing(ctx); err != nil {
			return err
		}
		row := &replayRow{Source: source, Digest: digest, EventID: event, CreatedAt: u.now}
		if _, err := u.NewRaw("select pg_advisory_xact_lock(hashtextextended(?, 2))", source+"/"+digest).Exec(ctx); err != nil {
			return fmt.Errorf("lock replay: %w", err)
		}
		err := u.NewSelect().Model(row).WherePK().Scan(ctx)
		if err == nil {
			if event != "" && event != row.EventID {
				return Fail(CodeStateConflict, "This file was replayed so that another event (%q) happened at %s; start fresh to replay it otherwise.", row.EventID, row.CreatedAt.Format(time.RFC3339))
			}
			// What lay in the future then stays left out: a second run changes nothing.
			shift, now = time.Duration(row.ShiftUS)*time.Microsecond, row.CreatedAt
			return nil
		}
		if !absent(err) {
			return fmt.Errorf("read replay: %w", err)
		}
		if shift, err = find(u.now); err != nil {
			return err
		}
		row.ShiftUS = shift.Microseconds()
		_, err = u.NewInsert().Model(row).Exec(ctx)
		return err
	})
	return shift, now, err
}

// rehearsing refuses outside development: history re-dated into a production
// database would pay real money.
func (u *unit) rehearsing(ctx context.Context) error {
	var marked bool
	if err := u.NewRaw("select rehearsal from clock").Scan(ctx, &marked); err != nil {
		return fmt.Errorf("read clock: %w", err)
	}
	if !marked && !u.svc.development {
		return Fail(CodeStateConflict, "History is replayed into development databases only, or where PARAPET_REHEARSAL allows it.")
	}
	return nil
}
