package release

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// ExceptionContradiction is an answer that contradicts an earlier answer of the rail:
// refused after accepted, or accepted for a superseded key.
const ExceptionContradiction payouts.ReconciliationExceptionKind = "contradiction"

// isContradictedBy reports whether an answer contradicts what the rail, or evidence,
// showed before. A payment under a superseded key, or for a payout that is not with the
// rail, must not be retried; a repeated mismatch is not a contradiction.
func isContradictedBy(r *claims.PayoutRow, order *Release, answer payouts.RailAnswer) bool {
	current := order.Key == payouts.IdempotencyKey(r)
	switch {
	case answer.Outcome == payouts.OutcomeRefused:
		return current && (r.Status == claims.PayoutReleased || r.Status == claims.PayoutReconciled)
	case !answer.Outcome.MovedMoney():
		return false
	case r.IsInFlight():
		return !current || order.RefusalNoticed
	default:
		return !current || awaitsSending(r) || answer.Outcome == payouts.OutcomeAccepted && r.Status == claims.PayoutCancelled && !r.SettledExternally
	}
}

// awaitsSending reports whether the payout will be sent, now or once it is unblocked.
func awaitsSending(r *claims.PayoutRow) bool {
	return r.Status == claims.PayoutPending || r.Status == claims.PayoutBlocked && *r.BlockedReason != claims.BlockedRailMismatch
}

// recordContradiction opens an exception for an operator, and records an event if the
// transaction has not recorded another one for the payout. While an exception is open,
// repeated contradictions add none.
func recordContradiction(tx *store.Tx, rail string, out payouts.LockedPayout) error {
	row := out.Row
	open, err := tx.NewSelect().Model((*payouts.ExceptionRow)(nil)).Where("fi.payout_id = ?", row.ID).Where("fi.partner = ?", row.Partner).
		Where("fi.kind = ?", ExceptionContradiction).Where("fi.closed_at is null").Exists(tx.Ctx)
	if err != nil || open {
		return err
	}
	tx.QueueInsert(&payouts.ExceptionRow{ID: store.NewID(), CreatedAt: tx.Now, Kind: ExceptionContradiction, Rail: &rail, Partner: &row.Partner, PayoutID: &row.ID})
	if row.Version != out.Version {
		return nil
	}
	tx.BumpVersion(&row.RowHeader)
	return payouts.RecordPayoutEvent(tx, out.Claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, "The rail contradicts its earlier answer about the payout; an operator investigates.")
}

// RecordRefusalNotice stores a refusal that a rail sent on its own, for a payout whose
// calls under the same key had no clear outcome. The notice does not settle the payout:
// the rail is asked at once, and only its answer does. It reports whether the payout
// was with the rail under the key.
func (s *Service) RecordRefusalNotice(ctx context.Context, rail string, order *Release) (noted bool, err error) {
	err = payouts.ChangePayout(ctx, s.Store, actor.Actor{Kind: actor.KindRail, Name: rail}, order.Partner, order.PayoutID, func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
		noted = row.IsInFlight() && payouts.IdempotencyKey(row) == order.Key
		if !noted {
			return nil
		}
		out := payouts.NewLockedPayout(claim, row)
		if err := NoteRefusal(ctx, tx, claim, row, "refusal_noticed_at"); err != nil {
			return err
		}
		payouts.SavePayouts(tx, []payouts.LockedPayout{out})
		return nil
	})
	return noted, err
}

// NoteRefusal stores, in a column of the attempts, that the rail reported a refusal of
// a payout in flight, and schedules an inquiry: at once, or after the running call. The
// caller holds the payout's lock and saves it.
func NoteRefusal(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, column string) error {
	var running []bool
	err := tx.NewRaw(`update payout_attempts set ?0 = ?1 where payout_id = ?2 and partner = ?3 and key = ?4 and ?0 is null
		returning ended_at is null and started_at > ?5`, bun.Ident(column), tx.Now, row.ID, row.Partner, payouts.IdempotencyKey(row), tx.Now.Add(-payouts.ReleaseLease)).Scan(ctx, &running)
	switch {
	case err != nil:
		return fmt.Errorf("note refusal: %w", err)
	case len(running) == 0:
		return nil // a repeated notice
	case !slices.Contains(running, true):
		row.NextAttemptAt = &tx.Now
		tx.EnqueueJob(payouts.ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID)})
	}
	tx.BumpVersion(&row.RowHeader)
	return payouts.RecordPayoutEvent(tx, claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, "The rail says that it refused the payout; it is asked to confirm that.")
}

// isRefusalNoticed reports whether the rail sent a refusal of the payout since the
// order was prepared.
func isRefusalNoticed(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, order *Release) (noticed bool, err error) {
	if !row.IsInFlight() || order.Key != payouts.IdempotencyKey(row) || order.version == row.Version {
		return order.RefusalNoticed, nil
	}
	err = tx.NewRaw(`select exists (select from payout_attempts where payout_id = ? and partner = ? and key = ? and (refusal_noticed_at is not null or refusal_reported_at is not null))`,
		row.ID, row.Partner, order.Key).Scan(ctx, &noticed)
	if err != nil {
		return false, fmt.Errorf("read attempts: %w", err)
	}
	return noticed, nil
}

// RecordVoid stores that the rail will never pay under a key.
func (s *Service) RecordVoid(ctx context.Context, key string) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		owners, err := payouts.FindPayoutsByKeys(ctx, tx, []string{key})
		if err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model((*payouts.AttemptRow)(nil)).Set("voided_at = ?", tx.Now).Where("payout_id = ?", owners[key]).Where("key = ?", key).Exec(ctx)
		return err
	})
}

// queueSupersededKeys queues a read of the superseded keys of the payouts' debts that a
// bank may still pay under: the bank refused the key, or evidence showed no payment; it
// has not voided the key; and no report shows a return of the money.
func queueSupersededKeys(tx *store.Tx, givenUp map[string][]string, rail payouts.RailIdentity, slice []payouts.LockedPayout) {
	var policies []uuid.UUID
	var digests, keys []string
	for _, out := range slice {
		if row := out.Row; row.IdempotencySeq > 1 {
			policies, digests, keys = append(policies, row.PolicyID), append(digests, row.DebtDigest), append(keys, payouts.IdempotencyKey(row))
		}
	}
	if len(keys) == 0 {
		return
	}
	other := fmt.Sprintf(OtherBankSQL, "$4", "$5")
	tx.Batch.Queue(`select distinct n.key, a.key from unnest($1::uuid[], $2::text[], $3::text[]) as n (policy, digest, key)
		join payouts po on po.policy_id = n.policy and po.debt_digest = n.digest
		cross join lateral (select a.key from payout_attempts a`+JoinIdentitySQL+`where a.payout_id = po.id and a.partner = po.partner and a.key <> n.key
			group by a.key having bool_or(a.outcome is distinct from 'not_sent') and not bool_or(a.outcome is not distinct from 'accepted' or a.voided_at is not null or `+other+`)
				and not exists (select from rail_report_lines rl where rl.payout_id = po.id and rl.key = a.key and rl.status = 'returned' and rl.match_result in ('returned', 'state', 'duplicate'))) as a
		order by 1, 2`, policies, digests, keys, rail.Name, rail.ID()).Query(func(rows pgx.Rows) error {
		var current, key string
		_, err := pgx.ForEachRow(rows, []any{&current, &key}, func() error {
			givenUp[current] = append(givenUp[current], key)
			return nil
		})
		return err
	})
}
