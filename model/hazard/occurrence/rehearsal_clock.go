package occurrence

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/partition"
	"parapet/model/wire"
)

// maxRehearsalShift bounds how far rehearsed days, all together, move the business
// clock ahead of real time: a whole term, the longest dry spell after it and a waiting
// period.
const maxRehearsalShift = 400 * 24 * time.Hour

// advanceRehearsalClock moves the development clock to the end of the last rehearsed
// day at a station if that day is in the future: rain is measured per day, so a spell
// or a month could not otherwise be rehearsed while it is reported. Days that are
// otherwise invalid, or that end after latestRehearsal, have no effect; the clock never
// goes back. The clock is shared by all partners. The move commits with the days.
func (r *ingestion) advanceRehearsalClock(ctx context.Context, in []wire.ObservationInput, unread [][]apperr.FieldError) error {
	if err := r.NewRaw("select clock_timestamp()").Scan(ctx, &r.realTime); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	target, latest := r.Now, r.latestRehearsal()
	for i := range in {
		end := in[i].OccurredAt.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		if !in[i].Kind.IsDaily() || !end.After(target) || end.After(latest) {
			continue
		}
		if len(CheckObservation(r.Actor, &in[i], end, unread[i])) == 0 {
			target = end
		}
	}
	if !target.After(r.Now) {
		return nil
	}
	_, err := r.NewRaw("update clock set is_rehearsal = true, offset_interval = greatest(offset_interval, ?::timestamptz - clock_timestamp())", target).Exec(ctx)
	if err != nil {
		return fmt.Errorf("move the development clock: %w", err)
	}
	if err := r.RefreshClock(ctx); err != nil {
		return err
	}
	_, err = partition.AddAhead(ctx, r.Tx)
	return err
}

// latestRehearsal returns the latest end of a rehearsed day that the clock follows. It
// counts from real time, so that repeated calls do not add up.
func (r *ingestion) latestRehearsal() time.Time { return r.realTime.UTC().Add(maxRehearsalShift) }

// explainFuture adds to the error of a rehearsed day in the future why the clock did
// not follow it.
func (r *ingestion) explainFuture(faults []apperr.FieldError) {
	for i := range faults {
		switch {
		case faults[i].Code != "future":
		case r.rehearsalClock:
			faults[i].Detail = fmt.Sprintf("It is in the future. When nothing else in the request is wrong, the clock follows rehearsed days that end by %s, %d days ahead of the real time: rehearse earlier days, or start again with parapet dev --fresh.",
				r.latestRehearsal().Format(time.RFC3339), int(maxRehearsalShift/(24*time.Hour)))
		default:
			faults[i].Detail = "It is in the future, and the clock of this server does not follow rehearsed days: rehearse days that have passed. The clock follows in parapet dev."
		}
	}
}
