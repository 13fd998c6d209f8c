package webhooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// batchResults returns the results of a batch, one for each letter: d delivered, f failed,
// g gone, l left unsent, b blocked by an earlier event of its subject.
func batchResults(letters string) []AttemptResult {
	results := make([]AttemptResult, len(letters))
	for i, letter := range letters {
		if letter == 'd' || letter == 'f' || letter == 'g' {
			results[i].Attempt = &wire.Attempt{}
		}
		results[i].Delivered, results[i].Gone, results[i].Outgoing.Blocked = letter == 'd', letter == 'g', letter == 'b'
	}
	return results
}

func TestBatchSizeFollowsTheResultsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	in := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	for name, tc := range map[string]struct {
		was     progressRow
		results string
		pause   time.Duration
		is      progressRow
		disable string
	}{
		"doubles when all is delivered":             {progressRow{BatchLimit: 8}, "ddd", 0, progressRow{BatchLimit: 16}, ""},
		"stops at the maximum":                      {progressRow{BatchLimit: 200}, "d", 0, progressRow{BatchLimit: maxBatchEvents}, ""},
		"stays when a part fails":                   {progressRow{BatchLimit: 8}, "df", 0, progressRow{BatchLimit: 8}, ""},
		"halves when the time was too short":        {progressRow{BatchLimit: 9}, "ddl", 0, progressRow{BatchLimit: 4}, ""},
		"is at least one":                           {progressRow{BatchLimit: 1}, "dl", 0, progressRow{BatchLimit: 1}, ""},
		"halves when the receiver asks for a pause": {progressRow{BatchLimit: 8}, "df", time.Minute, progressRow{BatchLimit: 4, NextProbeAt: in(time.Minute)}, ""},
		"doubles when events wait for an earlier":   {progressRow{BatchLimit: 8}, "db", 0, progressRow{BatchLimit: 16}, ""},
		"stays when nothing was sent":               {progressRow{BatchLimit: 8, Failures: 3, FailingSince: ago(time.Minute)}, "lb", 0, progressRow{BatchLimit: 8, Failures: 3, FailingSince: ago(time.Minute)}, ""},

		"a success ends the failure": {
			progressRow{BatchLimit: 1, Failures: 40, FailingSince: ago(time.Hour), NextProbeAt: ago(0)}, "d", 0, progressRow{BatchLimit: 2}, "",
		},
		"the first failures are counted": {progressRow{BatchLimit: 8, Failures: 0}, "fff", 0, progressRow{BatchLimit: 8, Failures: 3, FailingSince: &now}, ""},
		"the ninth failure changes nothing": {
			progressRow{BatchLimit: 8, Failures: 8, FailingSince: ago(time.Minute)}, "f", 0, progressRow{BatchLimit: 8, Failures: 9, FailingSince: ago(time.Minute)}, "",
		},
		"the tenth failure in a row stops new events": {
			progressRow{BatchLimit: 8, Failures: 9, FailingSince: ago(4 * time.Second)}, "f", 0,
			progressRow{BatchLimit: 1, Failures: 10, FailingSince: ago(4 * time.Second), NextProbeAt: in(minProbeDelay)}, "",
		},
		"the probe waits a quarter of the failing time": {
			progressRow{BatchLimit: 1, Failures: 10, FailingSince: ago(2 * time.Minute)}, "fl", 0,
			progressRow{BatchLimit: 1, Failures: 11, FailingSince: ago(2 * time.Minute), NextProbeAt: in(30 * time.Second)}, "",
		},
		"the probe waits five minutes at most": {
			progressRow{BatchLimit: 1, Failures: 10, FailingSince: ago(time.Hour)}, "f", 0,
			progressRow{BatchLimit: 1, Failures: 11, FailingSince: ago(time.Hour), NextProbeAt: in(maxProbeDelay)}, "",
		},
		"a pause that is longer than the probe counts": {
			progressRow{BatchLimit: 1, Failures: 10, FailingSince: ago(time.Hour)}, "f", time.Hour,
			progressRow{BatchLimit: 1, Failures: 11, FailingSince: ago(time.Hour), NextProbeAt: in(time.Hour)}, "",
		},
		"a pause that is shorter than the probe does not": {
			progressRow{BatchLimit: 1, Failures: 10, FailingSince: ago(time.Hour)}, "f", time.Second,
			progressRow{BatchLimit: 1, Failures: 11, FailingSince: ago(time.Hour), NextProbeAt: in(maxProbeDelay)}, "",
		},
		"410 disables at once": {
			progressRow{BatchLimit: 8}, "g", 0, progressRow{BatchLimit: 8, Failures: 1, FailingSince: &now}, "It answered 410 Gone.",
		},
		"just under five days of failures do not disable": {
			progressRow{BatchLimit: 1, Failures: 99, FailingSince: ago(disableAfter - time.Second)}, "f", 0,
			progressRow{BatchLimit: 1, Failures: 100, FailingSince: ago(disableAfter - time.Second), NextProbeAt: in(maxProbeDelay)}, "",
		},
		"five days of failures disable": {
			progressRow{BatchLimit: 1, Failures: 99, FailingSince: ago(disableAfter)}, "f", 0,
			progressRow{BatchLimit: 1, Failures: 100, FailingSince: ago(disableAfter), NextProbeAt: in(maxProbeDelay)}, "Nothing could be delivered since 2026-02-24T12:00:00Z.",
		},
	} {
		is := tc.was
		require.Equal(t, tc.disable, is.adaptBatchSize(now, batchResults(tc.results), tc.pause, Config{}), name)
		require.Equal(t, tc.is, is, name)
	}
	failing := progressRow{BatchLimit: 8, Failures: 9, FailingSince: ago(2 * time.Minute)}
	failing.adaptBatchSize(now, batchResults("f"), 0, Config{DelayDivisor: 10})
	require.Equal(t, now.Add(3*time.Second), *failing.NextProbeAt, "delays are divided in development")
}
