package model

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/wire"
)

var policies = &collection[policyView, wire.Policy]{
	resource: resourcePolicy, plural: "policies", requiredScope: fixedScope(ScopePoliciesRead), statuses: statusesOf(PolicyTransitions), index: indexByStatusAndProduct,
	toRecord: func(r *policyView) wire.Policy { return *r.toRecord(r.AskedAt, r.toPolicyClaims()) },
}

// GetPolicy returns one policy. Errors: not_found.
func (s *Service) GetPolicy(ctx context.Context, actor Actor, id string) (*wire.Policy, error) {
	return policies.get(ctx, s, actor, id)
}

// barePolicies lists policies without their claims, for callers that load claims as a
// relation: the embedded claims cost more than the rest of a policy.
var barePolicies = &collection[barePolicy, wire.Policy]{
	resource: resourcePolicy, plural: policies.plural, requiredScope: policies.requiredScope, statuses: policies.statuses, index: policies.index,
	toRecord: func(r *barePolicy) wire.Policy { return *r.toRecord(r.AskedAt, policyClaims{count: r.ClaimsCount}) },
}

// BarePoliciesByID returns the policies with these ids and omits unknown ids. The
// records have no Claims but their count.
func (s *Service) BarePoliciesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Policy, error) {
	return barePolicies.getMany(ctx, s, actor, ids)
}

// ListBarePolicies is ListPolicies without Claims.
func (s *Service) ListBarePolicies(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Policy], error) {
	return barePolicies.list(ctx, s, actor, f, in)
}

// ListPolicies lists policies, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListPolicies(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Policy], error) {
	return policies.list(ctx, s, actor, f, in)
}

// barePolicy is a policy with the members of its record that depend on the present
// time.
type barePolicy struct {
	policyRow `bun:",extend"`

	AskedAt     time.Time `bun:",scanonly"`
	ClaimsCount int64     `bun:",scanonly"`
}

func (*barePolicy) selectJoined(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(businessNowSQL + " as asked_at").ColumnExpr(claimsCountSQL)
}

// policyView is a policy with every member of its record.
type policyView struct {
	policyRow `bun:",extend"`
	embeddedClaims

	AskedAt time.Time `bun:",scanonly"`
}

func (*policyView) selectJoined(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(businessNowSQL + " as asked_at").ColumnExpr("n.*").Join("cross join lateral (" + newestClaimsSQL + ") as n")
}
