package reconciliation

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// isKnownToBank reports whether the reporting bank may know the line's key: this
// database has sent the order under the key to that bank, or to no bank at all.
func (m *lineMatcher) isKnownToBank(line *lineRow) bool {
	given := m.recipientsByKey[line.Key]
	return line.Key == "" || len(given) == 0 || slices.ContainsFunc(given, func(to payouts.Recipient) bool {
		return to.Rail == line.Rail && (to.Bank == "" || line.bank == "" || to.Bank == line.bank)
	})
}

// loadRecipients reads which banks received which keys of the payouts, and which banks
// made the lines' reports.
func (m *lineMatcher) loadRecipients(ctx context.Context, payoutIDs []uuid.UUID) error {
	var orders []struct{ Key, Rail, Bank string }
	err := m.NewRaw(`select distinct a.key, a.rail, coalesce(i.bank, a.rail_identity, '') as bank from payout_attempts a`+release.JoinIdentitySQL+`
		where a.payout_id in (?) and a.outcome is distinct from 'not_sent'`, bun.List(payoutIDs)).Scan(ctx, &orders)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, order := range orders {
		m.recipientsByKey[order.Key] = append(m.recipientsByKey[order.Key], payouts.Recipient{Rail: order.Rail, Bank: order.Bank})
	}
	var reports []struct {
		ID   uuid.UUID
		Bank string
	}
	ids := make([]uuid.UUID, 0, 1)
	for _, line := range m.lines {
		if !slices.Contains(ids, line.ReportID) {
			ids = append(ids, line.ReportID)
		}
	}
	err = m.NewRaw(`select rr.id, coalesce(i.bank, rr.rail_identity) as bank from rail_reports rr left join rail_identities i on i.id = rr.rail_identity
		where rr.id in (?) and rr.rail_identity is not null`, bun.List(ids)).Scan(ctx, &reports)
	if err != nil {
		return fmt.Errorf("read reports: %w", err)
	}
	for _, report := range reports {
		for _, line := range m.lines {
			if line.ReportID == report.ID {
				line.bank = report.Bank
			}
		}
	}
	return nil
}
