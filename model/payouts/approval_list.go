package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// ApprovalsOf returns the approvals of several payouts by payout id, in as many
// statements as for one. Operators only.
func (s *Service) ApprovalsOf(ctx context.Context, caller actor.Actor, payouts []string) (map[string]*PayoutApproval, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	answers := map[string]*PayoutApproval{}
	keys := store.ResourcePayout.ParseIDs(payouts)
	if len(keys) == 0 {
		return answers, nil
	}
	err := s.ReadSnapshot(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		a := approvalFacts{db: tx, now: now}
		if err := a.load(ctx, keys); err != nil {
			return err
		}
		for _, row := range a.payouts {
			needed, err := requiredApprovals(ctx, s.Store, tx, a.policies[row.PolicyID], a.claims[row.ClaimID], row)
			if err != nil {
				return err
			}
			answers[store.ResourcePayout.FormatID(row.ID)] = a.buildApproval(row, needed)
		}
		return nil
	})
	return answers, err
}

// approvalFacts is the data from which the approvals of several payouts are computed.
type approvalFacts struct {
	db          bun.IDB
	now         time.Time
	payouts     []*claims.PayoutRow
	policies    map[uuid.UUID]*underwriting.PolicyRow
	claims      map[uuid.UUID]*claims.ClaimRow
	methods     map[uuid.UUID][]*PayoutMethodRow // by policy
	sentMethods map[uuid.UUID]*PayoutMethodRow   // the methods that payouts went to
	approvals   map[uuid.UUID][]*approvalRow     // by payout, oldest first
	returnedAt  map[returnedAccount]time.Time    // when the account last returned money
}

// returnedAccount is an account that returned a payout of a claim.
type returnedAccount struct {
	claim       uuid.UUID
	fingerprint string
}

func (a *approvalFacts) load(ctx context.Context, keys []uuid.UUID) error {
	if err := a.db.NewSelect().Model(&a.payouts).Where("po.id in (?)", bun.List(keys)).Scan(ctx); err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	if len(a.payouts) == 0 {
		return nil
	}
	policies, claimIDs := make([]uuid.UUID, len(a.payouts)), make([]uuid.UUID, len(a.payouts))
	var sent []uuid.UUID
	for i, row := range a.payouts {
		policies[i], claimIDs[i] = row.PolicyID, row.ClaimID
		if row.PayoutMethodID != nil {
			sent = append(sent, *row.PayoutMethodID)
		}
	}
	var err error
	if a.claims, err = store.LoadRowsByID[claims.ClaimRow](ctx, a.db, claimIDs); err != nil {
		return fmt.Errorf("read claims: %w", err)
	}
	if a.policies, err = store.LoadRowsByID[underwriting.PolicyRow](ctx, a.db, policies); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	var given []*approvalRow
	if err := a.db.NewSelect().Model(&given).Where("pa.payout_id in (?)", bun.List(keys)).OrderExpr("pa.id").Scan(ctx); err != nil {
		return fmt.Errorf("read approvals: %w", err)
	}
	a.approvals = make(map[uuid.UUID][]*approvalRow)
	for _, g := range given {
		a.approvals[g.PayoutID] = append(a.approvals[g.PayoutID], g)
	}
	if a.sentMethods, err = store.LoadRowsByID[PayoutMethodRow](ctx, a.db, sent); err != nil {
		return fmt.Errorf("read payout methods: %w", err)
	}
	var usable []*PayoutMethodRow
	if err := selectUsableMethods(a.db, &usable).Where("pm.policy_id in (?)", bun.List(policies)).Scan(ctx); err != nil {
		return fmt.Errorf("read payout methods: %w", err)
	}
	a.methods = groupMethods(usable)
	return a.loadReturns(ctx, claimIDs)
}

// loadReturns reads which accounts returned payouts of the claims.
func (a *approvalFacts) loadReturns(ctx context.Context, claimIDs []uuid.UUID) error {
	var rows []struct {
		ClaimID     uuid.UUID
		Fingerprint string
		At          time.Time
	}
	err := a.db.NewRaw(`select po.claim_id, pm.fingerprint, max(po.updated_at) as at from payouts po
		join payout_methods pm on pm.id = po.payout_method_id and pm.partner = po.partner
		where po.claim_id in (?) and po.status = ? group by 1, 2`, bun.List(claimIDs), claims.PayoutReturned).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read returns: %w", err)
	}
	a.returnedAt = make(map[returnedAccount]time.Time, len(rows))
	for _, row := range rows {
		a.returnedAt[returnedAccount{row.ClaimID, row.Fingerprint}] = row.At
	}
	return nil
}

// destinationOf returns the method that a waiting payout would go to, or that a sent
// payout went to; nil when nothing will be paid.
func (a *approvalFacts) destinationOf(row *claims.PayoutRow) *PayoutMethodRow {
	switch {
	case row.Status == claims.PayoutPending, row.Status == claims.PayoutBlocked && *row.BlockedReason != claims.BlockedRailMismatch:
		return SelectMethod(a.methods[row.PolicyID], row.ClaimID)
	case row.Status == claims.PayoutReturned, row.Status == claims.PayoutCancelled, row.PayoutMethodID == nil:
		return nil
	default:
		return a.sentMethods[*row.PayoutMethodID]
	}
}

// toDestination shows a method to an operator who approves.
func (a *approvalFacts) toDestination(row *claims.PayoutRow, method *PayoutMethodRow) *wire.PayoutDestination {
	d := &wire.PayoutDestination{
		PayoutMethodID: store.ResourcePayoutMethod.FormatID(method.ID), Type: string(method.Type),
		Beneficiary: wire.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
		Display:     method.display(),
		Fingerprint: method.Fingerprint, Status: string(method.Status), RecordedAt: method.CreatedAt,
	}
	if method.Status == MethodVerified {
		d.VerifiedAt = method.CheckedAt
	}
	if method.inCoolingOff(a.now) {
		d.CoolingOffUntil = method.CoolingOffUntil
	}
	if at, found := a.returnedAt[returnedAccount{row.ClaimID, method.Fingerprint}]; found {
		d.ReturnedAt = &at
	}
	return d
}

// EmbedApprovals adds to payouts what operators see before they approve. For other actors
// it changes nothing.
func (s *Service) EmbedApprovals(ctx context.Context, caller actor.Actor, payouts ...*wire.Payout) error {
	if caller.Kind != actor.KindOperator || len(payouts) == 0 {
		return nil
	}
	ids := make([]string, len(payouts))
	for i, payout := range payouts {
		ids[i] = payout.ID
	}
	approvals, err := s.ApprovalsOf(ctx, caller, ids)
	if err != nil {
		return err
	}
	for _, payout := range payouts {
		if a := approvals[payout.ID]; a != nil {
			payout.Approval = &wire.PayoutApproval{Digest: a.Digest, Required: a.Required, ApprovalsCount: a.countCurrent(), PayoutMethod: a.PayoutMethod}
		}
	}
	return nil
}

// countCurrent counts the approvals of exactly what would be paid now.
func (a *PayoutApproval) countCurrent() (n int) {
	for _, g := range a.Approvals {
		if g.Valid {
			n++
		}
	}
	return n
}

// buildApproval builds the approval of one payout. An account in its cooling-off period
// needs an approval even when the payout needs none.
func (a *approvalFacts) buildApproval(row *claims.PayoutRow, needed int) *PayoutApproval {
	answer := &PayoutApproval{Required: needed, Approvals: []Approval{}}
	if row.Status == claims.PayoutReturned || row.Status == claims.PayoutCancelled {
		answer.Required = 0
	}
	if method := a.destinationOf(row); method != nil {
		answer.Digest, answer.PayoutMethod = new(ApprovalDigest(row, method)), a.toDestination(row, method)
		if method.inCoolingOff(a.now) {
			answer.Required = max(answer.Required, 1)
		}
	}
	for _, g := range a.approvals[row.ID] {
		holds := answer.Digest != nil && g.Digest == *answer.Digest
		answer.Approvals = append(answer.Approvals, Approval{
			At: g.CreatedAt, Author: g.Author.Name(), AuthorIssuer: g.Author.Issuer(), Digest: g.Digest, Valid: holds, Note: g.Note,
		})
	}
	return answer
}
