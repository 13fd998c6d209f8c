package model_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// spread copies a bound policy with its quote over the whole earth: a circle every few
// degrees, away from the first one.
const spread = `with copies as (
		select gen_random_uuid() as quote, gen_random_uuid() as policy, -60 + 120 * random() as lat, -180 + 280 * random() as lon
		from generate_series(1, %d)
	), quoted as (
		insert into quotes select c.quote, q.partner, q.version, q.created_at, q.updated_at, null, q.metadata, q.status, q.product, q.product_version,
			q.context, q.ignored_context, q.cover, q.terms_hash, q.price, q.basis, q.history, q.premium_amount, q.currency, q.expires_at, c.policy
		from quotes q, copies c where q.id = (select quote_id from policies limit 1) returning 1
	)
	insert into policies select c.policy, p.partner, p.version, p.created_at, p.updated_at, null, p.metadata, p.status, c.quote, p.product, p.product_version,
		p.policyholder, jsonb_set(p.cover::jsonb, '{place}', jsonb_build_object('kind', 'circle', 'latitude', c.lat, 'longitude', c.lon, 'radius_km', 50))::json,
		p.terms_hash, p.currency, p.premium_amount, p.limit_amount, p.limit_remaining, p.effective_at, p.payable_from, p.expires_at, p.reportable_until,
		p.cancelled_at, p.kind, box(point(c.lon + 0.9, c.lat + 0.5), point(c.lon - 0.9, c.lat - 0.5)), null
	from policies p, copies c where p.quote_id is not null`

// BenchmarkEvaluateQuake matches one earthquake against 1,000 and 100,000 policies all
// over the earth; the magnitude is too low to pay. The cost depends on the candidates:
// the larger number costs about the same.
func BenchmarkEvaluateQuake(b *testing.B) {
	for _, policies := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("policies=%d", policies), func(b *testing.B) {
			m := modeltest.New(b, modeltest.WithoutChecks())
			m.QuoteAndBind("quake-circle", nil)
			_, err := m.DB.Pool.Exec(b.Context(), fmt.Sprintf(spread, policies))
			require.NoError(b, err)
			_, err = m.DB.Pool.Exec(b.Context(), "analyze policies")
			require.NoError(b, err)
			at := m.Now()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				m.Observe(modeltest.Quake(fmt.Sprintf("bench-%d", i), at.Add(time.Duration(i)*time.Microsecond), hazard.Point{Latitude: 24.1737, Longitude: 121.653}, "5.9"))
				job := m.LastJob().(store.EvaluateOccurrences)
				b.StartTimer()
				require.NoError(b, m.Service.Evaluate(b.Context(), job))
			}
		})
	}
}
