package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/money"
	"parapet/model/wire"
)

// claimRow asks for money under a policy.
type claimRow struct {
	bun.BaseModel `bun:"table:claims,alias:c"`
	header
	references

	PolicyID         uuid.UUID `bun:"type:uuid"`
	Status           ClaimStatus
	Origin           Origin
	Description      *string
	OccurrenceID     *uuid.UUID `bun:"type:uuid"`
	OccurredAt       *time.Time
	DeterminationID  *uuid.UUID `bun:"type:uuid"`
	Currency         string
	RequestedAmount  *int64
	Amount           *int64
	Outcome          *string
	ReasonCodes      []string `bun:",array"`
	DecidedAt        *time.Time
	NextReviewAt     *time.Time
	OpenedAt         time.Time
	ClosedAt         *time.Time
	TimelineSequence int64
	ToldAt           *time.Time // of the last sentence of the story
}

// claimParts are the records that stand inside a claim.
type claimParts struct {
	occurrence    *occurrenceRow
	determination *wire.Determination
	payouts       []wire.Payout
}

func (r *claimRow) public(parts claimParts) *wire.Claim {
	c := &wire.Claim{
		Header: r.header.public(nounClaim), References: r.own(),
		PolicyID: nounPolicy.id(r.PolicyID), Status: string(r.Status), Origin: string(r.Origin),
		Description: r.Description, Determination: parts.determination, Payouts: parts.payouts,
		RequestedAmount: r.money(r.RequestedAmount), Amount: r.money(r.Amount),
		OpenedAt: r.OpenedAt, ClosedAt: r.ClosedAt,
	}
	if parts.occurrence != nil {
		c.Occurrence = parts.occurrence.brief(*r.OccurredAt)
	}
	if r.Outcome != nil {
		c.Decision = &wire.Decision{Outcome: *r.Outcome, ReasonCodes: r.ReasonCodes, DecidedAt: *r.DecidedAt, NextReviewAt: r.NextReviewAt}
	}
	return c
}

func (r *claimRow) money(amount *int64) *wire.Money {
	if amount == nil {
		return nil
	}
	m := money.New(*amount, r.Currency)
	return &m
}

// GetClaim is one claim with its payouts. Errors: not_found.
func (s *Service) GetClaim(ctx context.Context, actor Actor, id string) (*wire.Claim, error) {
	row, err := s.claimOf(ctx, actor, ScopeClaimsRead, id)
	if err != nil {
		return nil, err
	}
	claim, err := publicClaim(ctx, s.db, row)
	return claim, explain(err)
}

// claimOf reads a claim the actor may see, under the scope of the operation.
func (s *Service) claimOf(ctx context.Context, actor Actor, scope Scope, id string) (*claimRow, error) {
	row := new(claimRow)
	return row, s.read(ctx, actor, scope, nounClaim, id, row)
}

// publicClaim reads what stands inside a claim.
func publicClaim(ctx context.Context, db bun.IDB, row *claimRow) (*wire.Claim, error) {
	parts, err := partsOf(ctx, db, []claimRow{*row})
	if err != nil {
		return nil, err
	}
	return row.public(parts[row.ID]), nil
}

// partsOf reads what stands inside claims: one statement a kind of record,
// however many claims there are.
func partsOf(ctx context.Context, db bun.IDB, rows []claimRow) (map[uuid.UUID]claimParts, error) {
	parts := make(map[uuid.UUID]claimParts, len(rows))
	if len(rows) == 0 {
		return parts, nil
	}
	var claims, occurred, determined []uuid.UUID
	for _, row := range rows {
		claims = append(claims, row.ID)
		if row.OccurrenceID != nil {
			occurred, determined = append(occurred, *row.OccurrenceID), append(determined, *row.DeterminationID)
		}
	}
	occurrences, determinations, payouts := []occurrenceRow{}, []determinationRow{}, []payoutRow{}
	err := db.NewSelect().Model(&payouts).Where("claim_id in (?)", bun.List(claims)).OrderExpr("id").Scan(ctx)
	if err == nil && len(occurred) > 0 {
		err = db.NewSelect().Model(&occurrences).Where("id in (?)", bun.List(occurred)).Scan(ctx)
	}
	if err == nil && len(determined) > 0 {
		err = db.NewSelect().Model(&determinations).Column("id", "body").Where("id in (?)", bun.List(determined)).Scan(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read what stands inside claims: %w", err)
	}
	for i := range rows {
		parts[rows[i].ID] = rows[i].parts(occurrences, determinations, payouts)
	}
	return parts, nil
}

// parts picks a claim's own.
func (r *claimRow) parts(occurrences []occurrenceRow, determinations []determinationRow, payouts []payoutRow) claimParts {
	var parts claimParts
	for i := range occurrences {
		if r.OccurrenceID != nil && occurrences[i].ID == *r.OccurrenceID {
			parts.occurrence = &occurrences[i]
		}
	}
	for i := range determinations {
		if r.DeterminationID != nil && determinations[i].ID == *r.DeterminationID {
			parts.determination = &determinations[i].Body
		}
	}
	for i := range payouts {
		if payouts[i].ClaimID == r.ID {
			parts.payouts = append(parts.payouts, *payouts[i].public())
		}
	}
	return parts
}

// lockClaim locks the claim and reads it. It comes after the policy's lock and
// before any payout's.
func (u *unit) lockClaim(ctx context.Context, id uuid.UUID) (*claimRow, error) {
	row := new(claimRow)
	err := u.locked(ctx, row, id, nounClaim)
	u.sinceTold(row)
	return row, err
}

// sinceTold is since for a locked claim: its story goes on without a change of the
// record, and must not go back in time either.
func (u *unit) sinceTold(row *claimRow) {
	u.since(&row.header)
	if row.ToldAt != nil && row.ToldAt.After(u.now) {
		u.now = *row.ToldAt
	}
}
