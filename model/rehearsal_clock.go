package model

import (
	"context"
	"fmt"
	"time"

	"parapet/model/hazard"
	"parapet/model/wire"
)

// maxRehearsal is how far ahead of now a rehearsed day may lie: a whole term, the
// longest dry spell behind it, and what a waiting period takes.
const maxRehearsal = 400 * 24 * time.Hour

// followRehearsal moves the development clock to the end of the last rehearsed day at a
// station, where that day is still to come: rain is measured by the day, so a spell or
// a month cannot be rehearsed in the time in which it is reported. Days that are wrong
// otherwise, or too far ahead, move nothing; the clock never goes back. It commits with
// the days.
func (r *recording) followRehearsal(ctx context.Context, in []wire.ObservationInput, unread [][]FieldError) error {
	target := r.now
	for i := range in {
		end := in[i].OccurredAt.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		if in[i].Kind != hazard.StationDay || !end.After(target) || end.After(r.now.Add(maxRehearsal)) {
			continue
		}
		if len(checkObservation(r.actor, &in[i], end, unread[i])) == 0 {
			target = end
		}
	}
	if !target.After(r.now) {
		return nil
	}
	_, err := r.NewRaw("update clock set rehearsal = true, shift = greatest(shift, ?::timestamptz - clock_timestamp())", target).Exec(ctx)
	if err != nil {
		return fmt.Errorf("move the development clock: %w", err)
	}
	return r.renew(ctx)
}
