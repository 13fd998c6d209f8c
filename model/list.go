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

// Filter narrows a list. Empty members do not.
type Filter struct {
	Status           string
	Product          string     // not of payouts and payout methods
	PolicyID         string     // of claims, payouts and payout methods
	ClaimID          string     // of payouts and payout methods
	Partner          string     // for operators, who see every partner's
	PartnerReference string     // not of payouts
	CreatedFrom      *time.Time // included
	CreatedTo        *time.Time // left out
}

// sortOrder is how a list runs along its ids, which grow with time.
type sortOrder struct{ keyword, comparison string }

var (
	newestFirst = sortOrder{"desc", "<"}
	oldestFirst = sortOrder{"asc", ">"}
	sortOrders  = map[Order]sortOrder{NewestFirst: newestFirst, OldestFirst: oldestFirst}
)

// orDefault is the direction, or the list's own where none was asked for.
func (d sortOrder) orDefault(own sortOrder) sortOrder {
	if d.keyword == "" {
		return own
	}
	return d
}

// reversed is the other direction, for the end of a list.
func (d sortOrder) reversed(turn bool) sortOrder {
	switch {
	case !turn:
		return d
	case d == newestFirst:
		return oldestFirst
	default:
		return newestFirst
	}
}

// fetchPage reads one page of q into rows, in order of id, for lists that are not hot
// enough to be on a shelf. Keyset paging keeps pages stable while new rows come in.
func (s *Service) fetchPage(ctx context.Context, actor Actor, q *bun.SelectQuery, in PageRequest, name string, own sortOrder) (pageSpec, error) {
	p, err := s.parsePage(actor, in, name)
	if err != nil {
		return p, err
	}
	p.count = s.newCounter(q.Clone().ColumnExpr("1"))
	along := p.order.orDefault(own).reversed(p.last)
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return p, fmt.Errorf("cursor of %s: %w", name, err)
		}
		q = q.Where("?TableAlias.id "+along.comparison+" ?", after)
	}
	if err := q.OrderExpr("?TableAlias.id " + along.keyword).Limit(p.fetchLimit()).Scan(ctx); err != nil {
		return p, translateError(fmt.Errorf("list %s: %w", name, err))
	}
	return p, nil
}

// newCounter counts the rows of a query, up to one more than MaxTotal.
func (s *Service) newCounter(q *bun.SelectQuery) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		n, err := s.db.NewSelect().TableExpr("(?) as counted", q.Limit(MaxTotal+1)).Count(ctx)
		return int(n), err
	}
}

// cursorName binds a cursor to the list and everything that narrows it.
func (f Filter) cursorName(list string) string {
	all := []any{f.Status, f.Product, f.PolicyID, f.PartnerReference, f.CreatedFrom, f.CreatedTo}
	if f.Partner != "" || f.ClaimID != "" {
		all = append(all, f.Partner, f.ClaimID)
	}
	return fmt.Sprintf("%s?%q", list, all)
}

// requireStatus refuses a status that is none of the words.
func (f Filter) requireStatus(statuses []string) error {
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return badParameter("status", "Use one of "+strings.Join(statuses, ", ")+".")
	}
	return nil
}

// applyFilter applies the filter but for status, product and partner; policy is the condition
// of its policy.
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

// idTimeTolerance is how far a record's id may be from its created_at: ids of earlier releases
// had the time of the machine that made them.
const idTimeTolerance = time.Minute

// isSelective reports whether the filter names few records by itself.
func (f Filter) isSelective() bool {
	return f.PolicyID != "" || f.ClaimID != "" || f.PartnerReference != ""
}

// statusesOf are the words of a life cycle.
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
