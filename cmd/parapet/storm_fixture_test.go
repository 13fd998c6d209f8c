//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/internal/meter"
	"parapet/jobs"
	"parapet/migrations"
	"parapet/model/events/webhooks"
	"parapet/model/modeltest"
)

// stormServer is the Postgres server of a book of storms.
type stormServer struct{ *devpg.Server }

func openStormServer(b *testing.B) *stormServer {
	b.Helper()
	server, err := devpg.Start(b.Context(), devpg.Options{DataDir: *stormBook, Durable: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop(context.WithoutCancel(b.Context()))) })
	return &stormServer{server}
}

// copyBook copies a book to a database that is dropped at the end.
func (s *stormServer) copyBook(b *testing.B, book, name string) (url string) {
	b.Helper()
	address := s.URL("postgres")
	require.NoError(b, devpg.DropDatabase(b.Context(), address, name)) // an interrupted run may have left it
	require.NoError(b, s.CloneDatabase(b.Context(), name, book))
	b.Cleanup(func() { require.NoError(b, devpg.DropDatabase(context.WithoutCancel(b.Context()), address, name)) })
	syncFiles(b)
	return s.URL(name)
}

// syncFiles waits until the kernel has written what is left of the preparation. It
// would delay commits that are measured, by hundreds of milliseconds for a copy of a book.
func syncFiles(b *testing.B) {
	b.Helper()
	require.NoError(b, exec.CommandContext(b.Context(), "sync").Run())
}

// storm is a copy of a book with a process of the service that works on it. Only the
// process writes, but for the requests of an operator.
type storm struct {
	*processGroup

	process *serverProcess
}

// openStorm copies a book and starts a process on it.
func (s *stormServer) openStorm(b *testing.B, book string) *storm {
	b.Helper()
	made := s.prepareStorm(b, book)
	made.start(b)
	return made
}

// openHeldStorm is openStorm of a process that releases nothing and does not number
// events, so that a storm is only decided.
func (s *stormServer) openHeldStorm(b *testing.B, book string) *storm {
	b.Helper()
	made := s.prepareStorm(b, book)
	relay, err := pgx.Connect(b.Context(), made.URL)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, relay.Close(context.WithoutCancel(b.Context()))) })
	_, err = relay.Exec(b.Context(), relayLockSQL)
	require.NoError(b, err)
	_, err = made.DB.Pool.Exec(b.Context(), "insert into "+migrations.RiverSchema+".river_queue (name, created_at, metadata, paused_at, updated_at) select name, now(), '{}', now(), now() from unnest(array['release_batches', 'payouts']) as name")
	require.NoError(b, err)
	made.start(b)
	return made
}

// start starts a process and returns when its first jobs have ended: the checks and sweeps
// of a start are no part of a storm.
func (s *storm) start(b *testing.B) {
	b.Helper()
	const jobsOf = "select count(*) from " + migrations.RiverSchema + ".river_job where "
	began := time.Now()
	s.process = s.startProcess(b, "rehearsal")
	s.wait(b, "the jobs of the start", func() (bool, int) {
		checked := s.count(b, jobsOf+"kind = $1 and created_at >= $2 and finalized_at is not null", jobs.CheckInvariants{}.Kind(), began)
		open := s.count(b, jobsOf+"finalized_at is null")
		return checked > 0 && open == 0, -open
	})
}

// relayLockSQL takes the lock of the one active relay: see model/events/relay.go.
const relayLockSQL = "select pg_advisory_lock(x'6576656e7473'::bigint)"

// prepareStorm copies a book whose records were all checked just now: the check of all
// records, which runs once an hour, is no part of a storm.
func (s *stormServer) prepareStorm(b *testing.B, book string) *storm {
	b.Helper()
	bundle := modeltest.Open(b, s.copyBook(b, book, "storm_"+book))
	_, err := bundle.DB.Pool.Exec(b.Context(), `insert into invariant_checks (name, checked_at, last_full_check_at, duration_ms)
		select relname, now(), now(), 0 from pg_class where relkind = 'v' and relname like 'inv\_%'
		on conflict (name) do update set checked_at = now(), last_full_check_at = now()`)
	require.NoError(b, err)
	return &storm{processGroup: newProcessGroupOn(b, bundle, "PARAPET_RAIL_BATCH=500", "PARAPET_CONNECTIONS=20",
		"PARAPET_LOOPBACK_TARGETS=true", "PARAPET_REHEARSAL=true")}
}

// tidyUp does what Postgres would do soon in a book that was copied: it vacuums rows and
// writes pages.
func (s *storm) tidyUp(b *testing.B) {
	b.Helper()
	for _, statement := range []string{"vacuum (analyze)", "checkpoint"} {
		_, err := s.DB.Pool.Exec(b.Context(), statement)
		require.NoError(b, err)
	}
	syncFiles(b)
}

func (p *serverProcess) pid() int { return p.command.Process.Pid }

// decideHeld runs the earthquake of a city in a held process, and
// returns what its decisions cost.
func (s *storm) decideHeld(b *testing.B, city, hits int) meter.Usage {
	b.Helper()
	_, err := s.DB.Pool.Exec(b.Context(), "checkpoint")
	require.NoError(b, err)
	used := meter.Start(b, s.DB.Pool, s.process.pid())
	s.observe(b, city)
	s.waitUntilDecided(b, city)
	usage := used.Stop()
	s.requirePayouts(b, city, hits)
	return usage
}

// observe reports an earthquake at the centre of a city.
func (s *storm) observe(b *testing.B, city int) (began time.Time) {
	b.Helper()
	at := modeltest.StormCities[city]
	body := fmt.Sprintf(`{"source": "usgs", "source_event_id": %q, "kind": "earthquake", "occurred_at": %q, "stage": "final",
		"location": {"latitude": %v, "longitude": %v}, "measures": {"magnitude": {"value": "7.1", "unit": "mw"}, "depth": {"value": "10", "unit": "km"}}}`,
		at.Name, time.Now().UTC().Format(time.RFC3339Nano), at.Centre.Latitude, at.Centre.Longitude)
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.process.base+"/v1/observations", strings.NewReader(body))
	require.NoError(b, err)
	request.Header.Set("Authorization", "Bearer "+s.sourceToken)
	request.Header.Set("Content-Type", "application/json")
	began = time.Now()
	response, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusCreated, response.StatusCode, "%s", text)
	return began
}

// waitUntilDecided returns when all slices of the earthquake of a city are decided.
func (s *storm) waitUntilDecided(b *testing.B, city int) {
	b.Helper()
	name := modeltest.StormCities[city].Name
	s.wait(b, "decisions", func() (bool, int) {
		var open, decided, complete int
		require.NoError(b, s.DB.Pool.QueryRow(b.Context(), `select count(*) filter (where ms.done_at is null), count(*) filter (where ms.done_at is not null),
				(select count(*) from matchings ma where ma.occurrence_id = o.id and ma.candidates > 0 and ma.completed_at is not null)
			from occurrences o left join matching_slices ms on ms.occurrence_id = o.id where o.source_event_id = $1 group by o.id`, name).Scan(&open, &decided, &complete))
		return open == 0 && complete > 0, decided
	})
}

// requirePayouts checks that each hit of a city has a payout.
func (s *storm) requirePayouts(b *testing.B, city, hits int) {
	b.Helper()
	name := modeltest.StormCities[city].Name
	require.Equal(b, hits, s.count(b, "select count(*) from payouts p join claims c on c.id = p.claim_id join occurrences o on o.id = c.occurrence_id where o.source_event_id = $1", name))
}

// waitUntilPaid returns when every payout is released. It counts those that are not, which
// an index holds: to count all would delay what is measured.
func (s *storm) waitUntilPaid(b *testing.B) {
	b.Helper()
	s.wait(b, "releases", func() (bool, int) {
		waiting := s.count(b, "select count(*) from payouts where next_attempt_at is not null")
		return waiting == 0, -waiting
	})
}

// requireReleased checks that each payout is released.
func (s *storm) requireReleased(b *testing.B) {
	b.Helper()
	require.Zero(b, s.count(b, "select count(*) from payouts where status not in ('released', 'reconciled')"))
}

// These constants govern how the progress of a storm is read: for a fiftieth of the time,
// so that reading does not slow the storm. The interval has an upper limit: the end of a
// storm is noticed at the next reading, and one that waited a second for the disk would
// delay the next by 50 s.
const (
	minStormInterval = 100 * time.Millisecond
	maxStormInterval = 400 * time.Millisecond
	stormIdle        = 50
	stormStall       = 2 * time.Minute // the longest time without progress
)

// wait returns when a condition holds. It fails when the progress does not grow for
// stormStall.
func (s *storm) wait(b *testing.B, what string, look func() (done bool, progress int)) {
	b.Helper()
	best, since := 0, time.Now()
	for first := true; ; first = false {
		began := time.Now()
		done, progress := look()
		if done {
			return
		}
		if first || progress > best {
			best, since = progress, time.Now()
		}
		if time.Since(since) >= stormStall { // the log is read only then: it has megabytes, and the callers share the processors
			b.Fatalf("%s stall at %d; the log ends: %s", what, best, s.process.log.lastLine())
		}
		<-time.After(min(max(minStormInterval, stormIdle*time.Since(began)), maxStormInterval))
	}
}

func (s *storm) count(b *testing.B, query string, args ...any) (n int) {
	b.Helper()
	require.NoError(b, s.DB.Pool.QueryRow(b.Context(), query, args...).Scan(&n))
	return n
}

// requireSound checks that the process found no violation and stopped no release.
func (s *storm) requireSound(b *testing.B) {
	b.Helper()
	require.Zero(b, s.count(b, "select count(*) from invariant_violations"))
	require.Zero(b, s.count(b, "select count(*) from release_stops where resumed_at is null"))
}

// releaseReceiver is a fast receiver of the events payout.released.
type releaseReceiver struct{ expected, received atomic.Int64 }

// receiveReleases creates an endpoint of every partner at a receiver that expects so many
// events.
func (s *storm) receiveReleases(b *testing.B, expected int) *releaseReceiver {
	b.Helper()
	r := &releaseReceiver{}
	r.expected.Store(int64(expected))
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.received.Add(1)
	}))
	b.Cleanup(server.Close)
	for _, slug := range modeltest.StormPartners() {
		_, err := s.Service.Webhooks.CreateEndpoint(b.Context(), modeltest.Partner(slug), webhooks.EndpointRequest{URL: &server.URL, EventTypes: []string{"payout.released"}})
		require.NoError(b, err)
	}
	return r
}

func (r *releaseReceiver) count() int { return int(r.received.Load()) }

func (r *releaseReceiver) done() bool { return r.received.Load() >= r.expected.Load() }
