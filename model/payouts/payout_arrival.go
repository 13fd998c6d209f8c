package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// ArrivalRow is money that arrived, according to a bank, under a key whose payout it
// could not confirm, and that no report shows as returned. Payouts that replace each
// other are the same part of a claim: nothing more is sent for that part.
type ArrivalRow struct {
	bun.BaseModel `bun:"table:payout_arrivals,alias:ar"`

	ClaimID        uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Installment    int       `bun:",pk"`
	IdempotencySeq int       `bun:",pk"`
	CreatedAt      time.Time

	ReportedAt *time.Time // time of arrival, by the latest report line; nil if known from an answer or a notice only
}

// hasArrived is the same check outside of matching. Only a payout that replaces
// another, or whose first key was superseded, can have a predecessor whose money
// arrived.
func hasArrived(ctx context.Context, tx *store.Tx, row *claims.PayoutRow) (arrived bool, err error) {
	if row.ReplacesPayoutID == nil && row.IdempotencySeq == 1 {
		return false, nil
	}
	err = tx.NewSelect().Model((*ArrivalRow)(nil)).ColumnExpr("count(*) > 0").Where("claim_id = ?", row.ClaimID).Where("partner = ?", row.Partner).
		Where("installment = ?", row.Installment).Scan(ctx, &arrived)
	if err != nil {
		return false, fmt.Errorf("read arrivals: %w", err)
	}
	return arrived, nil
}

// QueueArrivals queues a read of the payouts whose money has arrived.
func QueueArrivals(tx *store.Tx, slice []LockedPayout, arrived map[uuid.UUID]bool) {
	var ids []uuid.UUID
	for _, out := range slice {
		if out.Row.ReplacesPayoutID != nil || out.Row.IdempotencySeq > 1 || out.Row.Installment > 1 {
			ids = append(ids, out.Row.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	tx.Batch.Queue(`select po.id from payouts po where po.id = any($1)
		and (exists (select from payout_arrivals ar where ar.claim_id = po.claim_id and ar.partner = po.partner and ar.installment = po.installment)
			or exists (`+excessLines+` where paid.claim_id = po.claim_id and paid.partner = po.partner and (`+isUnanswered+` or po.replaces_payout_id is null)))`, ids).
		Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				arrived[id] = true
				return nil
			})
			return err
		})
}

// hasExcess reports whether a rail paid more under a key of the claim than its payout
// pays. Closing the exception releases what operators decide about, replacements and
// resolutions (unansweredOnly); a payout that the claim created by itself stays
// blocked.
func hasExcess(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, unansweredOnly bool) (exceeded bool, err error) {
	err = tx.NewRaw("select exists ("+excessLines+" where paid.claim_id = ? and paid.partner = ? and (not ? or "+isUnanswered+"))", row.ClaimID, row.Partner, unansweredOnly).Scan(ctx, &exceeded)
	if err != nil {
		return false, fmt.Errorf("read lines above their payouts: %w", err)
	}
	return exceeded, nil
}

// Arrival identifies a key of a part of a claim.
type Arrival struct {
	Claim        uuid.UUID
	Part, Number int
}

// EveryPart means all parts of a claim.
const EveryPart = 0

// BlockPart blocks the payouts of a part of a claim that are being sent or may be sent
// later. The caller locks and saves them.
func BlockPart(tx *store.Tx, claim *claims.ClaimRow, part int, payouts []*claims.PayoutRow) error {
	for _, p := range payouts {
		if part != EveryPart && p.Installment != part || !p.IsInFlight() && p.Status != claims.PayoutPending && p.Status != claims.PayoutBlocked {
			continue
		}
		if err := BlockPayoutInMemory(tx, claim, p, claims.BlockedRailMismatch); err != nil {
			return err
		}
	}
	return nil
}

// SaveArrival queues that the rail reported a payment of a key, with the time of the latest report.
func SaveArrival(tx *store.Tx, partner string, key Arrival, reportedAt *time.Time) {
	tx.Batch.Queue(`insert into payout_arrivals as ar (claim_id, partner, installment, idempotency_seq, created_at, reported_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (claim_id, partner, installment, idempotency_seq) do update set reported_at = greatest(ar.reported_at, excluded.reported_at)`,
		key.Claim, partner, key.Part, key.Number, tx.Now, reportedAt)
}

// RequireNoDifferences refuses while differences of amount, account or status are
// unanswered that a rail reported since a restore begun at or after the time: payments
// lost from the database can differ from what it owes now.
func RequireNoDifferences(ctx context.Context, tx *store.Tx, since time.Time) error {
	n, err := tx.NewSelect().Model((*ExceptionRow)(nil)).Where("fi.kind in (?, ?, ?)", ResultAmount, ResultBeneficiary, ResultUnexpectedState).Where("fi.closed_at is null").
		Where("fi.created_at >= (select min(begun_at) from database_restores where begun_at >= ?)", since).Count(ctx)
	if err != nil {
		return fmt.Errorf("count exceptions: %w", err)
	}
	if n > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "%d payments that the rail reported since the restore differ from what is owed (exceptions of kind amount, beneficiary and state) and are unanswered: "+
			"resolve their payouts, and close the exceptions (reconciliationExceptions, closeReconciliationException).", n)
	}
	return nil
}

const (
	// excessLines selects the lines rl with more than the payout paid of their key
	// pays, whose money no line shows as returned.
	excessLines = `select from payouts paid join rail_report_lines rl on rl.payout_id = paid.id and rl.match_result = 'amount' and rl.status in ('settled', 'underway')
		and (rl.currency <> paid.currency or rl.amount > paid.amount) and not exists (select from rail_report_lines back where back.payout_id = rl.payout_id
			and back.key = rl.key and back.currency = rl.currency and back.amount = rl.amount and back.status in ('returned', 'rejected') and back.reported_at >= rl.reported_at)`
	// isUnanswered is true for a line rl whose exception no operator has closed.
	isUnanswered = `exists (select from reconciliation_exceptions fi where fi.report_id = rl.report_id and fi.line = rl.number and fi.closed_at is null)`
)
