package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/store"
)

// ExceptionMissing is a payout that no report has confirmed.
const ExceptionMissing ReconciliationExceptionKind = "missing"

// ReconciliationExceptionKinds lists the possible differences between reports and
// payouts.
func ReconciliationExceptionKinds() []ReconciliationExceptionKind {
	return []ReconciliationExceptionKind{ExceptionMissing, ResultUnknown, ResultAmount, ResultBeneficiary, ResultState, ResultDuplicate, ResultReversed, ResultUnmatched, ExceptionContradiction, ExceptionPaidTwice}
}

// applyLine applies one report line to its payout and returns the match result.
func (m *lineMatcher) applyLine(ctx context.Context, line *lineRow) (LineResult, error) {
	out, ok := m.lockedPayoutOf(line)
	if !ok || !m.isKnownToBank(line) {
		return ResultUnknown, nil
	}
	m.reportedPayouts = append(m.reportedPayouts, out.row.ID)
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
func (r *payoutRow) mismatch(line *lineRow) LineResult {
	switch {
	case line.Amount != r.Amount || line.Currency != r.Currency:
		return ResultAmount
	case line.Key != "" && line.Key != r.idempotencyKey():
		return ResultState
	default:
		return ""
	}
}

// keySuperseded reports whether the key was rejected earlier and replaced by a newer key.
func (r *payoutRow) keySuperseded(key string) bool {
	parsed, ok := parseRailKey(key)
	return ok && r.hasKey(parsed) && parsed.number < r.IdempotencySeq
}

// wrongAccount reports whether the rail paid an account other than the payout's.
func (m *lineMatcher) wrongAccount(row *payoutRow, line *lineRow) bool {
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
func (m *lineMatcher) mismatch(ctx context.Context, out lockedPayout, line *lineRow) (LineResult, error) {
	row := out.row
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	why := row.mismatch(line)
	switch {
	case why != "":
		return why, nil
	case row.Status == PayoutReconciled:
		return ResultDuplicate, nil
	case row.Status == PayoutReturned:
		return m.classifyAfterReturn(ctx, row, line)
	case m.wrongAccount(row, line):
		return ResultBeneficiary, nil
	case row.isInFlight() || row.Status == PayoutReleased || m.isUnsent(row, line):
		return "", nil
	default:
		return ResultState, nil
	}
}

// applySettlement confirms a payout; a reported settlement ends any doubt about it. When
// money moved differently from what was sent, the payout is blocked against a second
// payment.
func (m *lineMatcher) applySettlement(ctx context.Context, out lockedPayout, line *lineRow) (LineResult, error) {
	row := out.row
	why, err := m.mismatch(ctx, out, line)
	switch {
	case err != nil:
		return "", err
	case why == ResultDuplicate:
		return why, nil
	case why != "":
		return m.barUnconfirmed(ctx, out, line, why)
	case m.isUnsent(row, line):
		if err := m.adoptPayout(out, line); err != nil {
			return "", err
		}
	}
	if row.isInFlight() {
		if err := m.applyAcceptance(out, line); err != nil {
			return "", err
		}
	}
	row.ReconciledAt = &m.Now
	return ResultReconciled, transitionPayoutInMemory(m.Tx, out.claim, row, PayoutReconciled, fmt.Sprintf("The rail's report confirms the payout of %s.", row.toMoney()))
}

// barUnconfirmed blocks a payout when a settlement shows that money arrived without
// confirming the payout. A line that was matched before is a duplicate and blocks
// nothing, because the money may have come back since.
func (m *lineMatcher) barUnconfirmed(ctx context.Context, out lockedPayout, line *lineRow, why LineResult) (LineResult, error) {
	whole := why == ResultState || why == ResultReversed
	if whole {
		if repeated, err := m.isRepeated(ctx, out.row, line); err != nil || repeated {
			return ResultDuplicate, err
		}
	}
	return why, m.blockDoublePayment(out.claim, out.row, line, whole)
}

// applyAcceptance records the rail's answer to the attempt as accepted when that answer
// did not arrive.
func (m *lineMatcher) applyAcceptance(out lockedPayout, line *lineRow) error {
	row := out.row
	m.Batch.Queue(`update payout_attempts set ended_at = coalesce(ended_at, $1), outcome = 'accepted', provider_reference = $2
		where payout_id = $3 and partner = $4 and key = $5 and coalesce(outcome, 'unknown') = 'unknown'`,
		m.Now, store.StringOrNil(line.Reference), row.ID, row.Partner, row.idempotencyKey())
	row.Provider = &line.Rail
	_, err := applyOutcome(m.Tx, out.claim, row, nil, RailAnswer{Outcome: OutcomeAccepted, Reference: line.Reference})
	return err
}

// applyReturn marks a payout as returned and creates its replacement. Returned money had
// left, so this also ends a doubt about the payout.
func (m *lineMatcher) applyReturn(ctx context.Context, out lockedPayout, line *lineRow) (LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	row, why := out.row, out.row.mismatch(line)
	if why != ResultAmount {
		if err := m.deleteArrival(ctx, row, line); err != nil {
			return "", err
		}
	}
	switch {
	case row.Status == PayoutReturned && why == "":
		return ResultDuplicate, nil
	case why == "" && m.isUnsent(row, line):
		if err := m.adoptPayout(out, line); err != nil {
			return "", err
		}
	case row.isInFlight() && why == "":
		if err := m.applyAcceptance(out, line); err != nil {
			return "", err
		}
	case row.Status != PayoutReleased && row.Status != PayoutReconciled:
		return ResultState, nil
	case why != "":
		return why, nil
	}
	if err := transitionPayoutInMemory(m.Tx, out.claim, row, PayoutReturned, fmt.Sprintf("The payout of %s came back (%s).", row.toMoney(), line.Code)); err != nil {
		return "", err
	}
	if err := m.reopenClaim(ctx, out.claim); err != nil {
		return "", err
	}
	again, err := createReplacement(ctx, m.Tx, out.claim, row)
	if err != nil {
		return "", err
	}
	m.replacements, m.claimsWithNewPayout[out.claim.ID] = append(m.replacements, again), true
	m.siblings[out.claim.ID] = append(m.siblings[out.claim.ID], again)
	if m.hasArrived(again) {
		return ResultReturned, blockPayoutInMemory(m.Tx, out.claim, again, BlockedRailMismatch)
	}
	return ResultReturned, nil
}

// applyRejection applies a rejection that arrives in a report. For a payout that was
// already released it is a return. For a payout in flight no call has a certain end, so
// money may have moved: the rail is asked before another key is used.
func (m *lineMatcher) applyRejection(ctx context.Context, out lockedPayout, line *lineRow) (LineResult, error) {
	row := out.row
	switch {
	case m.isUnsent(row, line):
		return ResultRefused, m.refuseUnsent(out, line)
	case row.Status == PayoutBlocked, row.Status == PayoutReturned, row.keySuperseded(line.Key):
		return ResultRefused, nil // already known
	case row.Status == PayoutReleased:
		return m.applyReturn(ctx, out, line)
	case !row.isInFlight() || row.mismatch(line) != "":
		return ResultState, nil
	}
	return ResultRefused, noteRefusal(ctx, m.Tx, out.claim, row, "refusal_reported_at")
}

// reopenClaim reopens a closed claim.
func (m *lineMatcher) reopenClaim(ctx context.Context, claim *claimRow) error {
	if claim.Status != ClaimClosed {
		return nil
	}
	claim.ClosedAt = nil
	return m.transitionClaim(ctx, claim, ClaimApproved, "Money of the claim came back; it is open again.")
}

// transitionClaim changes the status of a claim in memory; saveClaims writes it.
func (m *lineMatcher) transitionClaim(ctx context.Context, claim *claimRow, to ClaimStatus, summary string) error {
	kind, err := store.ChangeStatusInMemory(m.Tx, &claim.RowHeader, ClaimTransitions, &claim.Status, to)
	if err != nil {
		return err
	}
	parts, err := loadClaimRelations(ctx, m.Tx, claim)
	if err != nil {
		return err
	}
	parts.setPayouts(m.siblings[claim.ID])
	m.changedClaims[claim.ID] = claim
	return recordClaimEvent(m.Tx, claim, kind, parts, summary)
}

// recordException stores a line that does not match, unless it is stored already.
func (m *lineMatcher) recordException(line *lineRow) {
	if !slices.Contains(ReconciliationExceptionKinds(), *line.MatchResult) {
		return
	}
	row := &exceptionRow{ID: store.NewID(), CreatedAt: m.Now, Kind: *line.MatchResult, Rail: &line.Rail, ReportID: &line.ReportID, Line: &line.Number}
	if out, ok := m.lockedPayoutOf(line); ok {
		row.Partner, row.PayoutID, row.PolicyID = &out.row.Partner, &out.row.ID, &out.row.PolicyID
	} else if line.policy != nil {
		row.Partner, row.PolicyID = &line.policy.Partner, &line.policy.ID
	}
	m.exceptions = append(m.exceptions, row)
}

// closePaidClaims closes the claims whose payouts are all paid and reconciled.
func (m *lineMatcher) closePaidClaims(ctx context.Context, moved []lockedPayout) error {
	for _, out := range moved {
		claim := out.claim
		if claim.Status != ClaimApproved || !isFullyPaid(claim, m.siblings[claim.ID]) {
			continue
		}
		claim.ClosedAt = &m.Now
		if err := m.transitionClaim(ctx, claim, ClaimClosed, "Everything the claim owes is paid and confirmed; it is closed."); err != nil {
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
