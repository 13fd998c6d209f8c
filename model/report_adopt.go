package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/account"
)

// A rail can report an order under a key that this database never sent: the payout was
// made before the database was restored from a backup, and is owed anew. The key says
// what is owed, so the payout takes the rail's word as if it had been sent under it.

// unsent reports whether a line is about an order that nobody remembers: the payout
// waits, and no rail was given its key.
func (m *matching) unsent(row *payoutRow, line *lineRow) bool {
	waits := row.Status == PayoutPending || row.Status == PayoutBlocked && *row.BlockedReason != BlockedRailMismatch
	return waits && line.named.digest != "" && line.Key == row.key() && len(m.given[line.Key]) == 0
}

// prepareAdoption finds the account for which an unsent payout is meant, and takes the
// number of a later key where this database has sent none: the earlier ones were
// refused, or came back, before the restore.
func (m *matching) prepareAdoption(ctx context.Context, out outgoing, line *lineRow) error {
	row := out.row
	waits := row.Status == PayoutPending || row.Status == PayoutBlocked
	if waits && row.Attempts == 0 && line.named.digest != "" && line.named.number > row.KeyNumber && line.Amount == row.Amount && line.Currency == row.Currency {
		row.KeyNumber = line.named.number
	}
	if !m.unsent(row, line) || row.PayoutMethodID != nil {
		return nil
	}
	_, method, err := m.destination(ctx, out.claim, row)
	if err != nil || method == nil {
		return err
	}
	m.meant[row.ID], m.accounts[method.ID] = &method.ID, account.Masked(method.Type, method.Last4)
	return nil
}

// adopt moves an unsent payout to where it stood when the rail had accepted it.
func (m *matching) adopt(out outgoing, line *lineRow) error {
	row := out.row
	m.adoptAttempt(row, line, RailAnswer{Outcome: OutcomeAccepted, Code: codeReported, Reference: line.Reference})
	if method := m.meant[row.ID]; method != nil && row.PayoutMethodID == nil {
		row.PayoutMethodID = method
		m.later.Queue("update payouts set payout_method_id = $1 where id = $2 and partner = $3", *method, row.ID, row.Partner)
	}
	if row.Status == PayoutBlocked {
		if err := m.stepPayout(out.claim, row, PayoutPending, "The rail reports that the payout was made already."); err != nil {
			return err
		}
	}
	if err := m.stepPayout(out.claim, row, PayoutReleasing, fmt.Sprintf("The rail was given the payout of %s before; it is not sent again.", row.money())); err != nil {
		return err
	}
	_, err := m.conclude(out.claim, row, nil, RailAnswer{Outcome: OutcomeAccepted, Reference: line.Reference})
	return err
}

// sending takes the rail's word that it has an order. One that this database never sent
// was sent before it was restored.
func (m *matching) sending(ctx context.Context, out outgoing, line *lineRow) (LineResult, error) {
	if err := m.prepareAdoption(ctx, out, line); err != nil || !m.unsent(out.row, line) {
		return ResultUnderway, err
	}
	if why := out.row.differs(line); why != "" {
		return why, m.bar(out.claim, out.row, line, false)
	}
	return ResultUnderway, m.adopt(out, line)
}

// codeReported is the code of an attempt that only the rail's report knows.
const codeReported = "reported"

// adoptAttempt records the order that the rail was given, with the bank that reports it.
func (m *matching) adoptAttempt(row *payoutRow, line *lineRow, answer RailAnswer) {
	row.Attempts++
	row.Provider = &line.Rail
	m.given[line.Key] = []recipient{{line.Rail, line.bank}}
	order := &Release{Partner: row.Partner, PayoutID: nounPayout.id(row.ID), Attempt: row.Attempts, Key: line.Key}
	m.keepAttempts(recipient{line.Rail, line.bank}, []*Release{order}, []RailAnswer{answer})
}

// refuseUnsent takes a refusal of an unsent payout. A held one stays as it is: an
// operator decides.
func (m *matching) refuseUnsent(out outgoing, line *lineRow) error {
	row := out.row
	if row.held() || row.differs(line) != "" {
		return nil
	}
	m.adoptAttempt(row, line, RailAnswer{Outcome: OutcomeRefused, Code: line.Code})
	row.KeyNumber++
	before := row.Version
	if err := m.blockLocked(out.claim, row, BlockedRailRejected); err != nil || row.Version != before {
		return err
	}
	m.touch(&row.header)
	return m.sayPayout(out.claim, row, row.stands(), EventPayoutUpdated, blockedSentence(BlockedRailRejected))
}

// policyOfKey is the policy that a key names, whatever follows it.
func policyOfKey(text string) (uuid.UUID, bool) {
	name, _, found := strings.Cut(text, ".")
	id, err := nounPolicy.parse(name)
	return id, found && err == nil
}
