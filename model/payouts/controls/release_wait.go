package controls

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/kernel/store"
)

// How long a stop waits for running sends, and the polling interval. The wait must be
// longer than a call to a rail may last.
const (
	maxStopWait      = time.Minute
	stopPollInterval = 100 * time.Millisecond
)

// Leaving lists what may still be on its way to a rail after a stop has waited. Nothing
// else is sent.
type Leaving struct {
	Orders []LeavingOrder // calls without a known outcome, at most maxLeaving
	Count  int            // number of all such orders
	Files  []string       // batches of a bank's orders whose files are not known to be written
}

// LeavingOrder is an order in a worker's hands that may reach the rail.
type LeavingOrder struct {
	PayoutID  string
	Partner   string
	Key       string // the rail's idempotency key
	Rail      string
	StartedAt time.Time // when the worker leased it
}

const maxLeaving = 100

// lockHolder holds a lock of releases: one transaction for an intent, or a process's
// session for its sends.
type lockHolder struct {
	PID         int32
	Transaction string // empty for a session
}

// loadLockHolders lists the present holders of release locks.
func (s *Service) loadLockHolders(ctx context.Context) ([]lockHolder, error) {
	rows, err := s.Pool.Query(ctx, `select pid, case objid when 0 then virtualtransaction else '' end from pg_locks
		where locktype = 'advisory' and classid = hashtext('release stop')::oid and objid in (0, 1) and objsubid = 2 and granted
			and database = (select oid from pg_database where datname = current_database())`)
	if err != nil {
		return nil, fmt.Errorf("list what is leaving: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[lockHolder])
}

// waitForSends waits, after a stop was committed, for the end of everything that began
// before it: intents being committed and sends. Later ones see the stop. It returns
// what has not ended within maxStopWait, nil if all has.
func (s *Service) waitForSends(ctx context.Context) (*Leaving, error) {
	before, err := s.loadLockHolders(ctx)
	for waited := time.Duration(0); err == nil && len(before) > 0 && waited < maxStopWait; waited += stopPollInterval {
		if err = s.sleep(ctx, stopPollInterval); err == nil {
			before, err = s.filterStillHeld(ctx, before)
		}
	}
	if err != nil || len(before) == 0 {
		return nil, store.TranslateError(err)
	}
	return s.loadLeaving(ctx)
}

// filterStillHeld returns the holders that still hold their lock. A session that
// released it does not take it again while releases are stopped.
func (s *Service) filterStillHeld(ctx context.Context, before []lockHolder) (still []lockHolder, err error) {
	now, err := s.loadLockHolders(ctx)
	if err != nil {
		return nil, err
	}
	held := make(map[lockHolder]bool, len(now))
	for _, holder := range now {
		held[holder] = true
	}
	for _, holder := range before {
		if held[holder] {
			still = append(still, holder)
		}
	}
	return still, nil
}

// loadLeaving lists the orders of workers that may still reach a rail, newest first.
func (s *Service) loadLeaving(ctx context.Context) (*Leaving, error) {
	var rows []struct {
		PayoutID  uuid.UUID
		Partner   string
		Key       string
		Rail      string
		StartedAt time.Time
		Count     int
	}
	err := s.DB.NewRaw(`select po.id as payout_id, po.partner, a.key, a.rail, a.started_at, count(*) over () as count
		from payouts po join payout_attempts a on a.payout_id = po.id and a.partner = po.partner and a.ended_at is null
		where po.next_attempt_at is not null and po.status in ('releasing', 'reconciling') order by a.started_at desc, a.key limit ?`, maxLeaving).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list orders that are leaving: %w", err))
	}
	left := &Leaving{Orders: make([]LeavingOrder, len(rows)), Files: []string{}}
	for i, row := range rows {
		left.Count = row.Count
		left.Orders[i] = LeavingOrder{store.ResourcePayout.FormatID(row.PayoutID), row.Partner, row.Key, row.Rail, row.StartedAt}
	}
	err = s.DB.NewRaw("select id from payment_files where written_at is null order by sequence limit ?", maxLeaving).Scan(ctx, &left.Files)
	return left, store.TranslateError(err)
}

// sleepFor waits for d or until the context ends.
func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
