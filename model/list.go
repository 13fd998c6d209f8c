package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// Filter narrows a list. Empty members do not.
type Filter struct {
	Status           string
	Product          string
	PolicyID         string // claims only
	PartnerReference string
	CreatedFrom      *time.Time // included
	CreatedTo        *time.Time // left out
}

// direction is how a list runs along its ids, which grow with time.
type direction struct{ order, beyond string }

var (
	newestFirst = direction{"desc", "<"}
	oldestFirst = direction{"asc", ">"}
)

// fetch reads one page of q into rows, in order of id. Keyset paging keeps pages
// stable while new rows come in.
func (s *Service) fetch(ctx context.Context, actor Actor, q *bun.SelectQuery, in PageRequest, name string, along direction) (page, error) {
	p, err := s.page(actor, in, name)
	if err != nil {
		return p, err
	}
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return p, fmt.Errorf("cursor of %s: %w", name, err)
		}
		q = q.Where("?TableAlias.id "+along.beyond+" ?", after)
	}
	if err := q.OrderExpr("?TableAlias.id " + along.order).Limit(p.fetch()).Scan(ctx); err != nil {
		return p, explain(fmt.Errorf("list %s: %w", name, err))
	}
	return p, nil
}

// listed makes a page of rows that begin with a header.
func listed[Row any, P interface {
	*Row
	head() *header
}, Record any](p page, rows []Row, public func(*Row) Record,
) (*wire.List[Record], error) {
	return paged(p, rows, func(r *Row) string { return P(r).head().ID.String() }, public)
}

// name binds a cursor to the list and everything that narrows it.
func (f Filter) name(list string) string {
	return fmt.Sprintf("%s?%q", list, []any{f.Status, f.Product, f.PolicyID, f.PartnerReference, f.CreatedFrom, f.CreatedTo})
}

// narrow applies the filter; statuses are the words that the noun knows.
func (f Filter) narrow(q *bun.SelectQuery, statuses []string) (*bun.SelectQuery, error) {
	if f.Status != "" {
		if !slices.Contains(statuses, f.Status) {
			return nil, badParameter("status", "Use one of "+strings.Join(statuses, ", ")+".")
		}
		q = q.Where("?TableAlias.status = ?", f.Status)
	}
	if f.Product != "" {
		q = q.Where("?TableAlias.product = ?", f.Product)
	}
	if f.PartnerReference != "" {
		q = q.Where("?TableAlias.partner_reference = ?", f.PartnerReference)
	}
	if f.CreatedFrom != nil {
		q = q.Where("?TableAlias.created_at >= ?", *f.CreatedFrom)
	}
	if f.CreatedTo != nil {
		q = q.Where("?TableAlias.created_at < ?", *f.CreatedTo)
	}
	return q, nil
}

// list reads one page of a noun for an actor, narrowed.
func (s *Service) list(ctx context.Context, actor Actor, scope Scope, q *bun.SelectQuery, f Filter, statuses []string, in PageRequest, name string) (page, error) {
	if err := s.authorize(ctx, actor, scope); err != nil {
		return page{}, err
	}
	q, err := f.narrow(actor.tenancy(q), statuses)
	if err != nil {
		return page{}, err
	}
	return s.fetch(ctx, actor, q, in, f.name(name), newestFirst)
}

// ListQuotes are quotes, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListQuotes(ctx context.Context, actor Actor, f Filter, in PageRequest) (*wire.List[wire.Quote], error) {
	var rows []quoteRow
	p, err := s.list(ctx, actor, ScopeQuotesRead, s.db.NewSelect().Model(&rows), f, states(QuoteArrows), in, "quotes")
	if err != nil {
		return nil, err
	}
	return listed(p, rows, func(r *quoteRow) wire.Quote { return *r.public() })
}

// ListPolicies are policies, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListPolicies(ctx context.Context, actor Actor, f Filter, in PageRequest) (*wire.List[wire.Policy], error) {
	var rows []policyRow
	p, err := s.list(ctx, actor, ScopePoliciesRead, s.db.NewSelect().Model(&rows), f, states(PolicyArrows), in, "policies")
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, explain(err)
	}
	briefs, err := claimBriefs(ctx, s.db, ids)
	if err != nil {
		return nil, explain(err)
	}
	return listed(p, rows, func(r *policyRow) wire.Policy { return *r.public(now, briefs[r.ID]) })
}

// ListClaims are claims with their payouts, newest first. Errors:
// parameter_invalid, cursor_invalid.
func (s *Service) ListClaims(ctx context.Context, actor Actor, f Filter, in PageRequest) (*wire.List[wire.Claim], error) {
	var rows []claimRow
	q := s.db.NewSelect().Model(&rows)
	if f.PolicyID != "" {
		id, err := nounPolicy.parse(f.PolicyID)
		if err != nil {
			return nil, badParameter("policy_id", "Use a policy's id, pol_ and 26 characters.")
		}
		q = q.Where("c.policy_id = ?", id)
	}
	if f.Product != "" { // a claim's product is its policy's
		q = q.Where("exists (select from policies p where p.id = c.policy_id and p.partner = c.partner and p.product = ?)", f.Product)
	}
	bound := f
	bound.Product = ""
	p, err := s.list(ctx, actor, ScopeClaimsRead, q, bound, states(ClaimArrows), in, f.name("claims"))
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(ctx, s.db, rows)
	if err != nil {
		return nil, explain(err)
	}
	return listed(p, rows, func(r *claimRow) wire.Claim { return *r.public(parts[r.ID]) })
}

// states are the words of a life cycle.
func states[S ~string](arrows []Arrow[S]) []string {
	var words []string
	for _, a := range arrows {
		for _, state := range []S{a.From, a.To} {
			if !slices.Contains(words, string(state)) {
				words = append(words, string(state))
			}
		}
	}
	return words
}
