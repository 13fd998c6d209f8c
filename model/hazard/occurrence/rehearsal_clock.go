package occurrence

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/partition"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// maxRehearsalShift bounds how far rehearsed days, all together, move the business
// clock ahead of real time: a whole term, the longest dry spell after it and a waiting
// period.
const maxRehearsalShift = 400 * 24 * time.Hour

// MayMoveClock reports whether the actor may move the business clock, which all partners of
// a rehearsal server share: operators may, and a partner if the server lets partners, or if
// it is the only enabled one.
func MayMoveClock(ctx context.Context, s *store.Store, db bun.IDB, caller actor.Actor) (bool, error) {
	if caller.Kind != actor.KindPartner || store.Local[RehearsalSettings](s).PartnersMoveClock {
		return s.Development && caller.IsAllowed(caller.ScopeForOwnRecords(actor.ScopeClaimsWrite)), nil
	}
	var alone bool
	err := db.NewRaw("select count(*) = 1 from partners where status = 'enabled'").Scan(ctx, &alone)
	return s.Development && alone, store.TranslateError(err)
}

// AdvanceClock moves the business clock forward to a time, for good; it never goes back. It
// adds the partitions that rows of that time need.
func AdvanceClock(ctx context.Context, tx *store.Tx, to time.Time) error {
	_, err := tx.NewRaw("update clock set is_rehearsal = true, offset_interval = greatest(offset_interval, ?::timestamptz - clock_timestamp())", to).Exec(ctx)
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	if err := tx.RefreshClock(ctx); err != nil {
		return err
	}
	_, err = partition.AddAhead(ctx, tx)
	return err
}

// followRehearsedDays lets the clock follow rehearsed days if the actor may move it.
func (r *ingestion) followRehearsedDays(ctx context.Context, in []wire.ObservationInput, unread [][]apperr.FieldError) (err error) {
	if r.rehearsalClock, err = MayMoveClock(ctx, r.Store, r, r.Actor); err != nil || !r.rehearsalClock {
		return err
	}
	return r.advanceRehearsalClock(ctx, in, unread)
}

// advanceRehearsalClock moves the business clock to the end of the last rehearsed day at a
// station if that day is in the future: rain is measured per day, so a spell or a month
// could not otherwise be rehearsed while it is reported. Days that are otherwise invalid, or
// that end after latestRehearsal, have no effect. The move commits with the days.
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
	return AdvanceClock(ctx, r.Tx, target)
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
			faults[i].Detail = fmt.Sprintf("It is in the future. When nothing else in the request is wrong, the clock follows rehearsed days that end by %s, %d days ahead of the real time: rehearse earlier days, move the clock first (POST /v1/sandbox/clock), or start again with parapet dev --fresh.",
				r.latestRehearsal().Format(time.RFC3339), int(maxRehearsalShift/(24*time.Hour)))
		default:
			faults[i].Detail = "It is in the future, and the clock of this server does not follow rehearsed days of partners: rehearse days that have passed. The clock follows in parapet dev, and where PARAPET_REHEARSAL_CLOCK is partner."
		}
	}
}
