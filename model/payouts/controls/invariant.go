package controls

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// Invariant is a condition that must always be true, with the result of its last check.
// There is one for each view inv_*.
type Invariant struct {
	Name            string // of its view
	Description     string
	Violations      int        // open ones, up to maxViolations
	CheckedAt       *time.Time // nil before the first check
	LastFullCheckAt *time.Time // when all records were last checked, not only recently changed ones
	Took            time.Duration
}

// Violation is a record that violates an invariant.
type Violation struct {
	Invariant      string
	Subject        string // the record's id in Postgres; an event's id for invariants of events
	Partner        string
	Message        string
	FoundAt        time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy *string // the operator's subject at the issuer

	AcknowledgedByIssuer *string
}

// ViolationRow is an open violation.
type ViolationRow struct {
	bun.BaseModel `bun:"table:invariant_violations,alias:iv"`

	Name           string    `bun:",pk"`
	Subject        uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Message        string
	FoundAt        time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy *actor.PersonID
}

func (r *ViolationRow) toRecord() Violation {
	name, issuer := r.AcknowledgedBy.NameAndIssuer()
	return Violation{
		Invariant: r.Name, Subject: r.Subject.String(), Partner: r.Partner, Message: r.Message, FoundAt: r.FoundAt,
		AcknowledgedAt: r.AcknowledgedAt, AcknowledgedBy: name, AcknowledgedByIssuer: issuer,
	}
}

// loadInvariants reads the views and the results of their last checks.
func loadInvariants(ctx context.Context, s *store.Store) ([]Invariant, error) {
	var rows []struct {
		Name, Description string
		Violations        int
		CheckedAt         *time.Time
		LastFullCheckAt   *time.Time
		DurationMS        int64
	}
	err := s.DB.NewRaw(`select c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as description, i.checked_at, i.last_full_check_at,
			coalesce(i.duration_ms, 0) as duration_ms, (select count(*) from invariant_violations v where v.name = c.relname) as violations
		from pg_class c left join invariant_checks i on i.name = c.relname
		where c.relkind = 'v' and c.relnamespace = 'public'::regnamespace and c.relname like 'inv\_%' order by 1`).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list invariants: %w", err))
	}
	list := make([]Invariant, len(rows))
	for i, r := range rows {
		list[i] = Invariant{r.Name, r.Description, r.Violations, r.CheckedAt, r.LastFullCheckAt, time.Duration(r.DurationMS) * time.Millisecond}
	}
	return list, nil
}

// ListInvariants returns all invariants and the results of their last checks. Operators
// only.
func (s *Service) ListInvariants(ctx context.Context, caller actor.Actor) ([]Invariant, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	return loadInvariants(ctx, s.Store)
}

// ListViolations returns the first open violations of one invariant or of all, oldest
// first. Operators only.
func (s *Service) ListViolations(ctx context.Context, caller actor.Actor, invariant string, limit int) ([]Violation, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []ViolationRow
	q := s.DB.NewSelect().Model(&rows).OrderExpr("iv.found_at, iv.name, iv.subject").Limit(int64(limit))
	if invariant != "" {
		q = q.Where("iv.name = ?", invariant)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list violations: %w", err))
	}
	list := make([]Violation, len(rows))
	for i := range rows {
		list[i] = rows[i].toRecord()
	}
	return list, nil
}
