package reconciliation

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// A report line that names a known policy under the key of an unknown debt may be a
// payment that this database lost, for example by a restore. Until an operator has
// answered it, none of the policy's payouts is sent. When the debt appears later, the
// line is matched again before its payout can be sent, answered or not.

// reopenLinesInOwnTx queues, answered or not, the lines of unknown debts whose debt has
// appeared since to be matched again: a repeated occurrence creates the same debt in a
// restored database.
func reopenLinesInOwnTx(ctx context.Context, s *store.Store) error {
	after := uuid.Nil
	for more := true; more; {
		err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
			after, more, err = reopenLines(ctx, tx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("match lines again: %w", err)
		}
	}
	return nil
}

func reopenLines(ctx context.Context, tx *store.Tx, after uuid.UUID) (last uuid.UUID, more bool, err error) {
	var rows []struct {
		ID, ReportID uuid.UUID
		Line         int
		Key          string
	}
	err = tx.NewRaw(`select fi.id, fi.report_id, fi.line, rl.key from reconciliation_exceptions fi
		join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line and rl.match_result = 'unknown' and rl.payout_id is null
		where fi.kind = 'unknown' and fi.policy_id is not null and fi.id > ?0
			and exists (select from payouts po where po.policy_id = fi.policy_id and po.created_at >= fi.created_at)
		order by fi.id limit ?1`, after, store.SweepSetBatchSize).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return after, false, err
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Key
	}
	if err := payouts.ExpandShortKeys(ctx, tx, texts); err != nil {
		return after, false, err
	}
	owners, err := payouts.FindPayoutsByKeys(ctx, tx, texts)
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
	tx.Batch.Queue(`update rail_report_lines rl set match_result = null from unnest($1::uuid[], $2::int[]) as n (report_id, number)
		where rl.report_id = n.report_id and rl.number = n.number and rl.match_result = 'unknown' and rl.payout_id is null`, reports, numbers)
	return rows[len(rows)-1].ID, len(rows) == store.SweepSetBatchSize, nil
}
