package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// ApprovalsOf are who must consent to several payouts and who did, by the payouts'
// ids, in as many statements as for one. Operators only.
func (s *Service) ApprovalsOf(ctx context.Context, actor Actor, payouts []string) (map[string]*PayoutApproval, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	answers := map[string]*PayoutApproval{}
	keys := nounPayout.parseAll(payouts)
	if len(keys) == 0 {
		return answers, nil
	}
	err := s.view(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		a := approving{db: tx, now: now}
		if err := a.read(ctx, keys); err != nil {
			return err
		}
		for _, row := range a.payouts {
			needed, err := s.consents(ctx, tx, a.policies[row.PolicyID], a.claims[row.ClaimID], row)
			if err != nil {
				return err
			}
			answers[nounPayout.id(row.ID)] = a.approval(row, needed)
		}
		return nil
	})
	return answers, err
}

// approving is what the consents to some payouts follow from.
type approving struct {
	db       bun.IDB
	now      time.Time
	payouts  []*payoutRow
	policies map[uuid.UUID]*policyRow
	claims   map[uuid.UUID]*claimRow
	methods  map[uuid.UUID][]*payoutMethodRow // by policy
	given    map[uuid.UUID][]*approvalRow     // by payout, oldest first
}

func (a *approving) read(ctx context.Context, keys []uuid.UUID) error {
	if err := a.db.NewSelect().Model(&a.payouts).Where("po.id in (?)", bun.List(keys)).Scan(ctx); err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	if len(a.payouts) == 0 {
		return nil
	}
	policies, claims := make([]uuid.UUID, len(a.payouts)), make([]uuid.UUID, len(a.payouts))
	for i, row := range a.payouts {
		policies[i], claims[i] = row.PolicyID, row.ClaimID
	}
	var err error
	if a.claims, err = rowsByID[claimRow](ctx, a.db, claims); err != nil {
		return fmt.Errorf("read claims: %w", err)
	}
	if a.policies, err = rowsByID[policyRow](ctx, a.db, policies); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	var given []*approvalRow
	if err := a.db.NewSelect().Model(&given).Where("pa.payout_id in (?)", bun.List(keys)).OrderExpr("pa.id").Scan(ctx); err != nil {
		return fmt.Errorf("read approvals: %w", err)
	}
	a.given = make(map[uuid.UUID][]*approvalRow)
	for _, g := range given {
		a.given[g.PayoutID] = append(a.given[g.PayoutID], g)
	}
	a.methods, err = methodsOf(ctx, a.db, slices.Collect(maps.Values(a.policies)))
	return err
}

// approval is one payout's; a fresh account needs a consent whatever else does.
func (a *approving) approval(row *payoutRow, needed int) *PayoutApproval {
	answer := &PayoutApproval{Needed: needed, Given: []Approval{}}
	if method := chosen(a.methods[row.PolicyID], row.ClaimID); method != nil {
		answer.Digest = new(row.digest(method))
		if method.cools(a.now) {
			answer.Needed = max(answer.Needed, 1)
		}
	}
	for _, g := range a.given[row.ID] {
		holds := answer.Digest != nil && g.Digest == *answer.Digest
		answer.Given = append(answer.Given, Approval{At: g.CreatedAt, Author: g.Author, Digest: g.Digest, Holds: holds, Note: g.Note})
	}
	return answer
}
