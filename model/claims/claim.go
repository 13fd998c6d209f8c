package claims

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// ClaimRow is a claim under a policy.
type ClaimRow struct {
	bun.BaseModel `bun:"table:claims,alias:c"`
	store.RowHeader
	store.PartnerFields

	PolicyID          uuid.UUID `bun:"type:uuid"`
	PolicySequence    int64     `bun:",nullzero"` // 1, 2, 3 … in its policy; Postgres assigns it unless the insert does
	Product           string    // the policy's product, for lists
	Status            ClaimStatus
	Origin            Origin
	Description       *string
	OccurrenceID      *uuid.UUID `bun:"type:uuid"`
	OccurrenceKey     *string    // the occurrence's natural identity when the claim was opened; with several sources that of the selected report
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

// ClaimRelations are the records that are embedded in a claim.
type ClaimRelations struct {
	Occurrence    *occurrence.OccurrenceRow
	Determination *wire.Determination
	Payouts       []wire.Payout // the newest ones, in ascending order
	PayoutsCount  int64
}

// SetPayouts embeds the newest of all payouts of a claim.
func (p *ClaimRelations) SetPayouts(all []*PayoutRow) {
	p.Payouts, p.PayoutsCount = nil, int64(len(all))
	for _, row := range all[max(0, len(all)-store.MaxEmbedded):] {
		p.Payouts = append(p.Payouts, *row.ToRecord())
	}
}

// ToRecord returns the v1 record of a claim with its embedded records.
func (r *ClaimRow) ToRecord(parts ClaimRelations) *wire.Claim {
	c := &wire.Claim{
		Header: r.ToHeader(store.ResourceClaim), References: r.ToReferences(),
		PolicyID: store.ResourcePolicy.FormatID(r.PolicyID), Status: string(r.Status), Origin: string(r.Origin),
		Description: r.Description, Determination: parts.Determination, Payouts: parts.Payouts, PayoutsCount: parts.PayoutsCount,
		RequestedAmount: r.ToMoney(r.RequestedAmount), Amount: r.ToMoney(r.Amount),
		Decision: r.ToDecision(), OpenedAt: r.OpenedAt, ClosedAt: r.ClosedAt,
	}
	if parts.Occurrence != nil {
		c.Occurrence = parts.Occurrence.ToBrief(*r.OccurredAt)
	}
	return c
}

// ToDecision returns the decision on the claim; nil before there is one.
func (r *ClaimRow) ToDecision() *wire.Decision {
	if r.Outcome == nil {
		return nil
	}
	return &wire.Decision{Outcome: *r.Outcome, ReasonCodes: r.ReasonCodes, DecidedAt: *r.DecidedAt, NextReviewAt: r.NextReviewAt}
}

// ToMoney returns the amount of a claim, nil before it has one.
func (r *ClaimRow) ToMoney(amount *int64) *wire.Money {
	if amount == nil {
		return nil
	}
	m := money.New(*amount, r.Currency)
	return &m
}

// claimWithRelations is a claim with its embedded records.
type claimWithRelations struct {
	ClaimRow `bun:",extend"`
	claimRelationColumns
}

// claimRelationColumns are the embedded records of a claim as one statement reads them.
type claimRelationColumns struct {
	Source        *string             `bun:",scanonly"` // of the occurrence
	SourceEventID *string             `bun:",scanonly"`
	Determined    *wire.Determination `bun:"type:json,scanonly"`
	Paying        []PayoutRow         `bun:",scanonly"` // the newest ones, in descending order
}

func (*claimWithRelations) SelectJoined(q *bun.SelectQuery, reads func(column string) bool) *bun.SelectQuery {
	return joinClaimRelations(q, reads)
}

// joinClaimRelations joins the embedded records of a claim c.
func joinClaimRelations(q *bun.SelectQuery, reads func(column string) bool) *bun.SelectQuery {
	if reads("source") {
		q = q.ColumnExpr("oc.source, oc.source_event_id").Join("left join occurrences as oc on oc.id = c.occurrence_id")
	}
	if reads("determined") {
		q = q.ColumnExpr("d.body as determined").Join("left join determinations as d on d.id = c.determination_id and d.partner = c.partner")
	}
	if reads("paying") {
		q = q.ColumnExpr("array(select ? from payouts as po where po.claim_id = c.id and po.partner = c.partner order by po.claim_sequence desc limit ?) as paying",
			rowscan.Constructor(q.DB(), (*PayoutRow)(nil), func(column string) bool { return reads("paying." + column) }), store.MaxEmbedded)
	}
	return q
}

// toRelations converts the columns to the embedded records.
func (in *claimRelationColumns) toRelations(occurrenceID *uuid.UUID) ClaimRelations {
	parts := ClaimRelations{Determination: in.Determined}
	if occurrenceID != nil && in.Source != nil {
		parts.Occurrence = &occurrence.OccurrenceRow{ID: *occurrenceID, Source: *in.Source, SourceEventID: *in.SourceEventID}
	}
	for i := range in.Paying {
		payout := &in.Paying[len(in.Paying)-1-i]
		parts.Payouts = append(parts.Payouts, *payout.ToRecord())
		parts.PayoutsCount = payout.ClaimSequence
	}
	return parts
}

// Conditions of claims that wait for an operator; ! is the claim. Sources decide the other
// claims that are deferred. The index claims_to_decide_idx has the first one.
const (
	ToDecideSQL = `(!.status = 'opened' and !.origin = 'approval' or !.status = 'deferred' and (!.origin = 'approval'
		or !.reason_codes && array['duplicate_event', 'evidence_needed', 'compliance_hold', 'operator_decision', 'sources_disagree', 'challenge_accepted']))`
	ChallengedSQL = "!.id in (select claim_id from claim_challenges where status = 'open')"
)

// narrowToWaiting adds the conditions of claims that wait for an operator.
func narrowToWaiting(_ context.Context, _ *store.Store, f store.Filter, w *store.WhereClause) (few bool, err error) {
	if f.ToDecide {
		w.AddFew("claims", ToDecideSQL)
	}
	if f.Challenged {
		w.AddFew("claims", ChallengedSQL)
	}
	return f.ToDecide || f.Challenged, nil
}

var (
	claims = &store.Collection[claimWithRelations, wire.Claim]{
		Resource: store.ResourceClaim, Plural: "claims", RequiredScope: store.FixedScope(actor.ScopeClaimsRead), Statuses: store.StatusesOf(ClaimTransitions),
		Index:    store.IndexByStatusAndProduct,
		Narrow:   narrowToWaiting,
		ToRecord: func(r *claimWithRelations) wire.Claim { return *r.ToRecord(r.toRelations(r.OccurrenceID)) },
		Optional: []store.OptionalColumns{
			store.HeaderColumns,
			{Members: []string{"metadata"}, Columns: []string{"metadata"}},
			{Members: []string{"occurrence"}, Columns: []string{"occurrence_id", "occurred_at", "source", "source_event_id"}},
			{Members: []string{"determination"}, Columns: []string{"determined"}},
			{Members: []string{"decision"}, Columns: []string{"outcome", "reason_codes", "decided_at", "next_review_at"}},
			{Members: []string{"payouts", "payouts_count"}, Columns: []string{"paying"}},
			{Of: store.ResourcePayout, Members: store.HeaderColumns.Members, Columns: []string{"paying.version", "paying.created_at", "paying.updated_at"}},
			{
				Of: store.ResourcePayout, Members: []string{"payout_method_id", "payout_method", "attempts", "next_attempt_at", "provider", "provider_reference", "reconciled_at", "replaces_payout_id"},
				Columns: []string{"paying.payout_method_id", "paying.attempts", "paying.next_attempt_at", "paying.provider", "paying.provider_reference", "paying.reconciled_at", "paying.replaces_payout_id"},
			},
			{Columns: []string{"paying.installment", "paying.previous_block_reason", "paying.debt_digest", "paying.idempotency_seq", "paying.approvals_needed", "paying.settled_externally"}},
			{Columns: []string{"occurrence_key", "determination_id", "product", "timeline_sequence", "timeline_updated_at", "retraction"}},
		},
	}
	claimsOfPolicies = &store.ChildCollection[claimWithRelations, wire.Claim]{
		Collection: claims, CursorName: "claims", Parent: store.ResourcePolicy, ParentTable: "policies", JoinCondition: "!.policy_id = w.id and !.partner = w.partner",
		OrderColumn: "policy_sequence", Order: store.SortNewestFirst,
		CursorKey: func(r *claimWithRelations) string { return strconv.FormatInt(r.PolicySequence, 10) }, ParentID: func(r *claimWithRelations) uuid.UUID { return r.PolicyID },
	}
)

// Get returns one claim with its payouts. Errors: not_found.
func (s *Service) Get(ctx context.Context, actor actor.Actor, id string) (*wire.Claim, error) {
	return claims.Get(ctx, s.Store, actor, id)
}

// ByID returns the claims with the given ids that the actor can see.
func (s *Service) ByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Claim, error) {
	return claims.GetMany(ctx, s.Store, actor, ids)
}

// List returns claims with their payouts, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) List(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.Claim], error) {
	return claims.List(ctx, s.Store, actor, f, in)
}

// ClaimsOf returns the claims of each of several policies, newest first.
func (s *Service) ClaimsOf(ctx context.Context, actor actor.Actor, policies []string, in store.PageRequest) (map[string]*store.Page[wire.Claim], error) {
	return claimsOfPolicies.GetPages(ctx, s.Store, actor, policies, in)
}

// LoadClaim reads a claim that the actor may see; scope is the one that the operation
// needs.
func LoadClaim(ctx context.Context, s *store.Store, actor actor.Actor, scope actor.Scope, id string) (*ClaimRow, error) {
	row := new(ClaimRow)
	return row, s.LoadRecord(ctx, actor, scope, store.ResourceClaim, id, row)
}

// LoadClaimRecord returns the record of a claim that the transaction has loaded.
func LoadClaimRecord(ctx context.Context, tx *store.Tx, row *ClaimRow) (*wire.Claim, error) {
	parts, err := LoadClaimRelations(ctx, tx, row)
	return row.ToRecord(parts), err
}

// LoadClaimRelations reads the embedded records of a claim within the transaction.
func LoadClaimRelations(ctx context.Context, tx *store.Tx, row *ClaimRow) (ClaimRelations, error) {
	in := new(claimRelationColumns)
	text := tx.Store.Statements.Get(in, "select", func() string {
		return joinClaimRelations(tx.Store.DB.NewSelect().
			TableExpr("(select $1::uuid as id, $2::text as partner, $3::uuid as occurrence_id, $4::uuid as determination_id) as c"), func(string) bool { return true }).String()
	})
	if err := tx.Store.QueryPreparedRow(ctx, tx.PgxConn, in, text, row.ID, row.Partner, row.OccurrenceID, row.DeterminationID); err != nil {
		return ClaimRelations{}, fmt.Errorf("read what stands inside a claim: %w", err)
	}
	return in.toRelations(row.OccurrenceID), nil
}

// LockClaim locks the claim and reads it. Lock it after the policy and before any payout.
func LockClaim(ctx context.Context, tx *store.Tx, id uuid.UUID) (*ClaimRow, error) {
	row := new(ClaimRow)
	err := tx.LockRow(ctx, row, id, store.ResourceClaim)
	AdvanceClockPastTimeline(tx, row)
	return row, err
}

// AdvanceClockPastTimeline advances the transaction clock past the claim's last update
// and its last timeline entry.
func AdvanceClockPastTimeline(tx *store.Tx, row *ClaimRow) {
	tx.AdvanceClock(&row.RowHeader)
	if row.TimelineUpdatedAt != nil && row.TimelineUpdatedAt.After(tx.Now) {
		tx.Now = *row.TimelineUpdatedAt
	}
}
