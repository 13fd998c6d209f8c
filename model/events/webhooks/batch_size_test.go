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

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// working returns the progress of an endpoint without failures.
func working(limit int) progressRow { return progressRow{BatchLimit: limit} }

// failing returns the progress of an endpoint that has failed for a time.
func failing(limit int, failures int64, since time.Duration) progressRow {
	return progressRow{BatchLimit: limit, Failures: failures, FailingSince: new(noon.Add(-since))}
}

// withProbe sets when an endpoint gets the next new event.
func (p progressRow) withProbe(wait time.Duration) progressRow {
	p.NextProbeAt = new(noon.Add(wait))
	return p
}

func TestBatchSizeFollowsTheResultsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	const minute, hour = time.Minute, time.Hour
	for name, tc := range map[string]struct {
		was     progressRow
		results string
		pause   time.Duration
		is      progressRow
	}{
		"doubles when all is delivered":             {working(8), "ddd", 0, working(16)},
		"stops at the maximum":                      {working(200), "d", 0, working(maxBatchEvents)},
		"stays when a part fails":                   {working(8), "df", 0, working(8)},
		"halves when the time was too short":        {working(9), "ddl", 0, working(4)},
		"is at least one":                           {working(1), "dl", 0, working(1)},
		"halves when the receiver asks for a pause": {working(8), "df", minute, working(4).withProbe(minute)},
		"doubles when events wait for an earlier":   {working(8), "db", 0, working(16)},
		"stays when nothing was sent":               {failing(8, 3, minute), "lb", 0, failing(8, 3, minute)},

		"a success ends the failure":                      {failing(1, 40, hour).withProbe(0), "d", 0, working(2)},
		"the first failures are counted":                  {working(8), "fff", 0, failing(8, 3, 0)},
		"the ninth failure changes nothing":               {failing(8, 8, minute), "f", 0, failing(8, 9, minute)},
		"the tenth failure in a row stops new events":     {failing(8, 9, 4*time.Second), "f", 0, failing(1, 10, 4*time.Second).withProbe(minProbeDelay)},
		"the probe waits a quarter of the failing time":   {failing(1, 10, 2*minute), "fl", 0, failing(1, 11, 2*minute).withProbe(minute / 2)},
		"the probe waits five minutes at most":            {failing(1, 10, hour), "f", 0, failing(1, 11, hour).withProbe(maxProbeDelay)},
		"a pause that is longer than the probe counts":    {failing(1, 10, hour), "f", hour, failing(1, 11, hour).withProbe(hour)},
		"a pause that is shorter than the probe does not": {failing(1, 10, hour), "f", time.Second, failing(1, 11, hour).withProbe(maxProbeDelay)},
	} {
		is := tc.was
		require.Empty(t, is.adaptBatchSize(noon, batchResults(tc.results), tc.pause, Config{}), name)
		require.Equal(t, tc.is, is, name)
	}
	development := failing(8, 9, 2*minute)
	development.adaptBatchSize(noon, batchResults("f"), 0, Config{DelayDivisor: 10})
	require.Equal(t, failing(1, 10, 2*minute).withProbe(3*time.Second), development, "delays are divided in development")
}

func TestEndpointIsDisabledWhenGoneOrFailingForFiveDays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		was             progressRow
		results, reason string
	}{
		"410":                  {working(8), "g", "It answered 410 Gone."},
		"410 after a success":  {working(8), "dg", "It answered 410 Gone."},
		"five days":            {failing(1, 99, disableAfter), "f", "Nothing could be delivered since 2026-02-24T12:00:00Z."},
		"just under five days": {failing(1, 99, disableAfter-time.Second), "f", ""},
		"a success at the end": {failing(1, 99, disableAfter), "d", ""},
		"nothing was sent":     {failing(1, 99, disableAfter), "l", ""},
	} {
		require.Equal(t, tc.reason, tc.was.adaptBatchSize(noon, batchResults(tc.results), 0, Config{}), name)
	}
}
