package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// arrivalRow is money that a rail's report shows to have arrived under a key whose
// payout could not be confirmed by it, and not to have come back. Payouts that replace
// each other are the same part of a claim: nothing more is sent for that part.
type arrivalRow struct {
	bun.BaseModel `bun:"table:payout_arrivals,alias:ar"`

	ClaimID   uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	Part      int       `bun:",pk"`
	KeyNumber int       `bun:",pk"`
	CreatedAt time.Time
}

// arrival identifies a key of a part of a claim.
type arrival struct {
	claim        uuid.UUID
	part, number int
}

// arrivalOf is the key of a line about a payout. A line without a key is about the last
// one.
func arrivalOf(row *payoutRow, line *lineRow) arrival {
	number := line.named.number
	if number == 0 {
		number = row.KeyNumber
	}
	return arrival{row.ClaimID, row.Part, number}
}

// bar keeps what its beneficiary may have already from being sent once more. Where the
// whole of it arrived, that is every payout of the same part of the claim, whichever of
// them the line is about and whatever its state.
func (m *matching) bar(claim *claimRow, row *payoutRow, line *lineRow, whole bool) error {
	barred := []*payoutRow{row}
	if whole {
		m.noteArrival(row, line)
		barred = m.siblings[claim.ID]
	}
	for _, p := range barred {
		if p.Part != row.Part || !p.underway() && p.Status != PayoutPending && p.Status != PayoutBlocked {
			continue
		}
		if _, locked := m.locked[p.ID]; !locked { // the claim is, and with it all its payouts
			m.since(&p.header)
			m.locked[p.ID] = outgoingOf(claim, p)
		}
		if err := m.blockLocked(claim, p, BlockedRailMismatch); err != nil {
			return err
		}
	}
	return nil
}

func (m *matching) noteArrival(row *payoutRow, line *lineRow) {
	key := arrivalOf(row, line)
	m.arrived[key] = true
	m.later.Queue("insert into payout_arrivals (claim_id, partner, part, key_number, created_at) values ($1, $2, $3, $4, $5) on conflict do nothing",
		key.claim, row.Partner, key.part, key.number, m.now)
}

// forgetArrival takes back what came back.
func (m *matching) forgetArrival(row *payoutRow, line *lineRow) {
	key := arrivalOf(row, line)
	if m.arrived[key] {
		delete(m.arrived, key)
		m.later.Queue("delete from payout_arrivals where claim_id = $1 and partner = $2 and part = $3 and key_number = $4", key.claim, row.Partner, key.part, key.number)
	}
}

// hasArrived reports whether the beneficiary has the money of the payout's part.
func (m *matching) hasArrived(row *payoutRow) bool {
	for key := range m.arrived {
		if key.claim == row.ClaimID && key.part == row.Part {
			return true
		}
	}
	return false
}

// hasArrived is the same outside of matching. Only a payout that replaces another, or
// whose first key was given up, can have a predecessor whose money arrived.
func (u *unit) hasArrived(ctx context.Context, row *payoutRow) (arrived bool, err error) {
	if row.ReplacesPayoutID == nil && row.KeyNumber == 1 {
		return false, nil
	}
	err = u.NewSelect().Model((*arrivalRow)(nil)).ColumnExpr("count(*) > 0").Where("claim_id = ?", row.ClaimID).Where("partner = ?", row.Partner).
		Where("part = ?", row.Part).Scan(ctx, &arrived)
	if err != nil {
		return false, fmt.Errorf("read arrivals: %w", err)
	}
	return arrived, nil
}

// queueArrived asks for those of the payouts whose money has arrived.
func (u *unit) queueArrived(slice []outgoing, arrived map[uuid.UUID]bool) {
	var ids []uuid.UUID
	for _, out := range slice {
		if out.row.ReplacesPayoutID != nil || out.row.KeyNumber > 1 {
			ids = append(ids, out.row.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	u.later.Queue(`select po.id from payouts po where po.id = any($1)
		and exists (select from payout_arrivals ar where ar.claim_id = po.claim_id and ar.partner = po.partner and ar.part = po.part)`, ids).
		Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				arrived[id] = true
				return nil
			})
			return err
		})
}

// afterReturn tells what a settlement of a payout that came back is: one that is
// older than the return, or was reported before, is known; any other undoes the return.
func (m *matching) afterReturn(ctx context.Context, row *payoutRow, line *lineRow) (LineResult, error) {
	for _, earlier := range m.lines { // of this slice, not saved yet
		if earlier == line {
			break
		}
		if earlier.Result != nil && earlier.PayoutID != nil && *earlier.PayoutID == row.ID && earlier.precedes(line) {
			return ResultDuplicate, nil
		}
	}
	var known bool
	err := m.NewRaw(`select exists (select from rail_report_lines rl where rl.payout_id = ?0 and rl.result in ('reconciled', 'returned', 'duplicate')
			and (rl.status = 'settled' and rl.key = ?1 and rl.reference = ?2 and rl.at = ?3 or rl.result = 'returned' and rl.at > ?3))`,
		row.ID, line.Key, line.Reference, line.At).Scan(ctx, &known)
	if err != nil {
		return "", fmt.Errorf("read earlier lines: %w", err)
	}
	if known {
		return ResultDuplicate, nil
	}
	return ResultReversed, nil
}

// precedes reports whether a matched line shows that a settlement is no news.
func (r *lineRow) precedes(line *lineRow) bool {
	same := r.Status == LineSettled && r.Key == line.Key && r.Reference == line.Reference && r.At.Equal(line.At)
	return same && (*r.Result == ResultReconciled || *r.Result == ResultDuplicate) || *r.Result == ResultReturned && r.At.After(line.At)
}
