package reconciliation

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// A rail can report an order under a key that this database never sent: the payout was
// sent before the database was restored from a backup, and is due again. The key
// identifies the debt, so the report's line applies to the payout as if it had been
// sent under the key.

// isUnsent reports whether a line is about an order that this database does not know:
// the payout waits, and no rail got its key.
func (m *lineMatcher) isUnsent(row *claims.PayoutRow, line *lineRow) bool {
	waits := row.Status == claims.PayoutPending || row.Status == claims.PayoutBlocked && *row.BlockedReason != claims.BlockedRailMismatch
	return waits && line.parsedKey.Digest != "" && line.Key == payouts.IdempotencyKey(row) && len(m.recipientsByKey[line.Key]) == 0
}

// prepareAdoption finds the intended account of an unsent payout. If this database has
// sent no key and the line has a later one, the payout takes its number: the earlier
// keys were refused, or their payments returned, before the restore.
func (m *lineMatcher) prepareAdoption(ctx context.Context, out payouts.LockedPayout, line *lineRow) error {
	row := out.Row
	waits := row.Status == claims.PayoutPending || row.Status == claims.PayoutBlocked
	if waits && row.Attempts == 0 && line.parsedKey.Digest != "" && line.parsedKey.Number > row.IdempotencySeq && line.Amount == row.Amount && line.Currency == row.Currency {
		row.IdempotencySeq = line.parsedKey.Number
	}
	if !m.isUnsent(row, line) || row.PayoutMethodID != nil {
		return nil
	}
	_, method, err := payouts.LoadDestination(ctx, m.Tx, out.Claim, row)
	if err != nil || method == nil {
		return err
	}
	m.intendedMethods[row.ID], m.accounts[method.ID] = &method.ID, account.Masked(method.Type, method.Last4)
	return nil
}

// adoptPayout moves an unsent payout to the status it had after the rail accepted it.
func (m *lineMatcher) adoptPayout(out payouts.LockedPayout, line *lineRow) error {
	row := out.Row
	m.adoptAttempt(row, line, payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Code: codeReported, Reference: line.Reference})
	if method := m.intendedMethods[row.ID]; method != nil && row.PayoutMethodID == nil {
		row.PayoutMethodID = method
		m.Batch.Queue("update payouts set payout_method_id = $1 where id = $2 and partner = $3", *method, row.ID, row.Partner)
	}
	if row.Status == claims.PayoutBlocked {
		if err := payouts.TransitionPayoutInMemory(m.Tx, out.Claim, row, claims.PayoutPending, "The rail reports that it already paid."); err != nil {
			return err
		}
	}
	if err := payouts.TransitionPayoutInMemory(m.Tx, out.Claim, row, claims.PayoutReleasing, fmt.Sprintf("The rail was given the payout of %s before; it is not sent again.", row.ToMoney())); err != nil {
		return err
	}
	_, err := release.ApplyOutcome(m.Tx, out.Claim, row, nil, payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Reference: line.Reference})
	return err
}

// applyUnderway applies a line by which the rail has an order. An order that this
// database never sent was sent before the restore; if it differs from what is owed now,
// it is blocked like a settlement.
func (m *lineMatcher) applyUnderway(ctx context.Context, out payouts.LockedPayout, line *lineRow) (payouts.LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil {
		return "", err
	}
	why := mismatch(out.Row, line)
	switch {
	case why != "" && m.isLostKey(out.Row, line):
		return why, m.blockDoublePayment(out.Claim, out.Row, line, false)
	case m.isUnsent(out.Row, line):
		return payouts.ResultUnderway, m.adoptPayout(out, line)
	default:
		return payouts.ResultUnderway, nil
	}
}

// isLostKey reports whether this database has sent neither the line's key nor a later
// one: the order was sent before the restore.
func (m *lineMatcher) isLostKey(row *claims.PayoutRow, line *lineRow) bool {
	return line.parsedKey.Digest != "" && len(m.recipientsByKey[line.Key]) == 0 && !keySuperseded(row, line.Key)
}

// codeReported is the code of an attempt that is known only from the rail's report.
const codeReported = "reported"

// adoptAttempt stores an attempt for the reported order, with the bank that reports it.
func (m *lineMatcher) adoptAttempt(row *claims.PayoutRow, line *lineRow, answer payouts.RailAnswer) {
	row.Attempts++
	row.Provider = &line.Rail
	m.recipientsByKey[line.Key] = []payouts.Recipient{{Rail: line.Rail, Bank: line.bank}}
	order := &release.Release{Partner: row.Partner, PayoutID: store.ResourcePayout.FormatID(row.ID), Attempt: row.Attempts, Key: line.Key}
	release.SaveAttempts(m.Tx, payouts.Recipient{Rail: line.Rail, Bank: line.bank}, []*release.Release{order}, []payouts.RailAnswer{answer})
}

// refuseUnsent applies a refusal of an unsent payout. A payout on hold stays as it is:
// an operator decides.
func (m *lineMatcher) refuseUnsent(out payouts.LockedPayout, line *lineRow) error {
	row := out.Row
	if payouts.IsHeld(row) || mismatch(row, line) != "" {
		return nil
	}
	m.adoptAttempt(row, line, payouts.RailAnswer{Outcome: payouts.OutcomeRefused, Code: line.Code})
	row.IdempotencySeq++
	before := row.Version
	if err := payouts.BlockPayoutInMemory(m.Tx, out.Claim, row, claims.BlockedRailRejected); err != nil || row.Version != before {
		return err
	}
	m.BumpVersion(&row.RowHeader)
	return payouts.RecordPayoutEvent(m.Tx, out.Claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, payouts.BlockedSentence(claims.BlockedRailRejected))
}

// policyOfKey returns the policy id at the start of a key, regardless of the rest.
func policyOfKey(text string) (uuid.UUID, bool) {
	name, _, found := strings.Cut(text, ".")
	id, err := store.ResourcePolicy.ParseID(name)
	return id, found && err == nil
}
