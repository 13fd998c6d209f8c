package reconciliation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// ExceptionMissing is a payout that no report has confirmed.
const ExceptionMissing payouts.ReconciliationExceptionKind = "missing"

// ReconciliationExceptionKinds lists the possible differences between reports and
// payouts.
func ReconciliationExceptionKinds() []payouts.ReconciliationExceptionKind {
	return []payouts.ReconciliationExceptionKind{ExceptionMissing, payouts.ResultUnknown, payouts.ResultAmount, payouts.ResultBeneficiary, payouts.ResultUnexpectedState, payouts.ResultDuplicate, payouts.ResultReversed, payouts.ResultUnmatched, release.ExceptionContradiction, payouts.ExceptionPaidTwice}
}

// applyLine applies one report line to its payout and returns the match result.
func (m *lineMatcher) applyLine(ctx context.Context, line *lineRow) (payouts.LineResult, error) {
	out, ok := m.lockedPayoutOf(line)
	if !ok || !m.isKnownToBank(line) {
		return payouts.ResultUnknown, nil
	}
	m.reportedPayouts = append(m.reportedPayouts, out.Row.ID)
	switch line.Status {
	case LineSettled:
		return m.applySettlement(ctx, out, line)
	case LineReturned:
		return m.applyReturn(ctx, out, line)
	case LineRejected:
		return m.applyRejection(ctx, out, line)
	default:
		return m.applyUnderway(ctx, out, line)
	}
}

// mismatch returns how a line differs from the money that was sent, or "" when it agrees.
func mismatch(r *claims.PayoutRow, line *lineRow) payouts.LineResult {
	switch {
	case line.Amount != r.Amount || line.Currency != r.Currency:
		return payouts.ResultAmount
	case line.Key != "" && line.Key != payouts.IdempotencyKey(r):
		return payouts.ResultUnexpectedState
	default:
		return ""
	}
}

// keySuperseded reports whether the key was rejected earlier and replaced by a newer key.
func keySuperseded(r *claims.PayoutRow, key string) bool {
	parsed, ok := payouts.ParseRailKey(key)
	return ok && payouts.HasKey(r, parsed) && parsed.Number < r.IdempotencySeq
}

// wrongAccount reports whether the rail paid an account other than the payout's.
func (m *lineMatcher) wrongAccount(row *claims.PayoutRow, line *lineRow) bool {
	method := row.PayoutMethodID
	if method == nil {
		method = m.intendedMethods[row.ID]
	}
	if line.Account == "" || method == nil {
		return false
	}
	account, known := m.accounts[*method]
	return known && line.Account != account
}

// mismatch returns why a settlement does not confirm the payout, or "" when it does.
func (m *lineMatcher) mismatch(ctx context.Context, out payouts.LockedPayout, line *lineRow) (payouts.LineResult, error) {
	row := out.Row
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	why := mismatch(row, line)
	switch {
	case why != "":
		return why, nil
	case row.Status == claims.PayoutReconciled:
		return payouts.ResultDuplicate, nil
	case row.Status == claims.PayoutReturned:
		return m.classifyAfterReturn(ctx, row, line)
	case m.wrongAccount(row, line):
		return payouts.ResultBeneficiary, nil
	case row.IsInFlight() || row.Status == claims.PayoutReleased || m.isUnsent(row, line):
		return "", nil
	default:
		return payouts.ResultUnexpectedState, nil
	}
}

// applySettlement confirms a payout; a reported settlement ends any doubt about it. When
// money moved differently from what was sent, the payout is blocked against a second
// payment.
func (m *lineMatcher) applySettlement(ctx context.Context, out payouts.LockedPayout, line *lineRow) (payouts.LineResult, error) {
	row := out.Row
	why, err := m.mismatch(ctx, out, line)
	switch {
	case err != nil:
		return "", err
	case why == payouts.ResultDuplicate:
		return why, nil
	case why != "":
		return m.blockUnconfirmed(ctx, out, line, why)
	case m.isUnsent(row, line):
		if err := m.adoptPayout(out, line); err != nil {
			return "", err
		}
	}
	if row.IsInFlight() {
		if err := m.applyAcceptance(out, line); err != nil {
			return "", err
		}
	}
	row.ReconciledAt = &m.Now
	return payouts.ResultReconciled, payouts.TransitionPayoutInMemory(m.Tx, out.Claim, row, claims.PayoutReconciled, fmt.Sprintf("The rail's report confirms the payout of %s.", row.ToMoney()))
}

// blockUnconfirmed blocks a payout when a settlement shows that money arrived without
// confirming the payout. A line that was matched before is a duplicate and blocks
// nothing, because the money may have come back since.
func (m *lineMatcher) blockUnconfirmed(ctx context.Context, out payouts.LockedPayout, line *lineRow, why payouts.LineResult) (payouts.LineResult, error) {
	whole := why == payouts.ResultUnexpectedState || why == payouts.ResultReversed
	if whole {
		if repeated, err := m.isRepeated(ctx, out.Row, line); err != nil || repeated {
			return payouts.ResultDuplicate, err
		}
	}
	return why, m.blockDoublePayment(out.Claim, out.Row, line, whole)
}

// applyAcceptance records the rail's answer to the attempt as accepted when that answer
// did not arrive.
func (m *lineMatcher) applyAcceptance(out payouts.LockedPayout, line *lineRow) error {
	row := out.Row
	m.Batch.Queue(`update payout_attempts set ended_at = coalesce(ended_at, $1), outcome = 'accepted', provider_reference = $2
		where payout_id = $3 and partner = $4 and key = $5 and coalesce(outcome, 'unknown') = 'unknown'`,
		m.Now, optional.NonZero(line.Reference), row.ID, row.Partner, payouts.IdempotencyKey(row))
	row.Provider = &line.Rail
	_, err := release.ApplyOutcome(m.Tx, out.Claim, row, nil, payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Reference: line.Reference})
	return err
}

// applyReturn marks a payout as returned and creates its replacement. Returned money had
// left, so this also ends a doubt about the payout.
func (m *lineMatcher) applyReturn(ctx context.Context, out payouts.LockedPayout, line *lineRow) (payouts.LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	row, why := out.Row, mismatch(out.Row, line)
	if why != payouts.ResultAmount {
		if err := m.deleteArrival(ctx, row, line); err != nil {
			return "", err
		}
	}
	switch {
	case row.Status == claims.PayoutReturned && why == "":
		return payouts.ResultDuplicate, nil
	case why == "" && m.isUnsent(row, line):
		if err := m.adoptPayout(out, line); err != nil {
			return "", err
		}
	case row.IsInFlight() && why == "":
		if err := m.applyAcceptance(out, line); err != nil {
			return "", err
		}
	case row.Status != claims.PayoutReleased && row.Status != claims.PayoutReconciled:
		return payouts.ResultUnexpectedState, nil
	case why != "":
		return why, nil
	}
	if err := payouts.TransitionPayoutInMemory(m.Tx, out.Claim, row, claims.PayoutReturned, fmt.Sprintf("The payout of %s came back (%s).", row.ToMoney(), line.Code)); err != nil {
		return "", err
	}
	if err := m.reopenClaim(ctx, out.Claim); err != nil {
		return "", err
	}
	again, err := payouts.CreateReplacement(ctx, m.Tx, out.Claim, row)
	if err != nil {
		return "", err
	}
	m.replacements, m.claimsWithNewPayout[out.Claim.ID] = append(m.replacements, again), true
	m.siblings[out.Claim.ID] = append(m.siblings[out.Claim.ID], again)
	if m.hasArrived(again) {
		return payouts.ResultReturned, payouts.BlockPayoutInMemory(m.Tx, out.Claim, again, claims.BlockedRailMismatch)
	}
	return payouts.ResultReturned, nil
}

// applyRejection applies a rejection that arrives in a report. For a payout that was
// already released it is a return. For a payout in flight no call has a certain end, so
// money may have moved: the rail is asked before another key is used.
func (m *lineMatcher) applyRejection(ctx context.Context, out payouts.LockedPayout, line *lineRow) (payouts.LineResult, error) {
	row := out.Row
	switch {
	case m.isUnsent(row, line):
		return payouts.ResultRefused, m.refuseUnsent(out, line)
	case row.Status == claims.PayoutBlocked, row.Status == claims.PayoutReturned, keySuperseded(row, line.Key):
		return payouts.ResultRefused, nil // already known
	case row.Status == claims.PayoutReleased:
		return m.applyReturn(ctx, out, line)
	case !row.IsInFlight() || mismatch(row, line) != "":
		return payouts.ResultUnexpectedState, nil
	}
	return payouts.ResultRefused, release.NoteRefusal(ctx, m.Tx, out.Claim, row, "refusal_reported_at")
}

// reopenClaim reopens a closed claim.
func (m *lineMatcher) reopenClaim(ctx context.Context, claim *claims.ClaimRow) error {
	if claim.Status != claims.ClaimClosed {
		return nil
	}
	claim.ClosedAt = nil
	return m.transitionClaim(ctx, claim, claims.ClaimApproved, "Money of the claim came back; it is open again.")
}

// transitionClaim changes the status of a claim in memory; saveClaims writes it.
func (m *lineMatcher) transitionClaim(ctx context.Context, claim *claims.ClaimRow, to claims.ClaimStatus, summary string) error {
	kind, err := store.ChangeStatusInMemory(m.Tx, &claim.RowHeader, claims.ClaimTransitions, &claim.Status, to)
	if err != nil {
		return err
	}
	parts, err := claims.LoadClaimRelations(ctx, m.Tx, claim)
	if err != nil {
		return err
	}
	parts.SetPayouts(m.siblings[claim.ID])
	m.changedClaims[claim.ID] = claim
	return payouts.RecordClaimEvent(m.Tx, claim, kind, parts, summary)
}

// recordException stores a line that does not match, unless it is stored already.
func (m *lineMatcher) recordException(line *lineRow) {
	if !slices.Contains(ReconciliationExceptionKinds(), *line.MatchResult) {
		return
	}
	row := &payouts.ExceptionRow{ID: store.NewID(), CreatedAt: m.Now, Kind: *line.MatchResult, Rail: &line.Rail, ReportID: &line.ReportID, Line: &line.Number}
	if out, ok := m.lockedPayoutOf(line); ok {
		row.Partner, row.PayoutID, row.PolicyID = &out.Row.Partner, &out.Row.ID, &out.Row.PolicyID
	} else if line.policy != nil {
		row.Partner, row.PolicyID = &line.policy.Partner, &line.policy.ID
	}
	m.exceptions = append(m.exceptions, row)
}

// closePaidClaims closes the claims whose payouts are all paid and reconciled.
func (m *lineMatcher) closePaidClaims(ctx context.Context, moved []payouts.LockedPayout) error {
	for _, out := range moved {
		claim := out.Claim
		if claim.Status != claims.ClaimApproved || !payouts.IsFullyPaid(claim, m.siblings[claim.ID]) {
			continue
		}
		claim.ClosedAt = &m.Now
		if err := m.transitionClaim(ctx, claim, claims.ClaimClosed, "Everything the claim owes is paid and confirmed; it is closed."); err != nil {
			return err
		}
	}
	return nil
}

// saveClaims writes the locked claims that changed.
func (m *lineMatcher) saveClaims() {
	var ids []uuid.UUID
	var partners, status []string
	var versions []int64
	var closed []*time.Time
	for id, claim := range m.changedClaims {
		ids, partners, status = append(ids, id), append(partners, claim.Partner), append(status, string(claim.Status))
		versions, closed = append(versions, claim.Version), append(closed, claim.ClosedAt)
	}
	m.Batch.Queue(`update claims as c set status = n.status, closed_at = n.closed, version = n.version, updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[]) as n (id, partner, status, version, closed)
		where c.id = n.id and c.partner = n.partner`, m.Now, ids, partners, status, versions, closed)
}
