package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// plannedOnce lets the statements of a transaction that releases keep the plans they
// have, whatever the lists in them. The planner takes a list that it does not know
// for ten rows: left to itself it plans each statement for one payout anew, which
// costs twice what running it does. All of these statements go by their keys, so
// that the plan for ten is right for one and for a slice. The checks of foreign keys
// obey too, hence not the other way for slices.
func (u *unit) plannedOnce() { u.later.Queue("set local plan_cache_mode = force_generic_plan") }

// release asks for a payout to be sent: by itself, or with all that are due where the
// rail takes slices. What a slice leaves behind the sweep sends by itself.
func (u *unit) release(row *payoutRow) {
	switch {
	case !u.svc.slices:
		u.enqueue(ReleasePayout{Partner: row.Partner, ID: nounPayout.id(row.ID)})
	case !slices.Contains(u.jobs, Job(ReleaseSlice{})):
		u.enqueue(ReleaseSlice{})
	}
}

// Enter hands orders to a rail that writes them down through conn, in the transaction
// that is open on it, and returns the rail's word on each in its place. An error means
// that none was entered.
type Enter func(ctx context.Context, conn *pgx.Conn, orders []*Release) ([]RailAnswer, error)

// ReleaseSlice releases up to most payouts that are due and were never sent, whosever
// they are, through a rail whose orders are written down: the intent, the entry in the
// rail's books and the outcome are one transaction, so that all stand or none and
// nothing is ever in doubt. It takes no payout that somebody else works on, so that
// several slices go out at once. It returns how many it took; most means that there
// may be more. What cannot go out for its own sake stays and is told in the error,
// beside the others, which are released.
func (s *Service) ReleaseSlice(ctx context.Context, rail RailIdentity, most int, enter Enter) (taken int, ended []Ended, err error) {
	if err := s.RegisterRail(ctx, rail); err != nil {
		return 0, nil, err
	}
	var stuck error
	err = s.changeAsking(ctx, System(), (*unit).plannedOnce, func(ctx context.Context, u *unit) error {
		slice, err := u.due(ctx, most)
		if err != nil {
			return err
		}
		taken, ended, stuck = len(slice), nil, nil
		if taken == 0 {
			return nil
		}
		u.events, u.entries, u.postings = make([]eventRow, 0, 2*taken), make([]timelineRow, 0, 2*taken), make([]postingSet, 0, taken)
		var orders []*Release
		if orders, stuck, err = u.intend(ctx, rail, slice); err != nil {
			return err
		}
		ended, err = u.enter(ctx, rail, slice, orders, enter)
		u.keepPayouts(slice)
		return err
	})
	return taken, ended, errors.Join(err, stuck)
}

// enter hands the orders over that go out and records what the rail said.
func (u *unit) enter(ctx context.Context, rail RailIdentity, slice []outgoing, orders []*Release, enter Enter) ([]Ended, error) {
	outs, going := make([]outgoing, 0, len(slice)), make([]*Release, 0, len(slice))
	for i, order := range orders {
		switch {
		case order == nil:
		case order.Doubt: // it cannot be; if it is, the sweep settles each by itself
			return nil, fmt.Errorf("%s was sent before under its key", order.PayoutID)
		default:
			outs, going = append(outs, slice[i]), append(going, order)
		}
	}
	if len(going) == 0 {
		return nil, nil
	}
	answers, err := enter(ctx, u.pg, going)
	if err != nil {
		return nil, fmt.Errorf("enter orders: %w", err)
	}
	defer u.as(Actor{Kind: ActorRail, Name: rail.Name})()
	ended := make([]Ended, len(going))
	for i, order := range going {
		if ended[i], err = u.end(rail.Name, outs[i], order, answers[i]); err != nil {
			return nil, err
		}
	}
	u.keepAttempts(rail.recipient(), going, answers)
	return ended, nil
}

// due locks payouts that are ready to go out and that nobody else works on, and their
// claims before them. It waits for no lock.
func (u *unit) due(ctx context.Context, most int) ([]outgoing, error) {
	claims, err := u.dueClaims(ctx, most)
	if err != nil || len(claims) == 0 {
		return nil, explain(err)
	}
	ids := make([]uuid.UUID, len(claims))
	byID := make(map[uuid.UUID]*claimRow, len(claims))
	for i := range claims {
		ids[i], byID[claims[i].ID] = claims[i].ID, &claims[i]
	}
	rows := make([]payoutRow, 0, len(claims))
	text := u.svc.texts.of((*payoutRow)(nil), "lock due", func() string {
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
