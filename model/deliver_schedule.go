package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// wokenRow is an endpoint whose drain is to start.
type wokenRow struct {
	EndpointID uuid.UUID `bun:"type:uuid"`
	Partner    string
	Ill        bool
	Started    bool
}

// wake makes endpoints due that want any of the types, and starts a drain where
// none runs: with what is sent next, and start thereafter. The update waits for a
// drain that is about to end and then sees that none runs, so no wake-up is lost. An
// endpoint that fails waits for its probe.
func (u *unit) wake(partners []string, types []EventType) (start func()) {
	token := newID()
	var woken []wokenRow
	u.read(&woken, `update webhook_progress p set
			due_at = least(p.due_at, greatest($3, p.probe_at)),
			drain = case when greatest($3, p.probe_at) <= $3 then coalesce(p.drain, $4) else p.drain end,
			drain_at = case when p.drain is null then $5 else p.drain_at end
		from webhook_endpoints e where e.id = p.endpoint_id and e.partner = p.partner and p.partner = any($1) and p.active
			and (e.event_types && $2::text[] or '*' = any(e.event_types))
		returning p.endpoint_id, p.partner, p.failures > 0 as ill, p.drain is not distinct from $4 as started`, partners, types, u.now, token, u.now.Add(drainQueued))
	return func() {
		u.startDrains(slices.DeleteFunc(woken, func(row wokenRow) bool { return !row.Started }), token)
	}
}

func (u *unit) startDrains(woken []wokenRow, token uuid.UUID) {
	for _, row := range woken {
		u.enqueue(DrainEndpoint{Partner: row.Partner, Endpoint: nounEndpoint.id(row.EndpointID), Token: token.String(), Ill: row.Ill})
	}
}

// startDrain gives a locked endpoint to a drain of its own; the caller writes drain
// and drain_at.
func (u *unit) startDrain(progress *progressRow) {
	progress.Drain, progress.DrainAt = new(newID()), new(u.now.Add(drainQueued))
	u.startDrains([]wokenRow{{EndpointID: progress.EndpointID, Partner: progress.Partner, Ill: progress.Failures > 0}}, *progress.Drain)
}

// StartDrains starts a drain for every endpoint that is due and has none, and for
// those whose drain died. It returns how many.
func (s *Service) StartDrains(ctx context.Context) (started int, err error) {
	err = s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		token := newID()
		var woken []wokenRow
		err := u.svc.preparedRows(ctx, u.pg, &woken, `update webhook_progress p set drain = $1, drain_at = $3
			from (select endpoint_id, partner from webhook_progress
				where active and (drain is null and due_at <= $2 or drain is not null and drain_at < $2) order by due_at limit $4 for no key update skip locked) due
			where p.endpoint_id = due.endpoint_id and p.partner = due.partner
			returning p.endpoint_id, p.partner, p.failures > 0 as ill`, token, u.now, u.now.Add(drainQueued), sweepSize)
		if err != nil {
			return fmt.Errorf("start drains: %w", err)
		}
		started = len(woken)
		u.startDrains(woken, token)
		return nil
	})
	return started, err
}

// DrainBeat is how often a drain shows that it lives.
const DrainBeat = 3 * time.Second

// RenewDrain shows that a drain lives while it waits for its receiver, so that one
// that died is replaced within seconds however slow receivers are. The endpoint is
// not held any more when it was disabled or deleted, or another drain took over.
func (s *Service) RenewDrain(ctx context.Context, job DrainEndpoint) (held bool, err error) {
	err = s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		progress, err := u.holding(ctx, job)
		if err != nil || progress == nil {
			return err
		}
		held = true
		u.later.Queue("update webhook_progress set drain_at = $1 where endpoint_id = $2 and partner = $3", u.now.Add(drainSilent), progress.EndpointID, progress.Partner)
		return nil
	})
	return held, err
}

// EndDrain lets go of an endpoint for which nothing is due, and says when something
// will be. While more is due it does nothing and says so, unless the drain hands
// over: then another one goes on.
func (s *Service) EndDrain(ctx context.Context, job DrainEndpoint, handOver bool) (more bool, err error) {
	err = s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		row, progress, err := u.drained(ctx, job)
		if err != nil || row == nil {
			return err
		}
		next, err := u.nextDue(ctx, row, progress)
		if err != nil {
			return fmt.Errorf("find what is due next: %w", err)
		}
		more = next != nil && !next.After(u.now)
		switch {
		case more && !handOver:
			return nil
		case more:
			u.startDrain(progress)
		default:
			progress.Drain, progress.DrainAt, progress.DueAt = nil, nil, next
		}
		_, err = u.NewUpdate().Model(progress).Column("drain", "drain_at", "due_at").WherePK().Exec(ctx)
		return err
	})
	return more, err
}

// nextDue is when the endpoint is due again: a delivery's next attempt, or an event
// that was never tried. At an ordered endpoint deliveries that wait for an earlier
// one of their subject are due when that one is.
func (u *unit) nextDue(ctx context.Context, row *endpointRow, progress *progressRow) (next *time.Time, err error) {
	err = u.NewRaw(`select least(
		(select min(d.next_attempt_at) from deliveries d where d.endpoint_id = ?0 and d.status = 'pending' and (not ?5 or not exists (
			select from deliveries f where f.endpoint_id = d.endpoint_id and f.subject_id = d.subject_id and f.status = 'pending' and f.sequence < d.sequence))),
		(select greatest(?2, ?3::timestamptz) where `+lastNumber("sequence", "?1")+` > ?4))`,
		row.ID, row.Partner, u.now, progress.ProbeAt, progress.Position, row.Ordered).Scan(ctx, &next)
	return next, err
}
