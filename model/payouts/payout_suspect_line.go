package payouts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/claims"
	"parapet/model/kernel/store"
)

// HasSuspectLine reports whether a payout must not be sent, and queues lines that name
// its debt to be matched again.
func HasSuspectLine(tx *store.Tx, row *claims.PayoutRow, found SuspectLines) (barred bool) {
	for _, line := range found[row.PolicyID] {
		names := isNamedBy(row, line.key)
		barred = barred || line.open || line.pending || names
		if names && !line.pending {
			tx.Batch.Queue("update rail_report_lines set match_result = null where report_id = $1 and number = $2 and match_result = 'unknown' and payout_id is null", line.report, line.number)
		}
	}
	return barred
}

// HasSuspectLineSQL is true for a payout po that must not be sent now, see
// HasSuspectLine.
const HasSuspectLineSQL = `exists (select from reconciliation_exceptions fi join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line
	where fi.policy_id = po.policy_id and fi.kind in ('unknown', 'unmatched') and (fi.closed_at is null or rl.match_result is null))`

// suspectLine is a line of an unknown debt.
type suspectLine struct {
	policy, report uuid.UUID
	number         int
	key            string
	open           bool // not answered
	pending        bool // waits to be matched again
}

// SuspectLines are the lines that block payouts, by policy.
type SuspectLines map[uuid.UUID][]suspectLine

// QueueSuspectLines queues a read of the lines that name the payouts' policies.
func QueueSuspectLines(tx *store.Tx, slice []LockedPayout, found SuspectLines) {
	var policies []uuid.UUID
	for _, out := range slice {
		policies = append(policies, out.Row.PolicyID)
	}
	tx.Batch.Queue(`select fi.policy_id, fi.report_id, fi.line, rl.key, fi.closed_at is null, rl.match_result is null
		from reconciliation_exceptions fi join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line
		where fi.policy_id = any($1) and fi.kind in ('unknown', 'unmatched') and (fi.closed_at is null or rl.payout_id is null and rl.match_result is distinct from 'unmatched')`, policies).
		Query(func(rows pgx.Rows) error {
			var line suspectLine
			_, err := pgx.ForEachRow(rows, []any{&line.policy, &line.report, &line.number, &line.key, &line.open, &line.pending}, func() error {
				found[line.policy] = append(found[line.policy], line)
				return nil
			})
			return err
		})
}

// isNamedBy reports whether a rail's key, whole or short, identifies the payout's debt.
func isNamedBy(r *claims.PayoutRow, text string) bool {
	if key, ok := ParseRailKey(text); ok {
		return HasKey(r, key)
	}
	short, ok := parseShortKey(text)
	return ok && expandShortKey(r, short) != ""
}

// CountUnansweredLines counts the open lines of unknown debts and those that could not
// be matched.
func CountUnansweredLines(ctx context.Context, tx *store.Tx) (int64, error) {
	n, err := tx.NewSelect().Model((*ExceptionRow)(nil)).Where("fi.kind in (?, ?)", ResultUnknown, ResultUnmatched).Where("fi.closed_at is null").Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count exceptions: %w", err)
	}
	return n, nil
}
