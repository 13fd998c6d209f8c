package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// Filter filters a list. Empty fields do not filter.
type Filter struct {
	Status           string
	Product          string     // not for payouts and payout methods
	PolicyID         string     // for claims, payouts and payout methods
	ClaimID          string     // for payouts and payout methods
	Partner          string     // for operators, who see all partners
	PartnerReference string     // not for payouts
	CreatedFrom      *time.Time // inclusive
	CreatedTo        *time.Time // exclusive
}

// sortOrder is the direction of a list along its ids, which grow with time.
type sortOrder struct{ keyword, comparison string }

var (
	newestFirst = sortOrder{"desc", "<"}
	oldestFirst = sortOrder{"asc", ">"}
	sortOrders  = map[Order]sortOrder{NewestFirst: newestFirst, OldestFirst: oldestFirst}
)

// orDefault returns the direction, or the list's own when none was requested.
func (d sortOrder) orDefault(own sortOrder) sortOrder {
	if d.keyword == "" {
		return own
	}
	return d
}

// reversed returns the opposite direction if turn is set, to read the end of a list.
func (d sortOrder) reversed(reverse bool) sortOrder {
	switch {
	case !reverse:
		return d
	case d == newestFirst:
		return oldestFirst
	default:
		return newestFirst
	}
}

// fetchPage reads one page of q into rows, in order of id, for lists that have no
// collection because they are read rarely. Keyset paging keeps pages stable while new
// rows are inserted.
func (s *Store) fetchPage(ctx context.Context, actor Actor, q *bun.SelectQuery, in PageRequest, name string, own sortOrder) (pageSpec, error) {
	p, err := s.parsePage(actor, in, name)
	if err != nil {
		return p, err
	}
	p.count = s.newCounter(q.Clone().ColumnExpr("1"))
	direction := p.order.orDefault(own).reversed(p.last)
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return p, fmt.Errorf("cursor of %s: %w", name, err)
		}
		q = q.Where("?TableAlias.id "+direction.comparison+" ?", after)
	}
	if err := q.OrderExpr("?TableAlias.id " + direction.keyword).Limit(p.fetchLimit()).Scan(ctx); err != nil {
		return p, translateError(fmt.Errorf("list %s: %w", name, err))
	}
	return p, nil
}

// newCounter returns a function that counts the rows of a query, up to MaxTotal+1.
func (s *Store) newCounter(q *bun.SelectQuery) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		n, err := s.db.NewSelect().TableExpr("(?) as counted", q.Limit(MaxTotal+1)).Count(ctx)
		return int(n), err
	}
}

// cursorName binds a cursor to the list and its filter.
func (f Filter) cursorName(list string) string {
	all := []any{f.Status, f.Product, f.PolicyID, f.PartnerReference, f.CreatedFrom, f.CreatedTo}
	if f.Partner != "" || f.ClaimID != "" {
		all = append(all, f.Partner, f.ClaimID)
	}
	return fmt.Sprintf("%s?%q", list, all)
}

// requireStatus returns an error for a status that is not in statuses.
func (f Filter) requireStatus(statuses []string) error {
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return badParameter("status", "Use one of "+strings.Join(statuses, ", ")+".")
	}
	return nil
}

// applyFilter applies the filter except status, product and partner. policy is the SQL
// condition for the policy.
func (f Filter) applyFilter(w *whereClause, policy string) error {
	if f.PolicyID != "" {
		id, err := resourcePolicy.parseID(f.PolicyID)
		if err != nil {
			return badParameter("policy_id", "Use a policy's id, pol_ and 26 characters.")
		}
		w.addTerm(cmp.Or(policy, "!.policy_id = ?"), id)
	}
	if f.ClaimID != "" {
		id, err := resourceClaim.parseID(f.ClaimID)
		if err != nil {
			return badParameter("claim_id", "Use a claim's id, clm_ and 26 characters.")
		}
		w.addTerm("!.claim_id = ?", id)
	}
	if f.PartnerReference != "" {
		w.addTerm("!.partner_reference = ?", f.PartnerReference)
	}
	if f.CreatedFrom != nil {
		w.addTerm("!.created_at >= ?", *f.CreatedFrom)
		w.addTerm("!.id >= ?", lowestIDAt(f.CreatedFrom.Add(-idTimeTolerance)))
	}
	if f.CreatedTo != nil {
		w.addTerm("!.created_at < ?", *f.CreatedTo)
		w.addTerm("!.id <= ?", lowestIDAt(f.CreatedTo.Add(idTimeTolerance)))
	}
	return nil
}

// idTimeTolerance is the largest difference between the time in a record's id and its
// created_at: earlier releases took the id's time from the machine that created it.
const idTimeTolerance = time.Minute

// isSelective reports whether the filter alone selects few records.
func (f Filter) isSelective() bool {
	return f.PolicyID != "" || f.ClaimID != "" || f.PartnerReference != ""
}

// statusesOf returns the statuses of a life cycle.
func statusesOf[S ~string](arrows []Transition[S]) []string {
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
