package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/account"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// A rail can report an order under a key that this database never sent: the payout was
// sent before the database was restored from a backup, and is due again. The key
// identifies the debt, so the report's line applies to the payout as if it had been
// sent under the key.

// isUnsent reports whether a line is about an order that this database does not know:
// the payout waits, and no rail got its key.
func (m *lineMatcher) isUnsent(row *payoutRow, line *lineRow) bool {
	waits := row.Status == PayoutPending || row.Status == PayoutBlocked && *row.BlockedReason != BlockedRailMismatch
	return waits && line.parsedKey.digest != "" && line.Key == row.idempotencyKey() && len(m.recipientsByKey[line.Key]) == 0
}

// prepareAdoption finds the intended account of an unsent payout. If this database has
// sent no key and the line has a later one, the payout takes its number: the earlier
// keys were refused, or their payments returned, before the restore.
func (m *lineMatcher) prepareAdoption(ctx context.Context, out lockedPayout, line *lineRow) error {
	row := out.row
	waits := row.Status == PayoutPending || row.Status == PayoutBlocked
	if waits && row.Attempts == 0 && line.parsedKey.digest != "" && line.parsedKey.number > row.IdempotencySeq && line.Amount == row.Amount && line.Currency == row.Currency {
		row.IdempotencySeq = line.parsedKey.number
	}
	if !m.isUnsent(row, line) || row.PayoutMethodID != nil {
		return nil
	}
	_, method, err := loadDestination(ctx, m.Tx, out.claim, row)
	if err != nil || method == nil {
		return err
	}
	m.intendedMethods[row.ID], m.accounts[method.ID] = &method.ID, account.Masked(method.Type, method.Last4)
	return nil
}

// adoptPayout moves an unsent payout to the status it had after the rail accepted it.
func (m *lineMatcher) adoptPayout(out lockedPayout, line *lineRow) error {
	row := out.row
	m.adoptAttempt(row, line, RailAnswer{Outcome: OutcomeAccepted, Code: codeReported, Reference: line.Reference})
	if method := m.intendedMethods[row.ID]; method != nil && row.PayoutMethodID == nil {
		row.PayoutMethodID = method
		m.Batch.Queue("update payouts set payout_method_id = $1 where id = $2 and partner = $3", *method, row.ID, row.Partner)
	}
	if row.Status == PayoutBlocked {
		if err := transitionPayoutInMemory(m.Tx, out.claim, row, PayoutPending, "The rail reports that it already paid."); err != nil {
			return err
		}
	}
	if err := transitionPayoutInMemory(m.Tx, out.claim, row, PayoutReleasing, fmt.Sprintf("The rail was given the payout of %s before; it is not sent again.", row.toMoney())); err != nil {
		return err
	}
	_, err := applyOutcome(m.Tx, out.claim, row, nil, RailAnswer{Outcome: OutcomeAccepted, Reference: line.Reference})
	return err
}

// applyUnderway applies a line by which the rail has an order. An order that this
// database never sent was sent before the restore.
func (m *lineMatcher) applyUnderway(ctx context.Context, out lockedPayout, line *lineRow) (LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil || !m.isUnsent(out.row, line) {
		return ResultUnderway, err
	}
	if why := out.row.mismatch(line); why != "" {
		return why, m.blockDoublePayment(out.claim, out.row, line, false)
	}
	return ResultUnderway, m.adoptPayout(out, line)
}

// codeReported is the code of an attempt that is known only from the rail's report.
const codeReported = "reported"

// adoptAttempt stores an attempt for the reported order, with the bank that reports it.
func (m *lineMatcher) adoptAttempt(row *payoutRow, line *lineRow, answer RailAnswer) {
	row.Attempts++
	row.Provider = &line.Rail
	m.recipientsByKey[line.Key] = []recipient{{line.Rail, line.bank}}
	order := &Release{Partner: row.Partner, PayoutID: store.ResourcePayout.FormatID(row.ID), Attempt: row.Attempts, Key: line.Key}
	saveAttempts(m.Tx, recipient{line.Rail, line.bank}, []*Release{order}, []RailAnswer{answer})
}

// refuseUnsent applies a refusal of an unsent payout. A payout on hold stays as it is:
// an operator decides.
func (m *lineMatcher) refuseUnsent(out lockedPayout, line *lineRow) error {
	row := out.row
	if row.isHeld() || row.mismatch(line) != "" {
		return nil
	}
	m.adoptAttempt(row, line, RailAnswer{Outcome: OutcomeRefused, Code: line.Code})
	row.IdempotencySeq++
	before := row.Version
	if err := blockPayoutInMemory(m.Tx, out.claim, row, BlockedRailRejected); err != nil || row.Version != before {
		return err
	}
	m.BumpVersion(&row.RowHeader)
	return recordPayoutEvent(m.Tx, out.claim, row, row.ledgerTransfer(), event.PayoutUpdated, blockedSentence(BlockedRailRejected))
}

// policyOfKey returns the policy id at the start of a key, regardless of the rest.
func policyOfKey(text string) (uuid.UUID, bool) {
	name, _, found := strings.Cut(text, ".")
	id, err := store.ResourcePolicy.ParseID(name)
	return id, found && err == nil
}
