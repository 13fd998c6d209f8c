//go:build unix

package main

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
	"parapet/model/modeltest"
)

// `make bench/storm` makes the book and sets these.
var (
	stormBook = flag.String("storm-book", "", "folder of the book of storms for BenchmarkStorm: see model/book_storm_test.go")
	stormHits = flag.Int("storm-hits", 0, "how many policies the book has in each of modeltest.StormCities but the first, which has a tenth of them")
	stormRest = flag.Duration("storm-rest", 0, "how long after the storm the memory of the process is read again; 0: not at all")
)

// BenchmarkStorm runs earthquakes through processes of the service, on a durable Postgres
// with the book that make bench/storm made. Each part is an earthquake of its own:
//
//   - Decide/Sizes decides a tenth of the hits, in a book of these policies only and in the
//     book, in rounds that begin with each in turn. No payout is released and no event
//     numbered meanwhile.
//   - Decide/Staged decides all hits likewise, and writes the same rows by staged SQL into
//     another copy of the book, in rounds that begin with each in turn.
//   - Pay/Delivered decides all hits, releases their payouts in batches through the
//     simulator, and delivers the event of each release to a receiver of each partner.
//   - Pay/Quotes does the same while a partner asks for quotes, in rounds.
//
// Each part and each round has new copies of the books. The table shows the median round.
func BenchmarkStorm(b *testing.B) {
	if *stormBook == "" {
		b.Skip("there is no book of storms: make bench/storm")
	}
	server := openStormServer(b)
	var decide []float64 // seconds, by round
	decided := b.Run("Decide", func(b *testing.B) {
		for round := range sizesRounds {
			b.Run("Sizes", func(b *testing.B) {
				small, large := server.openHeldStorm(b, modeltest.SmallBookName), server.openHeldStorm(b, modeltest.BookName)
				compareSizes(b, small, large, round%2 == 1)
			})
		}
		rows := b.TempDir() // of the first round
		for round := range stormRounds {
			b.Run("Staged", func(b *testing.B) {
				decide = append(decide, compareDecisions(b, server, rows, round).Seconds())
			})
		}
	})
	if !decided {
		return
	}
	b.Run("Pay", func(b *testing.B) {
		var paid time.Duration
		b.Run("Delivered", func(b *testing.B) {
			paid = server.openStorm(b, modeltest.BookName).pay(b, decide)
		})
		for range stormRounds {
			b.Run("Quotes", func(b *testing.B) { server.openStorm(b, modeltest.BookName).quoteDuringStorm(b, paid) })
		}
	})
}

// stormRounds is odd, so that the median is the result of one round. The speed of a shared
// machine differs by a fifth between two halves of a round, so three rounds are too few.
const stormRounds = 5

// sizesRounds is odd too, and larger, because each half of a round takes a few seconds only.
const sizesRounds = 9

// compareSizes decides equally many hits in a small and a large book. largeFirst says with
// which it begins.
func compareSizes(b *testing.B, small, large *storm, largeFirst bool) {
	hits := *stormHits / 10
	order := []*storm{small, large}
	if largeFirst {
		slices.Reverse(order)
	}
	used := map[*storm]meter.Usage{}
	for _, s := range order {
		used[s] = s.decideHeld(b, 0, hits)
	}
	inSmall, inLarge := used[small], used[large]
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op") // the sum of both has no meaning
	b.ReportMetric(inLarge.PerSecond(hits), "hits/s")
	b.ReportMetric(inSmall.PerSecond(hits), "small-hits/s")
	b.ReportMetric(inLarge.Elapsed.Seconds()/inSmall.Elapsed.Seconds(), "times-faster")
	inLarge.Report(b, "", hits, "hit")
	inSmall.Report(b, "small-", hits, "hit")
}

// compareDecisions decides all hits, and writes the same rows by staged SQL. The first
// round keeps its rows in a folder for all rounds, so that every second one begins with
// staged SQL. It returns how long the decisions took.
func compareDecisions(b *testing.B, server *stormServer, rows string, round int) time.Duration {
	var staged meter.Usage
	if round%2 == 1 {
		staged = server.writeStaged(b, rows)
	}
	s := server.openHeldStorm(b, modeltest.BookName)
	ours := s.decideHeld(b, 1, *stormHits)
	if round == 0 {
		keepRows(b, s.DB.Pool, modeltest.StormCities[1].Name, rows)
	}
	if round%2 == 0 {
		staged = server.writeStaged(b, rows)
	}
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.PerSecond(*stormHits), "hits/s")
	b.ReportMetric(staged.PerSecond(*stormHits), "staged-hits/s")
	b.ReportMetric(staged.Elapsed.Seconds()/ours.Elapsed.Seconds(), "of-staged")
	b.ReportMetric(ours.Elapsed.Seconds(), "decided-s")
	b.ReportMetric(meter.PeakMemory(s.process.pid()), "peak-MiB")
	ours.Report(b, "", *stormHits, "hit")
	staged.Report(b, "staged-", *stormHits, "hit")
	return ours.Elapsed
}

// pay runs a storm to its end, and returns when all payouts were released. decide is how
// many seconds decisions alone took in each round; empty if none was run.
func (s *storm) pay(b *testing.B, decide []float64) (released time.Duration) {
	received := s.receiveReleases(b, *stormHits)
	used := meter.Start(b, s.DB.Pool, s.process.pid())
	began := s.observe(b, 2)
	s.waitUntilDecided(b, 2)
	decided := time.Since(began)
	s.waitUntilPaid(b)
	released = time.Since(began)
	s.wait(b, "deliveries", func() (bool, int) { return received.done(), received.count() })
	delivered := time.Since(began)
	usage := used.Stop()
	peak := meter.PeakMemory(s.process.pid())
	s.requirePayouts(b, 2, *stormHits)
	s.requireReleased(b)
	s.requireSound(b)
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*stormHits)/delivered.Seconds(), "hits/s")
	b.ReportMetric(decided.Seconds(), "decided-s")
	b.ReportMetric(released.Seconds(), "released-s")
	b.ReportMetric(delivered.Seconds(), "delivered-s")
	if len(decide) > 0 {
		alone := meter.Median(decide)
		b.ReportMetric(alone, "decide-s")
		b.ReportMetric(delivered.Seconds()/alone, "of-decide")
	}
	b.ReportMetric(peak, "peak-MiB")
	usage.Report(b, "", *stormHits, "hit")
	if *stormRest > 0 {
		<-time.After(*stormRest)
		b.ReportMetric(meter.Memory(s.process.pid()), "rest-MiB")
	}
	return released
}

// quoteDuringStorm asks for quotes before and during a storm. undisturbed is how long a
// storm without quotes takes until all payouts are released; zero if none was run.
func (s *storm) quoteDuringStorm(b *testing.B, undisturbed time.Duration) {
	s.tidyUp(b)
	callers := startQuoteCallers(b, s)
	callers.takeNext(b, s, firstQuotes)
	quiet := callers.takeNext(b, s, quietQuotes)
	began := s.observe(b, 3)
	s.waitUntilDecided(b, 3)
	decided := time.Since(began)
	s.waitUntilPaid(b)
	paid := time.Since(began)
	busy := callers.stop(b)
	s.requirePayouts(b, 3, *stormHits)
	s.requireReleased(b)
	s.requireSound(b)
	for b.Loop() {
	}
	require.NotEmpty(b, busy)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(decided.Seconds(), "decided-s")
	for name, latencies := range map[string][]time.Duration{"": busy, "quiet-": quiet} {
		b.ReportMetric(meter.Percentile(latencies, 50), name+"p50-ms")
		b.ReportMetric(meter.Percentile(latencies, 99), name+"p99-ms")
	}
	b.ReportMetric(meter.Percentile(busy, 99)/meter.Percentile(quiet, 99), "of-quiet")
	b.ReportMetric(paid.Seconds(), "paid-s")
	if undisturbed > 0 {
		b.ReportMetric(undisturbed.Seconds(), "undisturbed-s")
		b.ReportMetric(paid.Seconds()/undisturbed.Seconds(), "times-as-long")
	}
}
