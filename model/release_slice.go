package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// plannedOnce lets the statements of a transaction that releases keep the plans they
// have, whatever the lists in them. The planner takes a list that it does not know
// for ten rows: left to itself it plans each statement for one payout anew, which
// costs twice what running it does. All of these statements go by their keys, so
// that the plan for ten is right for one and for a slice. The checks of foreign keys
// obey too, hence not the other way for slices.
func (u *unit) plannedOnce() { u.later.Queue("set local plan_cache_mode = force_generic_plan") }

// isOut tells whether a payout is final, held or in somebody's hands, who is not
// late; the sweep finds those of the dead.
func (s *Service) isOut(ctx context.Context, partner, id string) (bool, error) {
	key, err := nounPayout.parse(id)
	if err != nil {
		return false, err
	}
	n, err := s.preparedCount(ctx, `select count(*) from payouts where id = $1 and partner = $2
		and (next_attempt_at is null or status = 'releasing' and next_attempt_at > `+businessNow+`)`, key, partner)
	return n > 0, err
}

// alsoDue locks other claims' payouts that are ready to go out and that nobody
// else works on. It waits for no lock, so several slices go out at once.
func (u *unit) alsoDue(ctx context.Context, but *claimRow, most int) ([]outgoing, error) {
	var claims []claimRow
	text := u.svc.texts.of(but, "lock due", func() string {
		return u.NewSelect().Model(but).Join("JOIN payouts AS po ON po.claim_id = c.id AND po.partner = c.partner").
			Where("po.status = 'pending' AND po.next_attempt_at <= $1 AND po.claim_id <> $2").String() +
			" ORDER BY po.next_attempt_at LIMIT $3 FOR NO KEY UPDATE OF c SKIP LOCKED"
	})
	if err := u.svc.preparedRows(ctx, u.pg, &claims, text, u.now, but.ID, most); err != nil || len(claims) == 0 {
		return nil, explain(err)
	}
	ids := make([]uuid.UUID, len(claims))
	byID := make(map[uuid.UUID]*claimRow, len(claims))
	for i := range claims {
		ids[i], byID[claims[i].ID] = claims[i].ID, &claims[i]
	}
	var rows []payoutRow
	text = u.svc.texts.of((*payoutRow)(nil), "lock due", func() string {
		return u.NewSelect().Model((*payoutRow)(nil)).Where("po.claim_id = any($1) and po.status = 'pending' and po.next_attempt_at <= $2").
			OrderExpr("po.id").For("NO KEY UPDATE SKIP LOCKED").String()
	})
	if err := u.svc.preparedRows(ctx, u.pg, &rows, text, ids, u.now); err != nil {
		return nil, fmt.Errorf("lock due payouts: %w", err)
	}
	slice := make([]outgoing, 0, len(rows))
	for i := range rows {
		claim := byID[rows[i].ClaimID]
		u.sinceTold(claim)
		u.since(&rows[i].header)
		slice = append(slice, outgoingOf(claim, &rows[i]))
	}
	return slice, nil
}
