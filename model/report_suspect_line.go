package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// A report line that names a known policy under the key of an unknown debt may be a
// payment that this database lost, for example by a restore. Until an operator has
// answered it, none of the policy's payouts is sent. When the debt appears later, the
// line is matched again before its payout can be sent, answered or not.

// hasSuspectLineSQL is true for a payout po that must not be sent now, see
// hasSuspectLine.
const hasSuspectLineSQL = `exists (select from reconciliation_exceptions fi join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line
	where fi.policy_id = po.policy_id and fi.kind in ('unknown', 'unmatched') and (fi.closed_at is null or rl.match_result is null))`

// countUnansweredLines counts the open lines of unknown debts and those that could not
// be matched.
func (tx *Tx) countUnansweredLines(ctx context.Context) (int64, error) {
	n, err := tx.NewSelect().Model((*exceptionRow)(nil)).Where("fi.kind in (?, ?)", ResultUnknown, ResultUnmatched).Where("fi.closed_at is null").Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count findings: %w", err)
	}
	return n, nil
}

// suspectLine is a line of an unknown debt.
type suspectLine struct {
	policy, report uuid.UUID
	number         int
	key            string
	open           bool // not answered
	pending        bool // waits to be matched again
}

// suspectLines are the lines that block payouts, by policy.
type suspectLines map[uuid.UUID][]suspectLine

// queueSuspectLines queues a read of the lines that name the payouts' policies.
func (tx *Tx) queueSuspectLines(slice []lockedPayout, found suspectLines) {
	var policies []uuid.UUID
	for _, out := range slice {
		policies = append(policies, out.row.PolicyID)
	}
	tx.batch.Queue(`select fi.policy_id, fi.report_id, fi.line, rl.key, fi.closed_at is null, rl.match_result is null
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

// hasSuspectLine reports whether a payout must not be sent, and queues lines that name
// its debt to be matched again.
func (tx *Tx) hasSuspectLine(row *payoutRow, found suspectLines) (barred bool) {
	for _, line := range found[row.PolicyID] {
		names := row.isNamedBy(line.key)
		barred = barred || line.open || line.pending || names
		if names && !line.pending {
			tx.batch.Queue("update rail_report_lines set match_result = null where report_id = $1 and number = $2 and match_result = 'unknown' and payout_id is null", line.report, line.number)
		}
	}
	return barred
}

// isNamedBy reports whether a rail's key, whole or short, identifies the payout's debt.
func (r *payoutRow) isNamedBy(text string) bool {
	if key, ok := parseRailKey(text); ok {
		return r.hasKey(key)
	}
	short, ok := parseShortKey(text)
	return ok && r.expandShortKey(short) != ""
}

// reopenLines queues, answered or not, the lines of unknown debts whose debt has
// appeared since to be matched again: a repeated occurrence creates the same debt in a
// restored database.
func (s *Service) reopenLines(ctx context.Context) error {
	after := uuid.Nil
	for more := true; more; {
		err := s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) (err error) {
			after, more, err = tx.reopenLines(ctx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("match lines again: %w", err)
		}
	}
	return nil
}

func (tx *Tx) reopenLines(ctx context.Context, after uuid.UUID) (last uuid.UUID, more bool, err error) {
	var rows []struct {
		ID, ReportID uuid.UUID
		Line         int
		Key          string
	}
	err = tx.NewRaw(`select fi.id, fi.report_id, fi.line, rl.key from reconciliation_exceptions fi
		join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line and rl.match_result = 'unknown' and rl.payout_id is null
		where fi.kind = 'unknown' and fi.policy_id is not null and fi.id > ?0
			and exists (select from payouts po where po.policy_id = fi.policy_id and po.debt_digest is not null and po.created_at >= fi.created_at)
		order by fi.id limit ?1`, after, sweepSetBatchSize).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return after, false, err
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Key
	}
	if err := expandShortKeys(ctx, tx, texts); err != nil {
		return after, false, err
	}
	owners, err := findPayoutsByKeys(ctx, tx, texts)
	if err != nil {
		return after, false, err
	}
	var reports []uuid.UUID
	var numbers []int
	for i, row := range rows {
		if _, known := owners[texts[i]]; known {
			reports, numbers = append(reports, row.ReportID), append(numbers, row.Line)
		}
	}
	tx.batch.Queue(`update rail_report_lines rl set match_result = null from unnest($1::uuid[], $2::int[]) as n (report_id, number)
		where rl.report_id = n.report_id and rl.number = n.number and rl.match_result = 'unknown' and rl.payout_id is null`, reports, numbers)
	return rows[len(rows)-1].ID, len(rows) == sweepSetBatchSize, nil
}
