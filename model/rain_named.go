package model

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// windowNamed is the window of a policy's term that ends on a named day.
func (u *unit) windowNamed(ctx context.Context, p *policyRow, g gauge, last time.Time) (*occurrenceRow, trigger.Occurrence, error) {
	if p.Station == nil || *p.Station != g.station {
		e := Fail(CodeTriggerNotMet, "The trigger is not met: the policy's place is not the station %s.", g.station)
		e.Extra = map[string]any{"reason": string(trigger.OutsidePlace)}
		return nil, trigger.Occurrence{}, e
	}
	key := windowKey{g, last, p.Cover.Trigger.Days}
	occ, facts, err := u.window(ctx, key)
	if err != nil {
		return nil, facts, err
	}
	if facts.Window == nil {
		return nil, facts, Fail(CodeTriggerNotMet, "The trigger cannot be judged: of the %d days to %s some have no measurement.", key.days, last.Format(time.DateOnly))
	}
	return occ, facts, u.unclaimedDays(ctx, p, g, key)
}

// unclaimedDays refuses a window that shares days with one that was claimed.
func (u *unit) unclaimedDays(ctx context.Context, p *policyRow, g gauge, key windowKey) error {
	taken, err := g.takenWindows(ctx, u, []*policyRow{p})
	if err != nil {
		return err
	}
	if other, shares := key.sharing(taken[p.ID]); shares {
		e := Fail(CodeTriggerNotMet, "The window shares days with the one to %s, which was claimed; a day counts once.", other.Format(time.DateOnly))
		e.Extra = map[string]any{"reason": adjudicate.ReasonDuplicateEvent}
		return e
	}
	return nil
}

// sharing is the last day of a claimed window, another one, that shares days with
// this one.
func (k windowKey) sharing(taken []takenWindow) (last time.Time, shares bool) {
	for _, t := range taken {
		apart := t.Last.Sub(k.last).Abs()
		if apart > 0 && apart < time.Duration(k.days)*24*time.Hour {
			return t.Last, true
		}
	}
	return time.Time{}, false
}

// windowAt is windowNamed by the source's words.
func (u *unit) windowAt(ctx context.Context, p *policyRow, source, station string, last time.Time) (*occurrenceRow, trigger.Occurrence, error) {
	g, err := gaugeAt(ctx, u, p, source, station, last)
	if err != nil {
		return nil, trigger.Occurrence{}, err
	}
	return u.windowNamed(ctx, p, g, last)
}

// gaugeAt is the gauge whose report of a day a policy sees: what its partner
// rehearsed goes before what happened.
func gaugeAt(ctx context.Context, db bun.IDB, p *policyRow, source, station string, day time.Time) (gauge, error) {
	row := new(observationRow)
	err := db.NewSelect().Model(row).Where("source = ?", source).Where("station = ?", station).Where("day = ?", day).
		Where("scope in ('', ?)", p.Partner).OrderExpr("scope desc").Limit(1).Scan(ctx)
	if absent(err) {
		return gauge{}, noSuchEvent()
	}
	if err != nil {
		return gauge{}, fmt.Errorf("read station day: %w", err)
	}
	return gauge{row.Scope, source, station}, nil
}
