package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// Invariant is something that must always be true, and how the last check of it
// ended. There is one for each view inv_*.
type Invariant struct {
	Name           string // of its view
	Says           string
	Violations     int        // that stand, up to maxViolations
	CheckedAt      *time.Time // nil before the first check
	WholeCheckedAt *time.Time // when all records were checked, not only those that had changed
	Took           time.Duration
}

// Violation is a record of which an invariant is not true.
type Violation struct {
	Invariant      string
	Subject        string // the record's id as Postgres has it; of an event for what is about events
	Partner        string
	Wrong          string
	FoundAt        time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy *string
}

// Bounds of a check. What changed is looked at again for a while after it changed,
// so that a transaction that commits late is not missed; a table of violations is no
// use beyond a few.
const (
	checkOverlap  = 5 * time.Minute
	checkWhole    = time.Hour
	checkTimeout  = time.Minute
	maxViolations = 1000
)

// CheckInvariants reads every invariant and keeps what it finds: of the records
// that changed lately, and once an hour of all. New violations stop the release of
// payouts. Each view is given a bounded time; one that did not answer in it keeps its
// old time of check, which the metrics show.
//
// What changed is known by the events of the last minutes, whose ids are in order of
// time: a check costs as much as happened, however large the book is. What nobody
// told of, such as a row that was changed by hand, is found within the hour.
func (s *Service) CheckInvariants(ctx context.Context) error { return s.checkInvariants(ctx, true) }

// checkInvariants is CheckInvariants that looks at all records only where it may: that
// takes longer than a request has, for a large book.
func (s *Service) checkInvariants(ctx context.Context, mayWhole bool) error {
	invariants, err := s.invariants(ctx)
	if err != nil {
		return err
	}
	subjects, err := s.changedLately(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, invariant := range invariants {
		if err := s.checkInvariant(ctx, invariant, subjects, mayWhole); err != nil && failed == nil {
			failed = fmt.Errorf("check %s: %w", invariant.Name, err)
		}
	}
	if err := s.change(ctx, System(), func(ctx context.Context, u *unit) error { return u.stopViolated(ctx) }); err != nil {
		return err
	}
	return failed
}

// changedLately are the ids of what was told of lately, of what that belongs to, and
// of what stood violated. An event's id begins with the milliseconds of the machine's
// clock when it was made: UUIDv7, RFC 9562 section 5.7.
func (s *Service) changedLately(ctx context.Context) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, `with told as (select id, subject_id from events where id >=
				(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint - $1), 12, '0') || repeat('0', 20))::uuid),
			payout as (select claim_id, policy_id from payouts where id in (select subject_id from told))
		select id from told union select subject_id from told union select claim_id from payout union select policy_id from payout
		union select policy_id from claims where id in (select subject_id from told) union select subject from invariant_violations`, checkOverlap.Milliseconds())
	if err != nil {
		return nil, explain(fmt.Errorf("find what changed: %w", err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return ids, explain(err)
}

// checkInvariant reads one view and writes what it found.
func (s *Service) checkInvariant(ctx context.Context, i Invariant, subjects []uuid.UUID, mayWhole bool) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	// The span between two whole checks is real time; a shifted clock only makes one early.
	whole := mayWhole && (i.WholeCheckedAt == nil || now.Sub(*i.WholeCheckedAt) >= checkWhole || now.Before(*i.WholeCheckedAt))
	if whole {
		subjects = nil
	}
	found, took, err := s.violated(ctx, i.Name, subjects, whole)
	if err != nil {
		return err
	}
	return s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		return u.keepCheck(ctx, i.Name, subjects, whole, found, took)
	})
}

// violated reads a view, of the subjects or of all, and tells how many milliseconds
// that took.
func (s *Service) violated(ctx context.Context, name string, subjects []uuid.UUID, whole bool) (found []violationRow, took int64, err error) {
	err = s.view(ctx, func(ctx context.Context, tx bun.Tx, _ time.Time) error {
		if _, err := tx.NewRaw("set local statement_timeout = ?", checkTimeout.Milliseconds()).Exec(ctx); err != nil {
			return err
		}
		q := tx.NewSelect().TableExpr("?", bun.Ident(name)).DistinctOn("subject, partner").Column("subject", "partner", "wrong").OrderExpr("subject, partner").Limit(maxViolations)
		if !whole {
			q = q.Where("subject = any(?::uuid[])", textArray(subjects))
		}
		if err := q.Scan(ctx, &found); err != nil {
			return err
		}
		return tx.NewRaw("select (extract(epoch from clock_timestamp() - transaction_timestamp()) * 1000)::bigint").Scan(ctx, &took)
	})
	return found, took, err
}

// textArray writes ids as the text of an array.
func textArray(ids []uuid.UUID) string {
	text := []byte{'{'}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, id.String()...)
	}
	return string(append(text, '}'))
}

// violationRow is what stands violated.
type violationRow struct {
	bun.BaseModel `bun:"table:invariant_violations,alias:iv"`

	Name           string    `bun:",pk"`
	Subject        uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Wrong          string
	FoundAt        time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy *string
}

func (r *violationRow) public() Violation {
	return Violation{
		Invariant: r.Name, Subject: r.Subject.String(), Partner: r.Partner, Wrong: r.Wrong, FoundAt: r.FoundAt,
		AcknowledgedAt: r.AcknowledgedAt, AcknowledgedBy: r.AcknowledgedBy,
	}
}

// keepCheck writes what a check found and takes away what it found no more.
func (u *unit) keepCheck(ctx context.Context, name string, subjects []uuid.UUID, whole bool, found []violationRow, took int64) error {
	standing := make([]uuid.UUID, len(found))
	for i := range found {
		found[i].Name, found[i].FoundAt, standing[i] = name, u.now, found[i].Subject
	}
	gone := u.NewDelete().Model((*violationRow)(nil)).Where("name = ?", name).Where("subject <> all(?::uuid[])", textArray(standing))
	if !whole {
		gone = gone.Where("subject = any(?::uuid[])", textArray(subjects))
	}
	if _, err := gone.Exec(ctx); err != nil {
		return fmt.Errorf("take away violations: %w", err)
	}
	if len(found) > 0 {
		if _, err := u.NewInsert().Model(&found).On("conflict (name, subject, partner) do update").Set("wrong = excluded.wrong").Exec(ctx); err != nil {
			return fmt.Errorf("keep violations: %w", err)
		}
	}
	_, err := u.NewRaw(`insert into invariant_checks (name, checked_at, whole_at, milliseconds) values (?0, ?1, case when ?2 then ?1::timestamptz end, ?3)
		on conflict (name) do update set checked_at = excluded.checked_at, whole_at = coalesce(excluded.whole_at, invariant_checks.whole_at), milliseconds = excluded.milliseconds`,
		name, u.now, whole, took).Exec(ctx)
	return err
}

// invariants are the views and how they stand.
func (s *Service) invariants(ctx context.Context) ([]Invariant, error) {
	var rows []struct {
		Name, Says   string
		Violations   int
		CheckedAt    *time.Time
		WholeAt      *time.Time
		Milliseconds int64
	}
	err := s.db.NewRaw(`select c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as says, i.checked_at, i.whole_at,
			coalesce(i.milliseconds, 0) as milliseconds, (select count(*) from invariant_violations v where v.name = c.relname) as violations
		from pg_class c left join invariant_checks i on i.name = c.relname
		where c.relkind = 'v' and c.relnamespace = 'public'::regnamespace and c.relname like 'inv\_%' order by 1`).Scan(ctx, &rows)
	if err != nil {
		return nil, explain(fmt.Errorf("list invariants: %w", err))
	}
	list := make([]Invariant, len(rows))
	for i, r := range rows {
		list[i] = Invariant{r.Name, r.Says, r.Violations, r.CheckedAt, r.WholeAt, time.Duration(r.Milliseconds) * time.Millisecond}
	}
	return list, nil
}

// ListInvariants are all invariants and how the last check of each ended. Operators
// only.
func (s *Service) ListInvariants(ctx context.Context, actor Actor) ([]Invariant, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	return s.invariants(ctx)
}

// ListViolations are the first violations that stand, of one invariant or of all,
// the oldest first. Operators only.
func (s *Service) ListViolations(ctx context.Context, actor Actor, invariant string, most int) ([]Violation, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []violationRow
	q := s.db.NewSelect().Model(&rows).OrderExpr("iv.found_at, iv.name, iv.subject").Limit(int64(most))
	if invariant != "" {
		q = q.Where("iv.name = ?", invariant)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, explain(fmt.Errorf("list violations: %w", err))
	}
	list := make([]Violation, len(rows))
	for i := range rows {
		list[i] = rows[i].public()
	}
	return list, nil
}
