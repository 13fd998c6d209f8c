package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// arrivalRow is money that arrived, according to a bank, under a key whose payout it
// could not confirm, and that no report shows as returned. Payouts that replace each
// other are the same part of a claim: nothing more is sent for that part.
type arrivalRow struct {
	bun.BaseModel `bun:"table:payout_arrivals,alias:ar"`

	ClaimID        uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Installment    int       `bun:",pk"`
	IdempotencySeq int       `bun:",pk"`
	CreatedAt      time.Time

	ReportedAt *time.Time // time of arrival, by the latest report line; nil if known from an answer or a notice only
}

// arrival identifies a key of a part of a claim.
type arrival struct {
	claim        uuid.UUID
	part, number int
}

// newArrival returns the arrival of a line about a payout. A line without a key counts
// for the payout's last key.
func newArrival(row *payoutRow, line *lineRow) arrival {
	number := line.parsedKey.number
	if number == 0 {
		number = row.IdempotencySeq
	}
	return arrival{row.ClaimID, row.Installment, number}
}

// blockDoublePayment prevents a second payment of money that the beneficiary may
// already have. If the whole amount arrived, it blocks every payout of the same part of
// the claim, also those that the line does not name, in every status; if more arrived,
// it blocks those of every part.
func (m *lineMatcher) blockDoublePayment(claim *claimRow, row *payoutRow, line *lineRow, whole bool) error {
	barred := []*payoutRow{row}
	if whole {
		key := newArrival(row, line)
		if at, known := m.arrived[key]; !known || at == nil || at.Before(line.ReportedAt) {
			m.arrived[key] = &line.ReportedAt
		}
		m.saveArrival(row.Partner, key, &line.ReportedAt)
		barred = m.siblings[claim.ID]
	}
	part := row.Installment
	if row.isExceededBy(line) {
		part, barred = everyPart, m.siblings[claim.ID]
	}
	for _, p := range barred {
		if _, locked := m.locked[p.ID]; !locked { // the claim is locked, and with it all its payouts
			m.advanceClock(&p.RowHeader)
			m.locked[p.ID] = newLockedPayout(claim, p)
		}
	}
	return m.blockPart(claim, part, barred)
}

// everyPart means all parts of a claim.
const everyPart = 0

// blockPart blocks the payouts of a part of a claim that are being sent or may be sent
// later. The caller locks and saves them.
func (tx *Tx) blockPart(claim *claimRow, part int, payouts []*payoutRow) error {
	for _, p := range payouts {
		if part != everyPart && p.Installment != part || !p.isInFlight() && p.Status != PayoutPending && p.Status != PayoutBlocked {
			continue
		}
		if err := tx.blockPayoutInMemory(claim, p, BlockedRailMismatch); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) saveArrival(partner string, key arrival, reportedAt *time.Time) {
	tx.batch.Queue(`insert into payout_arrivals as ar (claim_id, partner, installment, idempotency_seq, created_at, reported_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (claim_id, partner, installment, idempotency_seq) do update set reported_at = greatest(ar.reported_at, excluded.reported_at)`,
		key.claim, partner, key.part, key.number, tx.now, reportedAt)
}

// deleteArrival removes the arrival of returned money. A return that is older than the
// arrival, or that an earlier report contained, has no effect.
func (m *lineMatcher) deleteArrival(ctx context.Context, row *payoutRow, line *lineRow) error {
	key := newArrival(row, line)
	reportedAt, arrived := m.arrived[key]
	if !arrived || reportedAt != nil && !line.ReportedAt.IsZero() && line.ReportedAt.Before(*reportedAt) {
		return nil
	}
	if repeated, err := m.isRepeated(ctx, row, line); err != nil || repeated {
		return err
	}
	delete(m.arrived, key)
	m.batch.Queue("delete from payout_arrivals where claim_id = $1 and partner = $2 and installment = $3 and idempotency_seq = $4", key.claim, row.Partner, key.part, key.number)
	return nil
}

// isRepeated reports whether the same line was matched before: statements can repeat
// lines of earlier ones. Lines without a bank's reference cannot be recognised.
func (m *lineMatcher) isRepeated(ctx context.Context, row *payoutRow, line *lineRow) (repeated bool, err error) {
	if line.Reference == "" {
		return false, nil
	}
	for _, earlier := range m.lines { // lines of this slice, not saved yet
		if earlier == line {
			break
		}
		if earlier.MatchResult != nil && earlier.saysTheSame(line) {
			return true, nil
		}
	}
	err = m.NewRaw(`select exists (select from rail_report_lines rl join payouts po on po.id = rl.payout_id where po.claim_id = ? and po.partner = ?
			and rl.status = ? and rl.key in (?, ?) and rl.reference = ? and rl.reported_at = ? and rl.amount = ? and rl.currency = ? and rl.account = ?
			and rl.match_result not in ('unknown', 'unmatched'))`,
		row.ClaimID, row.Partner, line.Status, line.Key, line.keyText, line.Reference, line.ReportedAt, line.Amount, line.Currency, line.Account).Scan(ctx, &repeated)
	if err != nil {
		return false, fmt.Errorf("read earlier lines: %w", err)
	}
	return repeated, nil
}

func (r *lineRow) saysTheSame(line *lineRow) bool {
	return r.Status == line.Status && r.Key == line.Key && r.Reference == line.Reference && r.ReportedAt.Equal(line.ReportedAt) &&
		r.Amount == line.Amount && r.Currency == line.Currency && r.Account == line.Account
}

// isUnexpectedPayment reports whether a bank reports a payment that does not confirm
// the payout: under a superseded key; for a payout that was cancelled or that evidence
// showed to be a mismatch; or before it was sent. A payment that a report confirmed, or
// that was returned since, is not unexpected.
func (r *payoutRow) isUnexpectedPayment(order *Release, answer RailAnswer) bool {
	switch {
	case !answer.Outcome.movedMoney():
		return false
	case order.Key != r.idempotencyKey() || r.awaitsSending():
		return true
	default:
		return answer.Outcome == OutcomeAccepted && (r.Status == PayoutBlocked || r.Status == PayoutCancelled && !r.SettledExternally)
	}
}

// barPaidPart blocks the part of a claim that a bank reports as paid under a key, and
// stores the arrival if the bank paid what was ordered. It returns the other payouts of
// the part, locked by their claim, for the caller to save. If a report covered the key
// before, nothing changes: its lines are dated and show whether the money was returned.
func (tx *Tx) barPaidPart(ctx context.Context, out lockedPayout, key string, whole bool) (others []lockedPayout, err error) {
	row := out.row
	var reported bool
	err = tx.NewRaw(`select exists (select from rail_report_lines rl join payouts po on po.id = rl.payout_id where po.claim_id = ? and po.partner = ? and rl.key = ?
			and rl.status in ('settled', 'returned') and rl.match_result in ('reconciled', 'returned', 'state', 'reversed', 'duplicate'))`,
		row.ClaimID, row.Partner, key).Scan(ctx, &reported)
	if err != nil || reported {
		return nil, err
	}
	if parsed, ok := parseRailKey(key); ok && whole {
		tx.saveArrival(row.Partner, arrival{row.ClaimID, row.Installment, parsed.number}, nil)
	}
	var rows []*payoutRow
	err = tx.NewSelect().Model(&rows).Where("po.claim_id = ?", row.ClaimID).Where("po.partner = ?", row.Partner).Where("po.id <> ?", row.ID).OrderExpr("po.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	for _, p := range rows {
		tx.advanceClock(&p.RowHeader)
		others = append(others, newLockedPayout(out.claim, p))
	}
	return others, tx.blockPart(out.claim, row.Installment, append(rows, row))
}

// hasArrived reports whether the beneficiary has the money of the payout's part.
func (m *lineMatcher) hasArrived(row *payoutRow) bool {
	for key := range m.arrived {
		if key.claim == row.ClaimID && key.part == row.Installment {
			return true
		}
	}
	return false
}

// hasArrived is the same check outside of matching. Only a payout that replaces
// another, or whose first key was superseded, can have a predecessor whose money
// arrived.
func (tx *Tx) hasArrived(ctx context.Context, row *payoutRow) (arrived bool, err error) {
	if row.ReplacesPayoutID == nil && row.IdempotencySeq == 1 {
		return false, nil
	}
	err = tx.NewSelect().Model((*arrivalRow)(nil)).ColumnExpr("count(*) > 0").Where("claim_id = ?", row.ClaimID).Where("partner = ?", row.Partner).
		Where("installment = ?", row.Installment).Scan(ctx, &arrived)
	if err != nil {
		return false, fmt.Errorf("read arrivals: %w", err)
	}
	return arrived, nil
}

// queueArrivals queues a read of the payouts whose money has arrived.
func (tx *Tx) queueArrivals(slice []lockedPayout, arrived map[uuid.UUID]bool) {
	var ids []uuid.UUID
	for _, out := range slice {
		if out.row.ReplacesPayoutID != nil || out.row.IdempotencySeq > 1 || out.row.Installment > 1 {
			ids = append(ids, out.row.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	tx.batch.Queue(`select po.id from payouts po where po.id = any($1)
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

// classifyAfterReturn classifies a settlement of a returned payout: one that is older
// than the return, or was reported before, is a duplicate; any other reverses the
// return.
func (m *lineMatcher) classifyAfterReturn(ctx context.Context, row *payoutRow, line *lineRow) (LineResult, error) {
	for _, earlier := range m.lines { // lines of this slice, not saved yet
		if earlier == line {
			break
		}
		if earlier.MatchResult != nil && earlier.PayoutID != nil && *earlier.PayoutID == row.ID && earlier.isEarlierThan(line) {
			return ResultDuplicate, nil
		}
	}
	var known bool
	err := m.NewRaw(`select exists (select from rail_report_lines rl where rl.payout_id = ?0 and rl.match_result in ('reconciled', 'returned', 'duplicate')
			and (rl.status = 'settled' and rl.key in (?1, ?4) and rl.reference = ?2 and rl.reported_at = ?3 or rl.match_result = 'returned' and rl.reported_at > ?3))`,
		row.ID, line.Key, line.Reference, line.ReportedAt, line.keyText).Scan(ctx, &known)
	if err != nil {
		return "", fmt.Errorf("read earlier lines: %w", err)
	}
	if known {
		return ResultDuplicate, nil
	}
	return ResultReversed, nil
}

// isEarlierThan reports whether a matched line shows that a settlement was known
// before.
func (r *lineRow) isEarlierThan(line *lineRow) bool {
	same := r.Status == LineSettled && r.Key == line.Key && r.Reference == line.Reference && r.ReportedAt.Equal(line.ReportedAt)
	return same && (*r.MatchResult == ResultReconciled || *r.MatchResult == ResultDuplicate) || *r.MatchResult == ResultReturned && r.ReportedAt.After(line.ReportedAt)
}
