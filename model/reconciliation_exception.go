package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/money"
)

// findingRow is a difference between a rail's report and what we hold, or a payout
// that was made twice.
type findingRow struct {
	bun.BaseModel `bun:"table:findings,alias:fi"`

	ID              uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt       time.Time
	Kind            string
	Rail            *string    // nil where no rail has to do with it
	ReportID        *uuid.UUID `bun:"type:uuid"`
	Line            *int
	Partner         *string
	PolicyID        *uuid.UUID `bun:"type:uuid"`
	PayoutID        *uuid.UUID `bun:"type:uuid"`
	RelatedPayoutID *uuid.UUID `bun:"type:uuid"` // the payout that paid for the same event before
	Detail          *string
	ClosedAt        *time.Time
	ClosedBy        *personID
	ClosedReason    *string
}

// FindingKind is in what a report and our payouts differ: what a line came to, or
// that a line is missing.
type FindingKind = string

// Finding is a difference that an operator looks into.
type Finding struct {
	ID              string
	At              time.Time
	Kind            FindingKind
	Rail            *string // nil where no rail has to do with it
	ReportID        *string // nil for what no report has confirmed in time
	Line            *int    // of the report, from 1; nil for what is missing
	Partner         *string
	PolicyID        *string
	PayoutID        *string
	RelatedPayoutID *string // of what was paid twice: the payout before
	Detail          *string // why a line could not be matched
	ClosedAt        *time.Time
	ClosedBy        *string // the operator, as the issuer calls them
	ClosedReason    *string
	// What the line says, or of what is missing the payout.
	Key        *string
	Reference  *string // the rail's
	Amount     *money.Money
	Account    *string // masked
	Status     *string // of LineStatus; nil for what is missing
	Code       *string // why, in the rail's own word
	ReportedAt *time.Time

	ClosedByIssuer *string
}

func (r *findingRow) public() Finding {
	closedBy, issuer := r.ClosedBy.optional()
	return Finding{
		ID: nounFinding.id(r.ID), At: r.CreatedAt, Kind: r.Kind, Rail: r.Rail, ReportID: nounReport.optional(r.ReportID), Line: r.Line,
		Partner: r.Partner, PolicyID: nounPolicy.optional(r.PolicyID), PayoutID: nounPayout.optional(r.PayoutID), RelatedPayoutID: nounPayout.optional(r.RelatedPayoutID), Detail: r.Detail, ClosedAt: r.ClosedAt,
		ClosedBy: closedBy, ClosedByIssuer: issuer, ClosedReason: r.ClosedReason,
	}
}

// ListFindings are differences, newest first: the open ones, or all. Operators
// only. Errors: cursor_invalid, parameter_invalid.
func (s *Service) ListFindings(ctx context.Context, actor Actor, closedToo bool, in PageRequest) (*Page[Finding], error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []findingRow
	q := s.db.NewSelect().Model(&rows)
	if !closedToo {
		q = q.Where("fi.closed_at is null")
	}
	p, err := s.fetch(ctx, actor, q, in, fmt.Sprintf("findings/%t", closedToo), newestFirst)
	if err != nil {
		return nil, err
	}
	list, err := paged(p, rows, func(r *findingRow) string { return r.ID.String() }, (*findingRow).public)
	if err != nil {
		return nil, err
	}
	return list, explain(s.describeFindings(ctx, rows, list.Data))
}

// FindingRequest closes a difference.
type FindingRequest struct {
	ID     string
	Reason string // what it came from, private
}

// CloseFinding closes a difference that was looked into. It moves no money.
// Operators only. Errors: not_found, validation_failed, state_conflict.
func (s *Service) CloseFinding(ctx context.Context, actor Actor, in FindingRequest) (*Finding, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := fieldCheck{}
	c.note(&in.Reason, "/reason")
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	id, err := nounFinding.parse(in.ID)
	if err != nil {
		return nil, err
	}
	row := new(findingRow)
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		if err := u.NewSelect().Model(row).Where("fi.id = ?", id).For("update").Scan(ctx); err != nil {
			if absent(err) {
				return nounFinding.notFound()
			}
			return fmt.Errorf("read finding: %w", err)
		}
		if row.ClosedAt != nil {
			return Fail(CodeStateConflict, "The finding is closed already.")
		}
		row.ClosedAt, row.ClosedBy, row.ClosedReason = &u.now, new(actor.personID()), &in.Reason
		if _, err := u.NewUpdate().Model(row).Column("closed_at", "closed_by", "closed_reason").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("close finding: %w", err)
		}
		public := row.public()
		u.about("", public.ID, &in.Reason)
		return u.answered(statusOK, public.ID, &public)
	})
	if err != nil {
		return nil, err
	}
	public := []Finding{row.public()}
	return &public[0], explain(s.describeFindings(ctx, []findingRow{*row}, public))
}
