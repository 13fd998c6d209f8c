package model

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/money"
	"parapet/model/wire"
)

// claimRow is a claim under a policy.
type claimRow struct {
	bun.BaseModel `bun:"table:claims,alias:c"`
	RowHeader
	PartnerFields

	PolicyID          uuid.UUID `bun:"type:uuid"`
	PolicySequence    int64     // 1, 2, 3 … in its policy; Postgres assigns it at the insert
	Product           *string   // the policy's product, for lists
	Status            ClaimStatus
	Origin            Origin
	Description       *string
	OccurrenceID      *uuid.UUID `bun:"type:uuid"`
	OccurrenceKey     *string    // the occurrence's natural identity when the claim was opened
	OccurredAt        *time.Time // of the occurrence at the last determination; without one, from the request
	DeterminationID   *uuid.UUID `bun:"type:uuid"`
	Currency          string
	RequestedAmount   *int64
	Amount            *int64
	Outcome           *string
	ReasonCodes       []string `bun:",array"`
	DecidedAt         *time.Time
	NextReviewAt      *time.Time
	OpenedAt          time.Time
	ClosedAt          *time.Time
	TimelineSequence  int64
	TimelineUpdatedAt *time.Time // when the last timeline entry was written
	Retraction        *RetractionState
}

// claimRelations are the records that are embedded in a claim.
type claimRelations struct {
	occurrence    *occurrenceRow
	determination *wire.Determination
	payouts       []wire.Payout // the newest ones, in ascending order
	payoutsCount  int64
}

// setPayouts embeds the newest of all payouts of a claim.
func (p *claimRelations) setPayouts(all []*payoutRow) {
	p.payouts, p.payoutsCount = nil, int64(len(all))
	for _, row := range all[max(0, len(all)-maxEmbedded):] {
		p.payouts = append(p.payouts, *row.toRecord())
	}
}

func (r *claimRow) toRecord(parts claimRelations) *wire.Claim {
	c := &wire.Claim{
		Header: r.RowHeader.toRecord(resourceClaim), References: r.toReferences(),
		PolicyID: resourcePolicy.formatID(r.PolicyID), Status: string(r.Status), Origin: string(r.Origin),
		Description: r.Description, Determination: parts.determination, Payouts: parts.payouts, PayoutsCount: parts.payoutsCount,
		RequestedAmount: r.toMoney(r.RequestedAmount), Amount: r.toMoney(r.Amount),
		OpenedAt: r.OpenedAt, ClosedAt: r.ClosedAt,
	}
	if parts.occurrence != nil {
		c.Occurrence = parts.occurrence.toBrief(*r.OccurredAt)
	}
	if r.Outcome != nil {
		c.Decision = &wire.Decision{Outcome: *r.Outcome, ReasonCodes: r.ReasonCodes, DecidedAt: *r.DecidedAt, NextReviewAt: r.NextReviewAt}
	}
	return c
}

func (r *claimRow) toMoney(amount *int64) *wire.Money {
	if amount == nil {
		return nil
	}
	m := money.New(*amount, r.Currency)
	return &m
}

// claimWithRelations is a claim with its embedded records.
type claimWithRelations struct {
	claimRow `bun:",extend"`
	claimRelationColumns
}

// claimRelationColumns are the embedded records of a claim as one statement reads them.
type claimRelationColumns struct {
	Source        *string             `bun:",scanonly"` // of the occurrence
	SourceEventID *string             `bun:",scanonly"`
	Determined    *wire.Determination `bun:"type:json,scanonly"`
	Paying        []payoutRow         `bun:"type:json,scanonly"` // the newest ones, in ascending order
}

func (*claimWithRelations) selectJoined(q *bun.SelectQuery) *bun.SelectQuery {
	return joinClaimRelations(q)
}

// joinClaimRelations joins the embedded records of a claim c.
func joinClaimRelations(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("oc.source, oc.source_event_id, d.body as determined").
		ColumnExpr(`(select json_agg(r order by r."ClaimSequence") from (select ? from payouts as po where po.claim_id = c.id and po.partner = c.partner
			order by po.claim_sequence desc limit ?) as r) as paying`, goColumnAliases(q.DB(), (*payoutRow)(nil)), maxEmbedded).
		Join("left join occurrences as oc on oc.id = c.occurrence_id").
		Join("left join determinations as d on d.id = c.determination_id and d.partner = c.partner")
}

// toRelations converts the columns to the embedded records.
func (in *claimRelationColumns) toRelations(occurrence *uuid.UUID) claimRelations {
	parts := claimRelations{determination: in.Determined}
	if occurrence != nil && in.Source != nil {
		parts.occurrence = &occurrenceRow{ID: *occurrence, Source: *in.Source, SourceEventID: *in.SourceEventID}
	}
	for i := range in.Paying {
		parts.payouts = append(parts.payouts, *in.Paying[i].toRecord())
		parts.payoutsCount = in.Paying[i].ClaimSequence
	}
	return parts
}

var (
	claims = &collection[claimWithRelations, wire.Claim]{
		resource: resourceClaim, plural: "claims", requiredScope: fixedScope(ScopeClaimsRead), statuses: statusesOf(ClaimTransitions),
		index:    indexByStatusAndProduct,
		toRecord: func(r *claimWithRelations) wire.Claim { return *r.toRecord(r.toRelations(r.OccurrenceID)) },
	}
	claimsOfPolicies = &childCollection[claimWithRelations, wire.Claim]{
		collection: claims, cursorName: "claims", parent: resourcePolicy, parentTable: "policies", joinCondition: "!.policy_id = w.id and !.partner = w.partner",
		orderColumn: "policy_sequence", order: newestFirst,
		cursorKey: func(r *claimWithRelations) string { return strconv.FormatInt(r.PolicySequence, 10) }, parentID: func(r *claimWithRelations) uuid.UUID { return r.PolicyID },
	}
)

// GetClaim returns one claim with its payouts. Errors: not_found.
func (s *Service) GetClaim(ctx context.Context, actor Actor, id string) (*wire.Claim, error) {
	return claims.get(ctx, s, actor, id)
}

// ClaimsByID returns the claims with the given ids that the actor can see.
func (s *Service) ClaimsByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Claim, error) {
	return claims.getMany(ctx, s, actor, ids)
}

// ListClaims returns claims with their payouts, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListClaims(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Claim], error) {
	return claims.list(ctx, s, actor, f, in)
}

// ClaimsOf returns the claims of each of several policies, newest first.
func (s *Service) ClaimsOf(ctx context.Context, actor Actor, policies []string, in PageRequest) (map[string]*Page[wire.Claim], error) {
	return claimsOfPolicies.getPages(ctx, s, actor, policies, in)
}

// loadClaim reads a claim that the actor may see; scope is the one that the operation
// needs.
func (s *Service) loadClaim(ctx context.Context, actor Actor, scope Scope, id string) (*claimRow, error) {
	row := new(claimRow)
	return row, s.loadRecord(ctx, actor, scope, resourceClaim, id, row)
}

// loadClaimRecord returns the record of a claim that the transaction has loaded.
func (tx *Tx) loadClaimRecord(ctx context.Context, row *claimRow) (*wire.Claim, error) {
	parts, err := tx.loadClaimRelations(ctx, row)
	return row.toRecord(parts), err
}

// loadClaimRelations reads the embedded records of a claim within the transaction.
func (tx *Tx) loadClaimRelations(ctx context.Context, row *claimRow) (claimRelations, error) {
	in := new(claimRelationColumns)
	text := tx.store.statements.get(in, "select", func() string {
		return joinClaimRelations(tx.store.db.NewSelect().
			TableExpr("(select $1::uuid as id, $2::text as partner, $3::uuid as occurrence_id, $4::uuid as determination_id) as c")).String()
	})
	if err := tx.store.queryPreparedRow(ctx, tx.pgxConn, in, text, row.ID, row.Partner, row.OccurrenceID, row.DeterminationID); err != nil {
		return claimRelations{}, fmt.Errorf("read what stands inside a claim: %w", err)
	}
	return in.toRelations(row.OccurrenceID), nil
}

// lockClaim locks the claim and reads it. Lock it after the policy and before any payout.
func (tx *Tx) lockClaim(ctx context.Context, id uuid.UUID) (*claimRow, error) {
	row := new(claimRow)
	err := tx.lockRow(ctx, row, id, resourceClaim)
	tx.advanceClockPastTimeline(row)
	return row, err
}

// advanceClockPastTimeline advances the transaction clock past the claim's last update
// and its last timeline entry.
func (tx *Tx) advanceClockPastTimeline(row *claimRow) {
	tx.advanceClock(&row.RowHeader)
	if row.TimelineUpdatedAt != nil && row.TimelineUpdatedAt.After(tx.now) {
		tx.now = *row.TimelineUpdatedAt
	}
}
