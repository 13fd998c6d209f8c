package adjudication_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/wire"
)

// manyPolicies enables BenchmarkEvaluateRain with 500,000 policies, and makes the book of
// BenchmarkEndOfSpell ten times as large.
var manyPolicies = flag.Bool("rain.many", false, "match rain with 500,000 policies at one station, too, and end a spell of 50,000")

// atOneStation copies a bound policy, with its quote, at its own station.
const atOneStation = `with copies as (select gen_random_uuid() as quote, gen_random_uuid() as policy from generate_series(1, %d)
	), quoted as (
		insert into quotes select copy.* from (select q from quotes q limit 1) as one (q), copies c,
			lateral jsonb_populate_record(one.q, jsonb_build_object('id', c.quote, 'policy_id', c.policy, 'partner_reference', null)) as copy returning 1
	)
	insert into policies select copy.* from (select p from policies p limit 1) as one (p), copies c,
		lateral jsonb_populate_record(one.p, jsonb_build_object('id', c.policy, 'quote_id', c.quote, 'partner_reference', null)) as copy`

// manyAtOneStation returns a station with so many copies of one policy, 300 days after
// its start.
func manyAtOneStation(b *testing.B, policies int) (*modeltest.Bundle, *wire.Policy, time.Time) {
	b.Helper()
	m := modeltest.New(b, modeltest.WithoutChecks())
	policy := m.QuoteAndBind("rain-excess", nil)
	for _, statement := range []string{"set session_replication_role = replica", fmt.Sprintf(atOneStation, policies-1), "reset session_replication_role", "analyze policies"} {
		_, err := m.DB.Pool.Exec(b.Context(), statement)
		require.NoError(b, err)
	}
	m.AdvanceClock(300 * 24 * time.Hour)
	return m, policy, modeltest.FirstWholeDay(policy.EffectiveAt)
}

// BenchmarkEvaluateRain records and matches one more reading of a wet spell at a station
// with many policies. The reading cannot pay any policy, and no policy is read: the work
// grows with the days and not with the policies. Every spell has twenty days before the
// clock runs, and a reading revises one of them, so that the cost of an operation does
// not depend on their number.
func BenchmarkEvaluateRain(b *testing.B) {
	sizes := []int{50_000}
	if *manyPolicies {
		sizes = append(sizes, 500_000)
	}
	const spells, wet = 9, 20
	for _, policies := range sizes {
		b.Run(fmt.Sprintf("policies=%d", policies), func(b *testing.B) {
			m, policy, first := manyAtOneStation(b, policies)
			for i := range spells {
				m.Observe(modeltest.StationDays(policy, first.AddDate(0, 0, 30*i), slices.Repeat([]string{"2"}, wet)...)...)
				m.RunJobs()
			}
			for i := 0; b.Loop(); i++ {
				day := 30*(i%spells) + i/spells%wet
				m.Observe(modeltest.StationDays(policy, first.AddDate(0, 0, day), fmt.Sprintf("3.%d", i%10))...)
				m.RunJobs()
			}
		})
	}
}

// BenchmarkEndOfSpell ends a spell that pays a part of its limit to every policy of a
// station: the dry days are recorded, and each policy gets a claim with a decision.
func BenchmarkEndOfSpell(b *testing.B) {
	policies := 5_000
	if *manyPolicies {
		policies = 50_000
	}
	b.Run(fmt.Sprintf("policies=%d", policies), func(b *testing.B) {
		m, policy, first := manyAtOneStation(b, policies)
		spells := 0
		for ; b.Loop(); spells++ {
			require.Less(b, spells, 9, "the limit and the term are used up: give a smaller -benchtime")
			b.StopTimer()
			begins := first.AddDate(0, 0, 8+30*spells)
			m.Observe(modeltest.StationDays(policy, begins, "70", "62")...)
			m.RunJobs()
			b.StartTimer()
			m.Observe(modeltest.StationDays(policy, begins.AddDate(0, 0, 2), "0", "0", "0")...)
			m.RunJobs()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(spells*policies), "us/policy")
		claims := 0
		require.NoError(b, m.DB.Pool.QueryRow(b.Context(), "select count(*) from claims").Scan(&claims))
		require.Equal(b, spells*policies, claims)
	})
}
