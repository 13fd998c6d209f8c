package controls

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// eventInvariants are those whose subjects are events. The subjects of all others are
// records.
var eventInvariants = []string{"inv_events_sequenced", "inv_postings_balance", "inv_sequences"}

// These constants bound a check. A changed record is checked repeatedly for checkOverlap
// after its change, so that a transaction that commits late is not missed; longer if the
// last check was long ago, but for at most maxOverlap, after which a check of all records
// has found it. Few stored violations are enough to act on. checkTimeout bounds every
// statement, and with it every snapshot.
const (
	checkOverlap   = 5 * time.Minute
	maxOverlap     = time.Hour
	checkTimeout   = 8 * time.Second
	checkSliceSize = 5000            // subjects per statement of the check of recent changes
	checkDelay     = 5 * time.Minute // while a large event is decided or paid, and after a slow check
	largeEvent     = 10_000          // policies that an event may affect, or payouts that are due
	slowCheck      = 15 * time.Second
	maxViolations  = 1000
)

// CheckInvariants evaluates every invariant for recently changed records and, once an
// hour, for all records in slices. New violations stop the release of payouts. Every
// statement has a timeout; an invariant that exceeds it keeps its old check time, which
// the metrics show.
//
// The events of the last minutes identify changed records, because event ids are ordered
// by time: the cost of a check depends on the number of recent changes, not on the size
// of the book. A change without an event, such as a row changed by hand, is usually found
// within the hour.
//
// While a large event is being decided or paid, a check is left out if all invariants were
// checked within checkDelay: it would read what the event writes while it is written. The
// same is done after a check that took slowCheck or longer. The records of a large event
// are checked for minutes after it, and every minute would occupy a processor of the
// database.
func (s *Service) CheckInvariants(ctx context.Context) error {
	last, err := loadLastChecks(ctx, s.Store)
	if err != nil {
		return err
	}
	if last.all && last.longest < checkDelay {
		if last.took >= slowCheck {
			return nil
		}
		if busy, err := s.handlesLargeEvent(ctx); err != nil || busy {
			return err
		}
	}
	takeTurn := takeTurns(s.Store)
	checked, err := checkChanged(ctx, s.Store, last, takeTurn)
	if !checked {
		return err
	}
	fullErr := s.continueFullCheck(ctx, last.invariants, takeTurn)
	if err := stopViolatedReleases(ctx, s.Store); err != nil {
		return err
	}
	return cmp.Or(err, fullErr)
}

// lastChecks says when the invariants were checked.
type lastChecks struct {
	invariants []Invariant
	longest    time.Duration // since the one that was checked longest ago
	took       time.Duration // of all together
	all        bool          // whether each was checked
}

func loadLastChecks(ctx context.Context, s *store.Store) (last lastChecks, err error) {
	if last.invariants, err = loadInvariants(ctx, s); err != nil {
		return last, err
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return last, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	last.all = true
	for _, invariant := range last.invariants {
		if invariant.CheckedAt == nil {
			last.all = false
			continue
		}
		last.longest = max(last.longest, now.Sub(*invariant.CheckedAt))
		last.took += invariant.Took
	}
	return last, nil
}

// handlesLargeEvent reports whether a large event is being decided or paid.
func (s *Service) handlesLargeEvent(ctx context.Context) (busy bool, err error) {
	err = s.Pool.QueryRow(ctx, `select exists (select from matching_slices where done_at is null and attempts = 0 and candidates >= $1)
		or exists (select from payouts where status = 'pending' and next_attempt_at <= (select `+store.BusinessNowSQL+`) offset $1 - 1)`, largeEvent).Scan(&busy)
	return busy, store.TranslateError(err)
}

// CheckChanged is CheckInvariants without the check of all records, which takes longer
// than a request may. It takes no turns of bulk work.
func CheckChanged(ctx context.Context, s *store.Store) error {
	last, err := loadLastChecks(ctx, s)
	if err != nil {
		return err
	}
	checked, err := checkChanged(ctx, s, last, takeNoTurns)
	if !checked {
		return err
	}
	return cmp.Or(stopViolatedReleases(ctx, s), err)
}

func stopViolatedReleases(ctx context.Context, s *store.Store) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error { return stopOnViolation(ctx, tx) })
}

// checkChanged checks every invariant for recently changed records. It reports whether it
// found these, and the first error of the invariants that could not be checked.
func checkChanged(ctx context.Context, s *store.Store, last lastChecks, takeTurn turnTaker) (checked bool, err error) {
	changed, err := findRecentChanges(ctx, s, min(maxOverlap, checkOverlap+last.longest))
	if err != nil {
		return false, err
	}
	for _, invariant := range last.invariants {
		subjects := changed.records
		if slices.Contains(eventInvariants, invariant.Name) {
			subjects = changed.events
		}
		if checkErr := checkSubjects(ctx, s, invariant.Name, subjects, takeTurn); checkErr != nil && err == nil {
			err = fmt.Errorf("check %s: %w", invariant.Name, checkErr)
		}
	}
	return true, err
}

// recentChanges are the subjects to check.
type recentChanges struct{ events, records []uuid.UUID }

// findRecentChanges returns the events within overlap, the records that these changed and
// those that they belong to, the subjects of open violations, and the occurrences whose
// matching is not complete. An event's id begins with the machine's time of its creation in
// milliseconds: UUIDv7, RFC 9562 section 5.7. The bound is computed from
// statement_timestamp, which is stable: with clock_timestamp Postgres could not use the
// index and would read all events.
func findRecentChanges(ctx context.Context, s *store.Store, overlap time.Duration) (changed recentChanges, err error) {
	rows, err := s.Pool.Query(ctx, changedQuery, overlap.Milliseconds())
	if err != nil {
		return changed, store.TranslateError(fmt.Errorf("find what changed: %w", err))
	}
	var id uuid.UUID
	var isEvent bool
	_, err = pgx.ForEachRow(rows, []any{&id, &isEvent}, func() error {
		if isEvent {
			changed.events = append(changed.events, id)
		} else {
			changed.records = append(changed.records, id)
		}
		return nil
	})
	return changed, store.TranslateError(err)
}

const changedQuery = `with changed as materialized (select id, subject_id from events where id >=
		(lpad(to_hex((extract(epoch from statement_timestamp()) * 1000)::bigint - $1), 12, '0') || repeat('0', 20))::uuid),
	record as materialized (select distinct subject_id as id from changed),
	payout as (select claim_id, policy_id from payouts where id in (select id from record)),
	violated as (select subject from invariant_violations)
	select id, true as is_event from (select id from changed union select subject from violated) as events
	union all select id, false from (select id from record union select claim_id from payout union select policy_id from payout
	union select policy_id from claims where id in (select id from record) union select subject from violated
	union select occurrence_id from matchings where completed_at is null) as records`

// checkSubjects checks one invariant for some records and saves the result.
func checkSubjects(ctx context.Context, s *store.Store, name string, subjects []uuid.UUID, takeTurn turnTaker) error {
	result := checkResult{name: name}
	for slice := range slices.Chunk(subjects, checkSliceSize) {
		checked := checkScope{ids: slice}
		found, took, err := findViolations(ctx, s, name, checked, takeTurn)
		if err != nil {
			return err
		}
		result.scopes, result.found, result.took = append(result.scopes, checked), append(result.found, found...), result.took+took
	}
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		return cmp.Or(saveViolations(ctx, tx, &result), saveCheckTime(ctx, tx, &result))
	})
}

// checkScope selects the subjects to check: those in ids or, when ids is nil, those after
// after and up to last.
type checkScope struct {
	ids         []uuid.UUID
	after, last uuid.UUID
}

func (c checkScope) sqlCondition() (condition string, args []any) {
	if c.ids != nil {
		return "subject = any(?::uuid[])", []any{pgdialect.Array(c.ids)}
	}
	return "subject > ? and subject <= ?", []any{c.after, c.last}
}

// checkResult is the result of a check of one invariant.
type checkResult struct {
	name       string
	scopes     []checkScope
	found      []ViolationRow
	took       time.Duration
	violations int // already open ones, when the result covers one slice
}

// checkSettings are those of a transaction that reads a view. A check is in no hurry, so it
// leaves the other processors to requests. With the default random_page_cost, Postgres
// would read all claims for each slice of the claims of a large event.
const checkSettings = `select set_config('statement_timeout', ?, true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('random_page_cost', '1.1', true)`

// findViolations reads a view for the subjects in scope, in its own snapshot, and
// measures the time.
func findViolations(ctx context.Context, s *store.Store, name string, scope checkScope, takeTurn turnTaker) (found []ViolationRow, took time.Duration, err error) {
	leave := takeTurn(ctx)
	defer leave()
	condition, args := scope.sqlCondition()
	err = s.ReadSnapshot(ctx, func(ctx context.Context, tx bun.Tx, _ time.Time) error {
		if _, err := tx.NewRaw(checkSettings, strconv.FormatInt(checkTimeout.Milliseconds(), 10)).Exec(ctx); err != nil {
			return err
		}
		err := tx.NewSelect().TableExpr("?", bun.Ident(name)).DistinctOn("subject, partner").Column("subject", "partner", "message").
			Where(condition, args...).OrderExpr("subject, partner").Limit(maxViolations).Scan(ctx, &found)
		if err != nil {
			return err
		}
		var micros int64
		err = tx.NewRaw("select (extract(epoch from clock_timestamp() - transaction_timestamp()) * 1000000)::bigint").Scan(ctx, &micros)
		took = time.Duration(micros) * time.Microsecond
		return err
	})
	return found, took, err
}

// saveViolations inserts the violations found and deletes those no longer found.
func saveViolations(ctx context.Context, tx *store.Tx, r *checkResult) error {
	subjects := make([]uuid.UUID, len(r.found))
	for i := range r.found {
		r.found[i].Name, r.found[i].FoundAt, subjects[i] = r.name, tx.Now, r.found[i].Subject
	}
	for _, scope := range r.scopes {
		condition, args := scope.sqlCondition()
		_, err := tx.NewDelete().Model((*ViolationRow)(nil)).Where("name = ?", r.name).Where("subject <> all(?::uuid[])", pgdialect.Array(subjects)).
			Where(condition, args...).Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove violations: %w", err)
		}
	}
	if room := max(0, maxViolations-r.violations); len(r.found) > room {
		r.found = r.found[:room]
	}
	if len(r.found) > 0 {
		if _, err := tx.NewInsert().Model(&r.found).On("conflict (name, subject, partner) do update").Set("message = excluded.message").Exec(ctx); err != nil {
			return fmt.Errorf("save violations: %w", err)
		}
	}
	return nil
}

// saveCheckTime records the time and duration of the check of recent changes.
func saveCheckTime(ctx context.Context, tx *store.Tx, r *checkResult) error {
	_, err := tx.NewRaw(`insert into invariant_checks (name, checked_at, duration_ms) values (?0, ?1, ?2)
		on conflict (name) do update set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms`, r.name, tx.Now, r.took.Milliseconds()).Exec(ctx)
	return err
}
