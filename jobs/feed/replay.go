package feed

import (
	"errors"
	"fmt"
	"time"

	"parapet/model/wire"
)

// Replay re-dates historical observations so that an event happens at now; an empty
// EventID selects the last event of the file. An event of many rows, such as a storm,
// ends at now. The spacing is kept. Rows that would lie in the future are left out and
// counted in left. ReplayedFrom keeps the original time. Pass the returned shift to Shift
// to get the same rows again.
//
// A station's daily record moves by whole days, so that the event's day becomes the day
// of now.
func Replay(observations []wire.ObservationInput, eventID string, now time.Time) (shifted []wire.ObservationInput, left int, shift time.Duration, err error) {
	event := latestObservation(observations, eventID)
	switch {
	case event == nil && eventID == "":
		return nil, 0, 0, errors.New("nothing to replay: the file has no good rows")
	case event == nil:
		return nil, 0, 0, fmt.Errorf("nothing to replay: the file has no event %q", eventID)
	}
	// The database stores microseconds; a finer shift would differ in the next run.
	target := now.UTC().Truncate(time.Microsecond)
	if event.Kind.IsDaily() {
		target = utcMidnight(target)
	}
	shift = target.Sub(event.OccurredAt)
	if !event.OccurredAt.Add(shift).Equal(target) { // Sub saturates at 292 years
		return nil, 0, 0, fmt.Errorf("%s is too long ago to be replayed", event.OccurredAt.Format(time.DateOnly))
	}
	shifted, left = Shift(observations, shift, now)
	return shifted, left, shift, nil
}

// Shift re-dates observations by a known shift. It leaves out those that would lie after
// now and counts them in left. It does not change its input.
func Shift(observations []wire.ObservationInput, shift time.Duration, now time.Time) (shifted []wire.ObservationInput, left int) {
	shifted = make([]wire.ObservationInput, 0, len(observations))
	for _, o := range observations {
		original := o.OccurredAt
		if o.ReplayedFrom == nil {
			o.ReplayedFrom = &original
		}
		o.OccurredAt = original.Add(shift)
		if o.Kind.IsDaily() {
			o.OccurredAt = utcMidnight(o.OccurredAt)
			o.SourceEventID = dayID(o.Station, o.OccurredAt)
		}
		if o.OccurredAt.After(now) {
			left++
			continue
		}
		shifted = append(shifted, o)
	}
	return shifted, left
}

// latestObservation returns the latest observation of an event, or of all events when
// EventID is empty.
func latestObservation(observations []wire.ObservationInput, eventID string) *wire.ObservationInput {
	var latest *wire.ObservationInput
	for i := range observations {
		o := &observations[i]
		if eventID != "" && !isNamed(o, eventID) {
			continue
		}
		if latest == nil || o.OccurredAt.After(latest.OccurredAt) {
			latest = o
		}
	}
	return latest
}

func utcMidnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }
