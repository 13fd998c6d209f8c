package model

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// claimRow is a claim under a policy.
type claimRow struct {
	bun.BaseModel `bun:"table:claims,alias:c"`
	store.RowHeader
	store.PartnerFields

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
	for _, row := range all[max(0, len(all)-store.MaxEmbedded):] {
		p.payouts = append(p.payouts, *row.toRecord())
	}
}

func (r *claimRow) toRecord(parts claimRelations) *wire.Claim {
	c := &wire.Claim{
		Header: r.ToHeader(store.ResourceClaim), References: r.ToReferences(),
		PolicyID: store.ResourcePolicy.FormatID(r.PolicyID), Status: string(r.Status), Origin: string(r.Origin),
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

func (*claimWithRelations) SelectJoined(q *bun.SelectQuery) *bun.SelectQuery {
	return joinClaimRelations(q)
}

// joinClaimRelations joins the embedded records of a claim c.
func joinClaimRelations(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("oc.source, oc.source_event_id, d.body as determined").
		ColumnExpr(`(select json_agg(r order by r."ClaimSequence") from (select ? from payouts as po where po.claim_id = c.id and po.partner = c.partner
			order by po.claim_sequence desc limit ?) as r) as paying`, store.GoColumnAliases(q.DB(), (*payoutRow)(nil)), store.MaxEmbedded).
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
	claims = &store.Collection[claimWithRelations, wire.Claim]{
		Resource: store.ResourceClaim, Plural: "claims", RequiredScope: store.FixedScope(actor.ScopeClaimsRead), Statuses: store.StatusesOf(ClaimTransitions),
		Index:    store.IndexByStatusAndProduct,
		ToRecord: func(r *claimWithRelations) wire.Claim { return *r.toRecord(r.toRelations(r.OccurrenceID)) },
	}
	claimsOfPolicies = &store.ChildCollection[claimWithRelations, wire.Claim]{
		Collection: claims, CursorName: "claims", Parent: store.ResourcePolicy, ParentTable: "policies", JoinCondition: "!.policy_id = w.id and !.partner = w.partner",
		OrderColumn: "policy_sequence", Order: store.SortNewestFirst,
		CursorKey: func(r *claimWithRelations) string { return strconv.FormatInt(r.PolicySequence, 10) }, ParentID: func(r *claimWithRelations) uuid.UUID { return r.PolicyID },
	}
)

// GetClaim returns one claim with its payouts. Errors: not_found.
func (s *Service) GetClaim(ctx context.Context, actor actor.Actor, id string) (*wire.Claim, error) {
	return claims.Get(ctx, s.Store, actor, id)
}

// ClaimsByID returns the claims with the given ids that the actor can see.
func (s *Service) ClaimsByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Claim, error) {
	return claims.GetMany(ctx, s.Store, actor, ids)
}

// ListClaims returns claims with their payouts, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListClaims(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.Claim], error) {
	return claims.List(ctx, s.Store, actor, f, in)
}

// ClaimsOf returns the claims of each of several policies, newest first.
func (s *Service) ClaimsOf(ctx context.Context, actor actor.Actor, policies []string, in store.PageRequest) (map[string]*store.Page[wire.Claim], error) {
	return claimsOfPolicies.GetPages(ctx, s.Store, actor, policies, in)
}

// loadClaim reads a claim that the actor may see; scope is the one that the operation
// needs.
func (s *Service) loadClaim(ctx context.Context, actor actor.Actor, scope actor.Scope, id string) (*claimRow, error) {
	row := new(claimRow)
	return row, s.LoadRecord(ctx, actor, scope, store.ResourceClaim, id, row)
}

// loadClaimRecord returns the record of a claim that the transaction has loaded.
func loadClaimRecord(ctx context.Context, tx *store.Tx, row *claimRow) (*wire.Claim, error) {
	parts, err := loadClaimRelations(ctx, tx, row)
	return row.toRecord(parts), err
}

// loadClaimRelations reads the embedded records of a claim within the transaction.
func loadClaimRelations(ctx context.Context, tx *store.Tx, row *claimRow) (claimRelations, error) {
	in := new(claimRelationColumns)
	text := tx.Store.Statements.Get(in, "select", func() string {
		return joinClaimRelations(tx.Store.DB.NewSelect().
			TableExpr("(select $1::uuid as id, $2::text as partner, $3::uuid as occurrence_id, $4::uuid as determination_id) as c")).String()
	})
	if err := tx.Store.QueryPreparedRow(ctx, tx.PgxConn, in, text, row.ID, row.Partner, row.OccurrenceID, row.DeterminationID); err != nil {
		return claimRelations{}, fmt.Errorf("read what stands inside a claim: %w", err)
	}
	return in.toRelations(row.OccurrenceID), nil
}

// lockClaim locks the claim and reads it. Lock it after the policy and before any payout.
func lockClaim(ctx context.Context, tx *store.Tx, id uuid.UUID) (*claimRow, error) {
	row := new(claimRow)
	err := tx.LockRow(ctx, row, id, store.ResourceClaim)
	advanceClockPastTimeline(tx, row)
	return row, err
}

// advanceClockPastTimeline advances the transaction clock past the claim's last update
// and its last timeline entry.
func advanceClockPastTimeline(tx *store.Tx, row *claimRow) {
	tx.AdvanceClock(&row.RowHeader)
	if row.TimelineUpdatedAt != nil && row.TimelineUpdatedAt.After(tx.Now) {
		tx.Now = *row.TimelineUpdatedAt
	}
}
