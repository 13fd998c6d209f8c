package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// FindingContradiction is what a rail says against its own word: refused after accepted,
// or accepted for a key that was given up.
const FindingContradiction FindingKind = "contradiction"

// contradicts reports whether an answer is against what the rail said, or what evidence
// showed, before. Money that moves under a key that was given up, or for a payout that
// is not with the rail, is nothing to try again; a repeated mismatch is no news.
func (r *payoutRow) contradicts(order *Release, answer RailAnswer) bool {
	current := order.Key == r.key()
	switch {
	case answer.Outcome == OutcomeRefused:
		return current && (r.Status == PayoutReleased || r.Status == PayoutReconciled)
	case !answer.Outcome.paid():
		return false
	case r.underway():
		return !current || order.RefusalNoticed
	default:
		return !current || r.mayGoOut() || answer.Outcome == OutcomeAccepted && r.Status == PayoutCancelled && !r.Settled
	}
}

// mayGoOut reports whether the payout waits to be sent, now or when what blocks it is
// gone.
func (r *payoutRow) mayGoOut() bool {
	return r.Status == PayoutPending || r.Status == PayoutBlocked && *r.BlockedReason != BlockedRailMismatch
}

// recordContradiction leaves an exception for an operator, and an event where nothing
// else tells. While one is open the rail may repeat itself.
func (u *unit) recordContradiction(rail string, out outgoing) error {
	row := out.row
	open, err := u.NewSelect().Model((*findingRow)(nil)).Where("fi.payout_id = ?", row.ID).Where("fi.partner = ?", row.Partner).
		Where("fi.kind = ?", FindingContradiction).Where("fi.closed_at is null").Exists(u.ctx)
	if err != nil || open {
		return err
	}
	u.insert(&findingRow{ID: newID(), CreatedAt: u.now, Kind: FindingContradiction, Rail: &rail, Partner: &row.Partner, PayoutID: &row.ID})
	if row.Version != out.was {
		return nil
	}
	u.touch(&row.header)
	return u.sayPayout(out.claim, row, row.stands(), EventPayoutUpdated, "The rail contradicts what it said about the payout; an operator looks into it.")
}

// NoteRefusal keeps a refusal that a rail sent on its own for a payout that calls under
// the same key left without a clear end. It ends nothing: the rail is asked at once, and
// only its answer to that does. It reports whether the payout was with the rail under
// the key.
func (s *Service) NoteRefusal(ctx context.Context, rail string, order *Release) (noted bool, err error) {
	err = s.payoutChange(ctx, Actor{Kind: ActorRail, Name: rail}, order.Partner, order.PayoutID, func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
		noted = row.underway() && row.key() == order.Key
		if !noted {
			return nil
		}
		out := outgoingOf(claim, row)
		if err := u.noteRefusal(ctx, claim, row, "refusal_noticed_at"); err != nil {
			return err
		}
		u.keepPayouts([]outgoing{out})
		return nil
	})
	return noted, err
}

// noteRefusal keeps in a column of the attempts that the rail says it refused a payout
// which is with it, and has the rail asked: at once, or after the call that is running.
// The caller holds the payout's lock and writes it.
func (u *unit) noteRefusal(ctx context.Context, claim *claimRow, row *payoutRow, column string) error {
	var running []bool
	err := u.NewRaw(`update payout_attempts set ?0 = ?1 where payout_id = ?2 and partner = ?3 and key = ?4 and ?0 is null
		returning ended_at is null and started_at > ?5`, bun.Ident(column), u.now, row.ID, row.Partner, row.key(), u.now.Add(-ReleaseLease)).Scan(ctx, &running)
	switch {
	case err != nil:
		return fmt.Errorf("note refusal: %w", err)
	case len(running) == 0:
		return nil // it repeats itself
	case !slices.Contains(running, true):
		row.NextAttemptAt = &u.now
		u.enqueue(ReleasePayout{Partner: row.Partner, ID: nounPayout.id(row.ID)})
	}
	u.touch(&row.header)
	return u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, "The rail says that it refused the payout; it is asked to confirm that.")
}

// isRefusalNoticed reports whether the rail said that it refused the payout since the
// order was prepared.
func (u *unit) isRefusalNoticed(ctx context.Context, row *payoutRow, order *Release) (noticed bool, err error) {
	if !row.underway() || order.Key != row.key() || order.version == row.Version {
		return order.RefusalNoticed, nil
	}
	err = u.NewRaw(`select exists (select from payout_attempts where payout_id = ? and partner = ? and key = ? and (refusal_noticed_at is not null or refusal_reported_at is not null))`,
		row.ID, row.Partner, order.Key).Scan(ctx, &noticed)
	if err != nil {
		return false, fmt.Errorf("read attempts: %w", err)
	}
	return noticed, nil
}

// RecordVoid keeps that the rail will never pay under a key.
func (s *Service) RecordVoid(ctx context.Context, key string) error {
	return s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		owners, err := payoutsOfKeys(ctx, u, []string{key})
		if err != nil {
			return err
		}
		_, err = u.NewUpdate().Model((*attemptRow)(nil)).Set("voided_at = ?", u.now).Where("payout_id = ?", owners[key]).Where("key = ?", key).Exec(ctx)
		return err
	})
}

// queueGivenUp reads, with the next statements, the earlier keys of the debts of payouts
// that a bank may still pay under: it refused them, or evidence showed that it had not
// paid, and it has not voided them, and no report shows that what it paid came back.
func (u *unit) queueGivenUp(givenUp map[string][]string, rail RailIdentity, slice []outgoing) {
	var policies []uuid.UUID
	var digests, keys []string
	for _, out := range slice {
		if row := out.row; row.KeyNumber > 1 && row.DebtDigest != nil {
			policies, digests, keys = append(policies, row.PolicyID), append(digests, *row.DebtDigest), append(keys, row.key())
		}
	}
	if len(keys) == 0 {
		return
	}
	other := fmt.Sprintf(ofOtherBank, "$4", "$5")
	u.later.Queue(`select distinct n.key, a.key from unnest($1::uuid[], $2::text[], $3::text[]) as n (policy, digest, key)
		join payouts po on po.policy_id = n.policy and po.debt_digest = n.digest
		cross join lateral (select a.key from payout_attempts a`+joinIdentity+`where a.payout_id = po.id and a.partner = po.partner and a.key <> n.key
			group by a.key having bool_or(a.outcome is distinct from 'not_sent') and not bool_or(a.outcome is not distinct from 'accepted' or a.voided_at is not null or `+other+`)
				and not exists (select from rail_report_lines rl where rl.payout_id = po.id and rl.key = a.key and rl.status = 'returned' and rl.result in ('returned', 'state', 'duplicate'))) as a
		order by 1, 2`, policies, digests, keys, rail.Name, rail.ID()).Query(func(rows pgx.Rows) error {
		var current, key string
		_, err := pgx.ForEachRow(rows, []any{&current, &key}, func() error {
			givenUp[current] = append(givenUp[current], key)
			return nil
		})
		return err
	})
}
