package underwriting

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// maxFewInBox is the largest number of policies in a box that are found by the index of
// footprints. More of them lie close together in any other order too.
const maxFewInBox = store.MaxTotal

// narrowToBox adds the condition of the filter's box. Postgres cannot estimate how many
// policies a box has, so they are counted first: few are found by the index and sorted,
// many are met soon in the order of the list.
func narrowToBox(ctx context.Context, s *store.Store, f store.Filter, w *store.WhereClause) (few bool, err error) {
	if f.Box == nil {
		return false, nil
	}
	if !f.Box.IsOnGlobe() {
		return false, capacity.InvalidBox()
	}
	boxes := capacity.SearchBoxes([]hazard.Box{f.Box.Unwrapped()})
	const condition = "!.status <> 'archived' and !.footprint && any(?::text[]::box[])"
	n, err := s.NewCounter(s.DB.NewSelect().TableExpr("policies as few").ColumnExpr("1").Where(strings.ReplaceAll(condition, "!", "few"), pgdialect.Array(boxes)))(ctx)
	if err != nil {
		return false, store.TranslateError(fmt.Errorf("count policies of a box: %w", err))
	}
	if few = n <= maxFewInBox; few {
		w.AddFew("policies", condition, boxes)
	} else {
		w.AddTerm("("+condition+") is true", boxes) // no index has this condition
	}
	return few, nil
}

var policies = &store.Collection[policyView, wire.StoredPolicy]{
	Resource: store.ResourcePolicy, Plural: "policies", RequiredScope: store.FixedScope(actor.ScopePoliciesRead), Statuses: store.StatusesOf(PolicyTransitions), Index: store.IndexByStatusAndProduct,
	Keys:   "policy_keys",
	Narrow: narrowToBox,
	ToRecord: func(r *policyView) wire.StoredPolicy {
		return wire.StoredPolicy{PolicyHead: r.toHead(r.AskedAt), Cover: r.CoverText, PolicyTail: r.toTail(r.toPolicyClaims())}
	},
	Optional: []store.OptionalColumns{{Columns: []string{"cover"}}, matchColumns},
}

// matchColumns are read by matching only.
var matchColumns = store.OptionalColumns{Columns: []string{"reportable_until", "kind", "footprint", "station", "definition", "days", "threshold"}}

// Get returns one policy. Errors: not_found.
func (s *Service) Get(ctx context.Context, actor actor.Actor, id string) (*wire.StoredPolicy, error) {
	return policies.Get(ctx, s.Store, actor, id)
}

// barePolicies lists policies without their claims, for callers that load claims as a
// relation: the embedded claims cost more than the rest of a policy.
var barePolicies = &store.Collection[barePolicy, wire.Policy]{
	Resource: store.ResourcePolicy, Plural: policies.Plural, RequiredScope: policies.RequiredScope, Statuses: policies.Statuses, Index: policies.Index,
	Keys:   policies.Keys,
	Narrow: narrowToBox,
	ToRecord: func(r *barePolicy) wire.Policy {
		return wire.Policy{PolicyHead: r.toHead(r.AskedAt), PolicyCover: wire.PolicyCover{Cover: r.Cover}, PolicyTail: r.toTail(PolicyClaims{count: r.ClaimsCount})}
	},
	Optional: []store.OptionalColumns{
		store.HeaderColumns,
		{Members: []string{"metadata"}, Columns: []string{"metadata"}},
		{Members: []string{"policyholder"}, Columns: []string{"policyholder"}},
		{Members: []string{"cover"}, Columns: []string{"cover"}},
		{Members: []string{"terms_hash"}, Columns: []string{"terms_hash"}},
		{Members: []string{"cover_phase"}, Columns: []string{"payable_from", "asked_at"}},
		{Members: []string{"claims_count"}, Columns: []string{"claims_count"}},
		matchColumns,
	},
}

// GetBare is Get with the decoded cover and without Claims.
func (s *Service) GetBare(ctx context.Context, actor actor.Actor, id string) (*wire.Policy, error) {
	return barePolicies.Get(ctx, s.Store, actor, id)
}

// BareByID returns the policies with these ids and omits unknown ids. The
// records have no Claims but their count.
func (s *Service) BareByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Policy, error) {
	return barePolicies.GetMany(ctx, s.Store, actor, ids)
}

// ListBare is List without Claims.
func (s *Service) ListBare(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.Policy], error) {
	return barePolicies.List(ctx, s.Store, actor, f, in)
}

// List lists policies, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) List(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.StoredPolicy], error) {
	return policies.List(ctx, s.Store, actor, f, in)
}

// barePolicy is a policy with the members of its record that depend on the present
// time.
type barePolicy struct {
	PolicyRow `bun:",extend"`

	AskedAt     time.Time `bun:",scanonly"`
	ClaimsCount int64     `bun:",scanonly"`
}

func (*barePolicy) SelectJoined(q *bun.SelectQuery, reads func(column string) bool) *bun.SelectQuery {
	if reads("asked_at") {
		q = q.ColumnExpr(store.BusinessNowSQL + " as asked_at")
	}
	if reads("claims_count") {
		q = q.ColumnExpr(claimsCountSQL)
	}
	return q
}

// policyView is a policy with every member of its record.
type policyView struct {
	PolicyRow `bun:",extend"`
	embeddedClaims

	AskedAt   time.Time      `bun:",scanonly"`
	CoverText jsontext.Value `bun:"type:json,scanonly"`
}

func (*policyView) SelectJoined(q *bun.SelectQuery, _ func(string) bool) *bun.SelectQuery {
	return q.ColumnExpr("p.cover as cover_text").ColumnExpr(store.BusinessNowSQL + " as asked_at").ColumnExpr("n.*").Join("cross join lateral (" + newestClaimsSQL + ") as n")
}
