package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

var policies = &shelf[policyView, wire.Policy]{
	kind: nounPolicy, plural: "policies", scope: always(ScopePoliciesRead), statuses: states(PolicyArrows), product: "!.product = ?",
	public: func(r *policyView) wire.Policy { return *r.record() },
}

// GetPolicy is one policy. Errors: not_found.
func (s *Service) GetPolicy(ctx context.Context, actor Actor, id string) (*wire.Policy, error) {
	return policies.get(ctx, s, actor, id)
}

// barePolicies are policies without their claims, for whoever reads claims as a
// relation: the lists cost more than the rest of a policy.
var barePolicies = &shelf[barePolicy, wire.Policy]{
	kind: nounPolicy, plural: policies.plural, scope: policies.scope, statuses: policies.statuses, product: policies.product,
	public: func(r *barePolicy) wire.Policy { return *r.public(r.AskedAt, nil) },
}

// BarePoliciesByID are those policies of the ids that there are, without Claims.
func (s *Service) BarePoliciesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Policy, error) {
	return barePolicies.named(ctx, s, actor, ids)
}

// ListBarePolicies is ListPolicies without Claims.
func (s *Service) ListBarePolicies(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Policy], error) {
	return barePolicies.list(ctx, s, actor, f, in)
}

// ListPolicies are policies, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListPolicies(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Policy], error) {
	return policies.list(ctx, s, actor, f, in)
}

// barePolicy is a policy with what its record tells of this moment.
type barePolicy struct {
	policyRow `bun:",extend"`

	AskedAt time.Time `bun:",scanonly"`
}

func (*barePolicy) view(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(businessNow + " as asked_at")
}

// policyView is a policy with all that its record shows.
type policyView struct {
	policyRow `bun:",extend"`

	AskedAt       time.Time   `bun:",scanonly"`
	ClaimIDs      []uuid.UUID `bun:"claim_ids,array,scanonly"`
	ClaimStatuses []string    `bun:"claim_statuses,array,scanonly"`
}

// claimsOfPolicy is one column of a policy's claims, oldest first.
const claimsOfPolicy = "array(select c.%s from claims c where c.policy_id = p.id and c.partner = p.partner order by c.id) as %s"

func (*policyView) view(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(businessNow + " as asked_at").
		ColumnExpr(fmt.Sprintf(claimsOfPolicy, "id", "claim_ids")).ColumnExpr(fmt.Sprintf(claimsOfPolicy, "status", "claim_statuses"))
}

func (r *policyView) record() *wire.Policy {
	var claims []wire.ClaimBrief
	for i, id := range r.ClaimIDs {
		claims = append(claims, claimBrief{id, r.ClaimStatuses[i]}.public())
	}
	return r.public(r.AskedAt, claims)
}

type claimBrief struct {
	ID     uuid.UUID
	Status string
}

func (b claimBrief) public() wire.ClaimBrief {
	return wire.ClaimBrief{ID: nounClaim.id(b.ID), Status: b.Status}
}

// claimBriefs names the claims of policies, oldest first.
func claimBriefs(ctx context.Context, db bun.IDB, policies []uuid.UUID) (map[uuid.UUID][]wire.ClaimBrief, error) {
	var rows []claimRow
	err := db.NewSelect().Model(&rows).Column("id", "policy_id", "status").
		Where("c.policy_id in (?)", bun.List(policies)).OrderExpr("c.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list claims of policies: %w", err)
	}
	briefs := make(map[uuid.UUID][]wire.ClaimBrief)
	for _, row := range rows {
		briefs[row.PolicyID] = append(briefs[row.PolicyID], claimBrief{row.ID, string(row.Status)}.public())
	}
	return briefs, nil
}
