package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// LineResult is what a line of a report comes to.
type LineResult = string

// The results of a line. From unknown on they are findings.
const (
	ResultReconciled  LineResult = "reconciled"
	ResultReturned    LineResult = "returned"
	ResultRefused     LineResult = "rejected"
	ResultUnderway    LineResult = "underway"
	ResultUnknown     LineResult = "unknown"     // nobody's payout
	ResultAmount      LineResult = "amount"      // another amount or currency
	ResultBeneficiary LineResult = "beneficiary" // another account
	ResultState       LineResult = "state"       // money moved for a payout that was not with the rail
	ResultDuplicate   LineResult = "duplicate"   // it was reported before
	ResultReversed    LineResult = "reversed"    // money that had come back went out again
	ResultUnmatched   LineResult = "unmatched"   // the line could not be matched; see Finding.Detail
)

// FindingMissing is a payout that no report has confirmed.
const FindingMissing FindingKind = "missing"

// FindingKinds lists what a report and our payouts can differ in.
func FindingKinds() []FindingKind {
	return []FindingKind{FindingMissing, ResultUnknown, ResultAmount, ResultBeneficiary, ResultState, ResultDuplicate, ResultReversed, ResultUnmatched, FindingContradiction, FindingPaidTwice}
}

// heed does what one line says.
func (m *matching) heed(ctx context.Context, line *lineRow) (LineResult, error) {
	out, ok := m.payoutOf(line)
	if !ok || !m.gaveTo(line) {
		return ResultUnknown, nil
	}
	m.told = append(m.told, out.row.ID)
	switch line.Status {
	case LineSettled:
		return m.settled(ctx, out, line)
	case LineReturned:
		return m.returned(ctx, out, line)
	case LineRejected:
		return m.rejected(ctx, out, line)
	default:
		return m.sending(ctx, out, line)
	}
}

func (r *payoutRow) underway() bool {
	return r.Status == PayoutReleasing || r.Status == PayoutReconciling
}

// differs tells why a line is not about the money that was sent; empty when it is.
func (r *payoutRow) differs(line *lineRow) LineResult {
	switch {
	case line.Amount != r.Amount || line.Currency != r.Currency:
		return ResultAmount
	case line.Key != "" && line.Key != r.key():
		return ResultState
	default:
		return ""
	}
}

// gaveUp tells whether a key was refused before: another took its place.
func (r *payoutRow) gaveUp(key string) bool {
	parsed, ok := parseRailKey(key)
	return ok && r.hasKey(parsed) && parsed.number < r.KeyNumber
}

// astray tells whether the rail says that it paid another account.
func (m *matching) astray(row *payoutRow, line *lineRow) bool {
	method := row.PayoutMethodID
	if method == nil {
		method = m.meant[row.ID]
	}
	if line.Account == "" || method == nil {
		return false
	}
	account, known := m.accounts[*method]
	return known && line.Account != account
}

// differs tells why a settlement does not confirm the payout; empty when it does.
func (m *matching) differs(ctx context.Context, out outgoing, line *lineRow) (LineResult, error) {
	row := out.row
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	why := row.differs(line)
	switch {
	case why != "":
		return why, nil
	case row.Status == PayoutReconciled:
		return ResultDuplicate, nil
	case row.Status == PayoutReturned:
		return m.afterReturn(ctx, row, line)
	case m.astray(row, line):
		return ResultBeneficiary, nil
	case row.underway() || row.Status == PayoutReleased || m.unsent(row, line):
		return "", nil
	default:
		return ResultState, nil
	}
}

// settled confirms a payout; success reported settles every doubt. Money that moved
// otherwise than it was sent keeps the payout from being sent once more.
func (m *matching) settled(ctx context.Context, out outgoing, line *lineRow) (LineResult, error) {
	row := out.row
	why, err := m.differs(ctx, out, line)
	switch {
	case err != nil:
		return "", err
	case why == ResultDuplicate:
		return why, nil
	case why != "":
		return m.barUnconfirmed(ctx, out, line, why)
	case m.unsent(row, line):
		if err := m.adopt(out, line); err != nil {
			return "", err
		}
	}
	if row.underway() {
		if err := m.accepted(out, line); err != nil {
			return "", err
		}
	}
	row.ReconciledAt = &m.now
	return ResultReconciled, m.stepPayout(out.claim, row, PayoutReconciled, fmt.Sprintf("The rail's report confirms the payout of %s.", row.money()))
}

// barUnconfirmed bars what a settlement shows to have arrived without confirming its
// payout. One that was matched before is no news: it may have come back since.
func (m *matching) barUnconfirmed(ctx context.Context, out outgoing, line *lineRow, why LineResult) (LineResult, error) {
	whole := why == ResultState || why == ResultReversed
	if whole {
		if repeated, err := m.isRepeated(ctx, out.row, line); err != nil || repeated {
			return ResultDuplicate, err
		}
	}
	return why, m.bar(out.claim, out.row, line, whole)
}

// accepted is the rail's answer that did not arrive.
func (m *matching) accepted(out outgoing, line *lineRow) error {
	row := out.row
	m.later.Queue(`update payout_attempts set ended_at = coalesce(ended_at, $1), outcome = 'accepted', provider_reference = $2
		where payout_id = $3 and partner = $4 and key = $5 and coalesce(outcome, 'unknown') = 'unknown'`,
		m.now, textOrNil(line.Reference), row.ID, row.Partner, row.key())
	row.Provider = &line.Rail
	_, err := m.conclude(out.claim, row, nil, RailAnswer{Outcome: OutcomeAccepted, Reference: line.Reference})
	return err
}

// returned takes back a payout whose money came back and makes the one that takes
// its place. What came back had gone out, so a doubt ends too.
func (m *matching) returned(ctx context.Context, out outgoing, line *lineRow) (LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	row, why := out.row, out.row.differs(line)
	if why != ResultAmount {
		if err := m.forgetArrival(ctx, row, line); err != nil {
			return "", err
		}
	}
	switch {
	case row.Status == PayoutReturned && why == "":
		return ResultDuplicate, nil
	case why == "" && m.unsent(row, line):
		if err := m.adopt(out, line); err != nil {
			return "", err
		}
	case row.underway() && why == "":
		if err := m.accepted(out, line); err != nil {
			return "", err
		}
	case row.Status != PayoutReleased && row.Status != PayoutReconciled:
		return ResultState, nil
	case why != "":
		return why, nil
	}
	if err := m.stepPayout(out.claim, row, PayoutReturned, fmt.Sprintf("The payout of %s came back (%s).", row.money(), line.Code)); err != nil {
		return "", err
	}
	if err := m.reopen(ctx, out.claim); err != nil {
		return "", err
	}
	again, err := m.payAgain(ctx, out.claim, row)
	if err != nil {
		return "", err
	}
	m.again, m.replaced[out.claim.ID] = append(m.again, again), true
	m.siblings[out.claim.ID] = append(m.siblings[out.claim.ID], again)
	if m.hasArrived(again) {
		return ResultReturned, m.blockLocked(out.claim, again, BlockedRailMismatch)
	}
	return ResultReturned, nil
}

// rejected is a refusal that came as a report. Of what was released before it is a
// return. Of a payout that is with the rail no call has a clear end, so money may have
// moved: the rail is asked before another key is used.
func (m *matching) rejected(ctx context.Context, out outgoing, line *lineRow) (LineResult, error) {
	row := out.row
	switch {
	case m.unsent(row, line):
		return ResultRefused, m.refuseUnsent(out, line)
	case row.Status == PayoutBlocked, row.Status == PayoutReturned, row.gaveUp(line.Key):
		return ResultRefused, nil // it is known
	case row.Status == PayoutReleased:
		return m.returned(ctx, out, line)
	case !row.underway() || row.differs(line) != "":
		return ResultState, nil
	}
	return ResultRefused, m.noteRefusal(ctx, out.claim, row, "refusal_reported_at")
}

// reopen takes a closed claim back up.
func (m *matching) reopen(ctx context.Context, claim *claimRow) error {
	if claim.Status != ClaimClosed {
		return nil
	}
	claim.ClosedAt = nil
	return m.become(ctx, claim, ClaimApproved, "Money of the claim came back; it is open again.")
}

// become moves a claim in memory; write keeps it.
func (m *matching) become(ctx context.Context, claim *claimRow, to ClaimStatus, summary string) error {
	kind, err := step(m.unit, &claim.header, ClaimArrows, &claim.Status, to)
	if err != nil {
		return err
	}
	parts, err := m.partsOf(ctx, claim)
	if err != nil {
		return err
	}
	parts.show(m.siblings[claim.ID])
	m.changed[claim.ID] = claim
	return m.sayClaim(claim, kind, parts, summary)
}

// find keeps a line that does not fit, unless it was kept before.
func (m *matching) find(line *lineRow) {
	if !slices.Contains(FindingKinds(), *line.Result) {
		return
	}
	row := &findingRow{ID: newID(), CreatedAt: m.now, Kind: *line.Result, Rail: &line.Rail, ReportID: &line.ReportID, Line: &line.Number}
	if out, ok := m.payoutOf(line); ok {
		row.Partner, row.PayoutID, row.PolicyID = &out.row.Partner, &out.row.ID, &out.row.PolicyID
	} else if line.policy != nil {
		row.Partner, row.PolicyID = &line.policy.Partner, &line.policy.ID
	}
	m.findings = append(m.findings, row)
}

// closePaid closes the claims that are paid and confirmed in full.
func (m *matching) closePaid(ctx context.Context, moved []outgoing) error {
	for _, out := range moved {
		claim := out.claim
		if claim.Status != ClaimApproved || !paid(claim, m.siblings[claim.ID]) {
			continue
		}
		claim.ClosedAt = &m.now
		if err := m.become(ctx, claim, ClaimClosed, "Everything the claim owes is paid and confirmed; it is closed."); err != nil {
			return err
		}
	}
	return nil
}

// keepClaims writes where locked claims stand now.
func (m *matching) keepClaims() {
	var ids []uuid.UUID
	var partners, status []string
	var versions []int64
	var closed []*time.Time
	for id, claim := range m.changed {
		ids, partners, status = append(ids, id), append(partners, claim.Partner), append(status, string(claim.Status))
		versions, closed = append(versions, claim.Version), append(closed, claim.ClosedAt)
	}
	m.later.Queue(`update claims as c set status = n.status, closed_at = n.closed, version = n.version, updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[]) as n (id, partner, status, version, closed)
		where c.id = n.id and c.partner = n.partner`, m.now, ids, partners, status, versions, closed)
}
