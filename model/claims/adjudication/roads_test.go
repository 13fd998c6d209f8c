package adjudication_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

// This run is short; make chaos runs a longer one.
var (
	propertyPolicies = flag.Int("property-policies", 60, "policies of TestEveryRoadDecidesAlike")
	propertyHazards  = flag.Int("property-hazards", 2, "events of each kind in TestEveryRoadDecidesAlike")
	propertySlice    = flag.Int("property-slice", 5, "policies of a slice of the storm road in TestEveryRoadDecidesAlike")
	propertySeed     = flag.Uint64("property-seed", 1, "seed of TestEveryRoadDecidesAlike; 0 takes a random one")
)

// road is a way to decide the claims of an event.
type road struct {
	name   string
	slice  int // policies of a slice
	decide func(t *testing.T, b *modeltest.Bundle, step hazardStep)
}

// roads are the ways that must lead to the same result.
func roads() []road {
	return []road{
		{"slices of one policy", 1, func(*testing.T, *modeltest.Bundle, hazardStep) {}}, // RunJobs decides
		{"storm", *propertySlice, decideAsStorm},
		{"requests", 1, decideByRequests},
	}
}

// The test decides random events for random policies of every product on copies of one
// database: policy by policy, by slices that several workers take, and by partners'
// requests. All copies have the same claims, determinations with receipts, events,
// timelines, payouts and postings. The receipts of all quotes and claims verify.
func TestEveryRoadDecidesAlike(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*propertySeed, uint64(time.Now().UnixNano()))
	t.Logf("-property-seed=%d", seed)
	g := &generator{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), book: modeltest.New(t, modeltest.WithoutChecks())}
	g.bindBook(*propertyPolicies)
	var with []modeltest.Option
	if *propertyPolicies > 200 {
		with = append(with, modeltest.WithoutChecks()) // they read every record; Violations takes their place
	}
	g.now = g.book.Now().Truncate(time.Minute)
	ways := roads()
	copies := g.book.Clone(t, len(ways), with...)
	for i, way := range ways {
		copies[i].Service.Adjudication.SetSliceSize(way.slice)
	}
	for _, step := range g.events(*propertyHazards) {
		for i, way := range ways {
			g.pass(copies[i], step.after)
			copies[i].Observe(step.readings...)
			way.decide(t, copies[i], step)
			copies[i].RunJobs()
		}
	}
	var first decisions
	for i, way := range ways {
		for range 3 { // the long stop of several sources is at the tenth day
			g.pass(copies[i], 5*modeltest.Day)
		}
		copies[i].Relay()
		require.Empty(t, copies[i].Violations(), way.name)
		got := readDecisions(t, copies[i])
		if i == 0 {
			first = got
			t.Logf("%d policies, %s", len(got), got.count(t, copies[i]))
			t.Log(verifyReceipts(t, copies[i]))
			continue
		}
		require.Len(t, got, len(first))
		for policy, want := range first {
			require.Equal(t, want, got[policy], "policy %s by %s", policy, way.name)
		}
	}
}

// pass moves the clock and does the due work: sources of a measurement have a time limit.
func (g *generator) pass(b *modeltest.Bundle, time time.Duration) {
	g.Helper()
	if time == 0 {
		return
	}
	b.AdvanceClock(time)
	b.Sweep()
	b.RunJobs()
}

// decideAsStorm matches the step's occurrences while several workers decide slices. The
// slices of several occurrences are decided one after another, because their order
// decides what is left of a limit. The matching is repeated by RunJobs, which changes
// nothing.
func decideAsStorm(t *testing.T, b *modeltest.Bundle, _ hazardStep) {
	t.Helper()
	rows, err := b.DB.Pool.Query(t.Context(), "select args from modeltest_jobs where not done and kind = 'evaluate_occurrences' order by ordinal")
	require.NoError(t, err)
	waiting, err := pgx.CollectRows(rows, pgx.RowTo[occurrence.EvaluateOccurrences])
	require.NoError(t, err)
	for _, job := range waiting {
		require.NoError(t, runPass(t.Context(), b, job))
		workers := 3
		if len(job.Occurrences) > 1 {
			workers = 1
		}
		decideConcurrently(t, b, workers)
	}
}

// decideByRequests lets partners claim for all of their policies. What a request may not
// decide, for instance a claim that has nothing left of the limit, the matcher decides.
func decideByRequests(t *testing.T, b *modeltest.Bundle, step hazardStep) {
	t.Helper()
	var policies []struct{ Partner, ID string }
	require.NoError(t, b.DB.Bun.NewRaw("select partner, id::text from policies where status <> 'archived' and kind = ? order by id", step.peril).Scan(t.Context(), &policies))
	last := step.readings[len(step.readings)-1]
	for _, p := range policies {
		request := adjudication.ClaimRequest{PolicyID: formatPolicy(t, p.ID), SourceEvent: &adjudication.SourceEvent{Source: last.Source, ID: last.SourceEventID}}
		_, _, err := b.Service.Adjudication.Open(t.Context(), modeltest.Partner(p.Partner), request)
		if err != nil {
			require.NotContains(t, []apperr.Code{"", apperr.CodeInternal, apperr.CodeUnavailable}, apperr.CodeOf(err), "%v", err)
		}
	}
}

// count describes how much was compared.
func (d decisions) count(t *testing.T, b *modeltest.Bundle) string {
	t.Helper()
	var claims, approved, declined, deferred, increased, payouts, events int
	var products string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) filter (where origin = 'trigger'), count(*) filter (where status in ('approved', 'closed')),
			count(*) filter (where status = 'declined'), count(*) filter (where status = 'deferred'),
			(select count(*) from payouts where installment > 1), (select count(*) from payouts), (select count(*) from events),
			(select string_agg(format('%s %s', product, n), ', ' order by product) from (select product, count(*) as n from claims where origin = 'trigger' group by 1) as each) from claims`).
		Scan(&claims, &approved, &declined, &deferred, &increased, &payouts, &events, &products))
	require.NotZero(t, claims)
	return fmt.Sprintf("%d claims by events (%s); %d approved, %d declined, %d deferred; %d payouts, %d of them further parts; %d events",
		claims, products, approved, declined, deferred, payouts, increased, events)
}
