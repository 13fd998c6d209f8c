package underwriting_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

// pastClaims gives a policy n declined claims, five minutes apart, each for an occurrence
// of its own.
const pastClaims = `with past as (
		insert into occurrences (id, scope, version, created_at, updated_at, source, source_event_id, kind, occurred_at, last_at, stage, source_version)
		select gen_random_uuid(), '', 1, at, at, 'usgs', 'past-' || n, 'earthquake', at, at, 'final', '1'
		from (select n, p.effective_at + n * interval '5 minutes' as at from policies p, generate_series(1, $1) as n) as t returning id, occurred_at
	)
	insert into claims (id, partner, created_at, updated_at, policy_id, product, status, origin, occurrence_id, occurrence_key, occurred_at, currency, reason_codes, opened_at, decided_at, outcome)
	select gen_random_uuid(), p.partner, past.occurred_at, past.occurred_at, p.id, p.product, 'declined', 'trigger', past.id, past.id::text, past.occurred_at, p.currency,
		array['threshold_not_met'], past.occurred_at, past.occurred_at, 'declined'
	from past, policies p order by random()`

// BenchmarkClaimsOfOnePolicy measures operations on a policy, or on another policy, with
// 10 claims or 100,000, and reports the size of the largest event.
func BenchmarkClaimsOfOnePolicy(b *testing.B) {
	for _, claims := range []int{10, 100_000} {
		m := modeltest.New(b, modeltest.WithoutChecks())
		policy := m.QuoteAndBind("quake-circle", nil)
		_, err := m.DB.Pool.Exec(b.Context(), pastClaims, claims)
		require.NoError(b, err)
		_, err = m.DB.Pool.Exec(b.Context(), "vacuum analyze claims, occurrences")
		require.NoError(b, err)
		m.AdvanceClock(355 * 24 * time.Hour)
		name := fmt.Sprintf("/claims=%d", claims)
		b.Run("read"+name, func(b *testing.B) {
			for b.Loop() {
				m.Policy(policy.ID)
			}
		})
		matched := 0
		b.Run("match"+name, func(b *testing.B) {
			at := m.Now().Add(-4 * 24 * time.Hour)
			for b.Loop() {
				b.StopTimer()
				matched++
				// The claims have the smallest paid amount, and none is a possible
				// duplicate of another one.
				quake := modeltest.Quake(fmt.Sprintf("us%d", matched), at.Add(time.Duration(matched)*61*time.Second), hazard.Point{Latitude: 24.1737, Longitude: 121.653}, "6")
				m.Observe(quake)
				job := m.LastJob().(occurrence.EvaluateOccurrences)
				b.StartTimer()
				require.NoError(b, m.Service.Adjudication.Evaluate(b.Context(), job))
			}
			var bytes float64
			require.NoError(b, m.DB.Pool.QueryRow(b.Context(), "select max(length(e::text)) from events e").Scan(&bytes))
			b.ReportMetric(bytes, "event-bytes")
		})
		b.Run("bind"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				quote := m.Quote("quake-circle", nil)
				b.StartTimer()
				m.Bind(quote)
			}
		})
	}
}
