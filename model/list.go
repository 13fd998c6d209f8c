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

// direction is how a list runs along its ids, which grow with time.
type direction struct{ order, beyond string }

var (
	newestFirst = direction{"desc", "<"}
	oldestFirst = direction{"asc", ">"}
	directions  = map[Order]direction{NewestFirst: newestFirst, OldestFirst: oldestFirst}
)

// or is the direction, or the list's own where none was asked for.
func (d direction) or(own direction) direction {
	if d.order == "" {
		return own
	}
	return d
}

// turned is the other direction, for the end of a list.
func (d direction) turned(turn bool) direction {
	switch {
	case !turn:
		return d
	case d == newestFirst:
		return oldestFirst
	default:
		return newestFirst
	}
}

// fetch reads one page of q into rows, in order of id, for lists that are not hot
// enough to be on a shelf. Keyset paging keeps pages stable while new rows come in.
func (s *Service) fetch(ctx context.Context, actor Actor, q *bun.SelectQuery, in PageRequest, name string, own direction) (page, error) {
	p, err := s.page(actor, in, name)
	if err != nil {
		return p, err
	}
	p.count = s.counting(q.Clone().ColumnExpr("1"))
	along := p.along.or(own).turned(p.last)
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

// counting counts the rows of a query, up to one more than MaxTotal.
func (s *Service) counting(q *bun.SelectQuery) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		n, err := s.db.NewSelect().TableExpr("(?) as counted", q.Limit(MaxTotal+1)).Count(ctx)
		return int(n), err
	}
}

// name binds a cursor to the list and everything that narrows it.
func (f Filter) name(list string) string {
	all := []any{f.Status, f.Product, f.PolicyID, f.PartnerReference, f.CreatedFrom, f.CreatedTo}
	if f.Partner != "" || f.ClaimID != "" {
		all = append(all, f.Partner, f.ClaimID)
	}
	return fmt.Sprintf("%s?%q", list, all)
}

// known refuses a status that is none of the words.
func (f Filter) known(statuses []string) error {
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return badParameter("status", "Use one of "+strings.Join(statuses, ", ")+".")
	}
	return nil
}

// narrow applies the filter but for status, product and partner; policy is the condition
// of its policy.
func (f Filter) narrow(w *where, policy string) error {
	if f.PolicyID != "" {
		id, err := nounPolicy.parse(f.PolicyID)
		if err != nil {
			return badParameter("policy_id", "Use a policy's id, pol_ and 26 characters.")
		}
		w.and(cmp.Or(policy, "!.policy_id = ?"), id)
	}
	if f.ClaimID != "" {
		id, err := nounClaim.parse(f.ClaimID)
		if err != nil {
			return badParameter("claim_id", "Use a claim's id, clm_ and 26 characters.")
		}
		w.and("!.claim_id = ?", id)
	}
	if f.PartnerReference != "" {
		w.and("!.partner_reference = ?", f.PartnerReference)
	}
	if f.CreatedFrom != nil {
		w.and("!.created_at >= ?", *f.CreatedFrom)
		w.and("!.id >= ?", firstID(f.CreatedFrom.Add(-idSlack)))
	}
	if f.CreatedTo != nil {
		w.and("!.created_at < ?", *f.CreatedTo)
		w.and("!.id <= ?", firstID(f.CreatedTo.Add(idSlack)))
	}
	return nil
}

// idSlack is how far a record's id may be from its created_at: ids of earlier releases
// had the time of the machine that made them.
const idSlack = time.Minute

// isSelective reports whether the filter names few records by itself.
func (f Filter) isSelective() bool {
	return f.PolicyID != "" || f.ClaimID != "" || f.PartnerReference != ""
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
