package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/recordid"
	"parapet/model/kernel/replica"
)

// Filter filters a list. Empty fields do not filter.
type Filter struct {
	Status           string
	Statuses         []string   // any of these, and of Status
	BlockedReason    string     // for payouts
	Product          string     // not for payouts and payout methods
	PolicyID         string     // for claims, payouts and payout methods
	PolicyReference  string     // partner reference of the policy, for claims and payouts
	ClaimID          string     // for payouts and payout methods
	Partner          string     // for operators, who see all partners
	PartnerReference string     // not for payouts
	CreatedFrom      *time.Time // inclusive
	CreatedTo        *time.Time // exclusive
	// Box keeps the policies whose place overlaps it; West > East crosses the antimeridian.
	// It leaves out archived policies and those at a station.
	Box *hazard.Box

	// ToDecide keeps claims that wait for an operator's decision, Challenged those with an open
	// challenge, Failing webhook endpoints whose deliveries fail.
	ToDecide, Challenged, Failing bool

	few bool // Collection.Narrow selects few records
}

// SortOrder is the direction of a list along its ids, which grow with time.
type SortOrder struct{ Keyword, Comparison string }

// The orders of lists.
var (
	SortNewestFirst = SortOrder{"desc", "<"}
	SortOldestFirst = SortOrder{"asc", ">"}
	sortOrders      = map[Order]SortOrder{NewestFirst: SortNewestFirst, OldestFirst: SortOldestFirst}
)

// Reversed returns the opposite direction if turn is set, to read the end of a list.
func (d SortOrder) Reversed(reverse bool) SortOrder {
	if reverse == (d == SortNewestFirst) {
		return SortOldestFirst
	}
	return SortNewestFirst
}

// FetchPage reads one page of q into rows, in order of id, for lists that have no
// collection because they are read rarely. Keyset paging keeps pages stable while new
// rows are inserted.
func (s *Store) FetchPage(ctx context.Context, actor actor.Actor, q *bun.SelectQuery, in PageRequest, name string, own SortOrder) (PageSpec, error) {
	p, err := s.ParsePage(actor, in, name, own)
	if err != nil {
		return p, err
	}
	p.Count = s.NewCounter(q.Clone().ColumnExpr("1"))
	direction := p.Order.Reversed(p.Last)
	if p.After != "" {
		after, err := uuid.Parse(p.After)
		if err != nil {
			return p, fmt.Errorf("cursor of %s: %w", name, err)
		}
		q = q.Where("?TableAlias.id "+direction.Comparison+" ?", after)
	}
	q = q.OrderExpr("?TableAlias.id " + direction.Keyword).Limit(p.FetchLimit())
	if err := s.ScanReplica(ctx, q); err != nil {
		return p, TranslateError(fmt.Errorf("list %s: %w", name, err))
	}
	return p, nil
}

// ScanReplica scans a query by ReadReplica. Its model or dest are overwritten.
func (s *Store) ScanReplica(ctx context.Context, q *bun.SelectQuery, dest ...any) error {
	return s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) error { return q.Conn(from.DB).Scan(ctx, dest...) })
}

// NewCounter returns a function that counts the rows of a query, up to MaxTotal+1.
func (s *Store) NewCounter(q *bun.SelectQuery) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		var n int64
		err := s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) (err error) {
			n, err = from.DB.NewSelect().TableExpr("(?) as counted", q.Limit(MaxTotal+1)).Count(ctx)
			return err
		})
		return int(n), err
	}
}

// CursorName binds a cursor to the list and its filter.
func (f Filter) CursorName(list string) string {
	all := []any{f.Status, f.Product, f.PolicyID, f.PartnerReference, f.CreatedFrom, f.CreatedTo}
	if f.Partner != "" || f.ClaimID != "" {
		all = append(all, f.Partner, f.ClaimID)
	}
	if len(f.Statuses) > 0 || f.BlockedReason+f.PolicyReference != "" || f.Box != nil || f.ToDecide || f.Challenged || f.Failing {
		all = append(all, fmt.Sprint(f.Statuses, f.Box, f.ToDecide, f.Challenged, f.Failing), f.BlockedReason, f.PolicyReference)
	}
	return fmt.Sprintf("%s?%q", list, all)
}

// RequireStatus returns an error for a status that is not in statuses.
func (f Filter) RequireStatus(statuses []string) error {
	for _, status := range f.allStatuses() {
		if !slices.Contains(statuses, status) {
			return apperr.InvalidParameter("status", "Use one of "+strings.Join(statuses, ", ")+".")
		}
	}
	return nil
}

// allStatuses returns the statuses of the filter, each once.
func (f Filter) allStatuses() []string {
	all := slices.Clone(f.Statuses)
	if f.Status != "" {
		all = append(all, f.Status)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// byReference are the ids of the keys with a partner_reference, which is unique per partner, so
// that their index by partner finds it.
const byReference = "any(array(select id from %s where partner = any(array(select slug from partners)) and partner_reference = ?))"

// applyFilter applies the filter except status, product and partner. policy is the condition
// of policy_id, empty for the column; keys is Collection.Keys.
func (f Filter) applyFilter(w *WhereClause, policy, keys string) error {
	if f.PolicyID != "" {
		id, err := ResourcePolicy.ParseID(f.PolicyID)
		if err != nil {
			return apperr.InvalidParameter("policy_id", "Use a policy's id, pol_ and 26 characters.")
		}
		w.AddTerm(cmp.Or(policy, "!.policy_id = ?"), id)
	}
	if f.ClaimID != "" {
		id, err := ResourceClaim.ParseID(f.ClaimID)
		if err != nil {
			return apperr.InvalidParameter("claim_id", "Use a claim's id, clm_ and 26 characters.")
		}
		w.AddTerm("!.claim_id = ?", id)
	}
	switch {
	case f.PartnerReference != "" && keys != "":
		w.AddTerm("!.id = "+fmt.Sprintf(byReference, keys), f.PartnerReference)
	case f.PartnerReference != "":
		w.AddTerm("!.partner_reference = ?", f.PartnerReference)
	}
	if f.PolicyReference != "" {
		w.AddTerm("!.policy_id = "+fmt.Sprintf(byReference, "policy_keys"), f.PolicyReference)
	}
	if f.BlockedReason != "" {
		w.AddTerm("!.status = 'blocked' and !.blocked_reason = ?", f.BlockedReason)
	}
	if f.CreatedFrom != nil {
		w.AddTerm("!.created_at >= ?", *f.CreatedFrom)
		w.AddTerm("!.id >= ?", recordid.LowestAt(f.CreatedFrom.Add(-idTimeTolerance)))
	}
	if f.CreatedTo != nil {
		w.AddTerm("!.created_at < ?", *f.CreatedTo)
		w.AddTerm("!.id <= ?", recordid.LowestAt(f.CreatedTo.Add(idTimeTolerance)))
	}
	return nil
}

// idTimeTolerance is the largest difference between the time in a record's id and its
// created_at: earlier releases took the id's time from the machine that created it.
const idTimeTolerance = time.Minute

// isSelective reports whether the filter alone selects few records.
func (f Filter) isSelective() bool {
	return f.PolicyID != "" || f.ClaimID != "" || f.PartnerReference != "" || f.PolicyReference != "" || f.BlockedReason != "" || f.few
}

// StatusesOf returns the statuses of a life cycle.
func StatusesOf[S ~string](arrows []Transition[S]) []string {
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
