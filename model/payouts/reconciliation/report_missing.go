package reconciliation

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// openMissingOfReport opens an exception for each payout that was sent before the
// report was made and that no report has confirmed. It opens one exception per payout:
// a closed one stays closed.
func openMissingOfReport(ctx context.Context, tx *store.Tx, row *reportRow, until time.Time) error {
	_, err := tx.NewRaw(`insert into reconciliation_exceptions (id, created_at, kind, rail, report_id, partner, policy_id, payout_id)
		select gen_random_uuid(), ?0, 'missing', ?1, ?2, po.partner, po.policy_id, po.id from payouts po
		where po.status = 'released' and po.provider = ?1 and po.released_at < ?3
			and not exists (select from reconciliation_exceptions f where f.payout_id = po.id and f.partner = po.partner and f.kind = 'missing' and f.report_id = ?2)
		on conflict (payout_id, partner) where kind = 'missing' and closed_at is null do nothing`, tx.Now, row.Rail, row.ID, until).Exec(ctx)
	if err != nil {
		return fmt.Errorf("find what is missing: %w", err)
	}
	return nil
}

// OpenMissingExceptions opens an exception for every payout that a rail accepted and
// that no report has confirmed in time, even if the rail sends no reports. own is the
// time limit of the named rail, zero if its reports confirm nothing; others is that of
// every rail used before. Each payout gets one such exception: a closed one stays
// closed. It returns the number opened.
func (s *Service) OpenMissingExceptions(ctx context.Context, rail string, own, others time.Duration) (opened int, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		done, err := tx.NewRaw(`insert into reconciliation_exceptions (id, created_at, kind, rail, partner, policy_id, payout_id)
			select gen_random_uuid(), ?0, 'missing', po.provider, po.partner, po.policy_id, po.id from payouts po
			where po.status = 'released' and (po.provider = ?1 and ?2 and po.released_at < ?3 or po.provider <> ?1 and po.released_at < ?4)
				and not exists (select from reconciliation_exceptions f where f.payout_id = po.id and f.partner = po.partner and f.kind = 'missing' and f.report_id is null)
			on conflict (payout_id, partner) where kind = 'missing' and closed_at is null do nothing`,
			tx.Now, rail, own > 0, tx.Now.Add(-own), tx.Now.Add(-others)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("find what is missing: %w", err)
		}
		n, err := done.RowsAffected()
		opened = int(n)
		return err
	})
	return opened, err
}
