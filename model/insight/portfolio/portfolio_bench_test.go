package portfolio_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
	"parapet/model/hazard"
	"parapet/model/insight/portfolio"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// crowd moves a tenth of the policies to Hualien, gives each policy one of three
// currencies, and every hundredth one a paid claim.
var crowd = []string{
	`update policies set currency = (array['USD', 'EUR', 'JPY'])[1 + abs(hashtext(id::text)) % 3]`,
	`update policies set
		cover = jsonb_set(cover::jsonb, '{place}', jsonb_build_object('kind', 'circle', 'latitude', 23.9 + 0.2 * lat, 'longitude', 121.5 + 0.2 * lat, 'radius_km', 50))::json,
		footprint = box(point(121.5 + 0.2 * lat + 0.5, 23.9 + 0.2 * lat + 0.45), point(121.5 + 0.2 * lat - 0.5, 23.9 + 0.2 * lat - 0.45))
		from (select id as moved, random() as lat from policies where abs(hashtext(id::text)) % 10 = 0) as m where m.moved = id`,
	`with paid as (select id, partner, currency, product, effective_at, limit_amount / 5 as amount, gen_random_uuid() as claim from policies where abs(hashtext(id::text)) % 100 = 1),
		claimed as (insert into claims (id, partner, created_at, updated_at, policy_id, product, status, origin, currency, amount, opened_at, decided_at)
			select claim, partner, effective_at, effective_at, id, product, 'approved', 'approval', currency, amount, effective_at, effective_at from paid returning 1)
		insert into payouts (id, partner, created_at, updated_at, claim_id, policy_id, status, amount, currency, released_at, debt_digest)
			select gen_random_uuid(), partner, effective_at, effective_at, claim, id, 'released', amount, currency, effective_at, left(md5(claim::text), 16) from paid`,
	`vacuum analyze policies`, `analyze claims`, `analyze payouts`,
}

// crowded returns a book with the given number of policies.
func crowded(b *testing.B, policies int) *modeltest.Bundle {
	b.Helper()
	m := modeltest.New(b, modeltest.WithoutChecks())
	m.QuoteAndBind("quake-circle", nil)
	for _, text := range append([]string{fmt.Sprintf(modeltest.ScatterPolicies, policies)}, crowd...) {
		_, err := m.DB.Pool.Exec(b.Context(), text)
		require.NoError(b, err)
	}
	return m
}

// against reports how long our code takes, and its ratio to the bare code: the median of
// rounds in which the two take turns, so that it is stable on a busy machine.
func against(b *testing.B, ours, bare func()) {
	b.Helper()
	timed := func(do func()) float64 {
		begun := time.Now()
		do()
		return time.Since(begun).Seconds()
	}
	var times, ratios []float64
	for b.Loop() {
		us, them := timed(ours), timed(bare)
		times, ratios = append(times, us*1000), append(ratios, us/them)
	}
	b.ReportMetric(meter.Median(times), "ms-median")
	b.ReportMetric(meter.Median(ratios), "x-bare")
}

// BenchmarkPortfolio sums 100,000 policies. The bare code is one pass over the policies
// that sums the remaining limits by currency, in plain SQL.
func BenchmarkPortfolio(b *testing.B) {
	m := crowded(b, 100_000)
	bare := func() {
		_, err := m.DB.Pool.Exec(b.Context(), "select currency, count(*), sum(limit_remaining) from policies where status = 'active' group by 1")
		require.NoError(b, err)
	}
	for name, by := range map[string][]portfolio.Dimension{
		"Total": nil, "Product": {portfolio.ByProduct, portfolio.ByPartner}, "Cell": {portfolio.ByCell},
	} {
		b.Run(name, func(b *testing.B) {
			against(b, func() {
				p, err := m.Service.Portfolio.Open(b.Context(), m.Operator, portfolio.Filter{})
				require.NoError(b, err)
				lines, _, err := p.Book(b.Context(), by, portfolio.MaxBookLines)
				require.NoError(b, err)
				require.NotEmpty(b, lines)
			}, bare)
		})
	}
	b.Run("Series", func(b *testing.B) {
		against(b, func() {
			p, err := m.Service.Portfolio.Open(b.Context(), m.Operator, portfolio.Filter{})
			require.NoError(b, err)
			series, err := p.Series(b.Context(), portfolio.Daily)
			require.NoError(b, err)
			require.NotEmpty(b, series)
		}, bare)
	})
}

// BenchmarkExposure computes the cost of an earthquake under 10,000 of 100,000 policies,
// and of one that touches none. The bare code reads only the covers that the earthquake
// touches.
func BenchmarkExposure(b *testing.B) {
	m := crowded(b, 100_000)
	bare := func() {
		rows, err := m.DB.Pool.Query(b.Context(), "select id, cover from policies where footprint && box(point(121.653, 24.174), point(121.653, 24.174))")
		require.NoError(b, err)
		for rows.Next() {
			_ = rows.RawValues()
		}
		require.NoError(b, rows.Err())
	}
	far := modeltest.Epicentre
	far.Latitude = 75
	for name, quake := range map[string]scenario.WhatIfEarthquake{
		"Touched=10000": {Location: modeltest.Epicentre, Magnitude: "7.0"}, "Touched=0": {Location: far, Magnitude: "7.0"},
	} {
		b.Run(name, func(b *testing.B) {
			against(b, func() {
				_, _, err := m.Service.Scenarios.Expose(b.Context(), m.Operator, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Earthquake: &quake}}, store.PageRequest{})
				require.NoError(b, err)
			}, bare)
		})
	}
}

// BenchmarkMap draws 100,000 covers of the whole world as cells, those of a country, and
// those of a town one by one. The bare code reads the index of the map.
func BenchmarkMap(b *testing.B) {
	m := crowded(b, 100_000)
	bare := func() {
		_, err := m.DB.Pool.Exec(b.Context(), "select floor((@@ footprint)[1]), count(*), sum(limit_amount) from policies where status = 'active' and footprint is not null group by 1")
		require.NoError(b, err)
	}
	for name, box := range map[string]hazard.Box{
		"World": {West: -180, South: -90, East: 180, North: 90}, "Country": {West: 119, South: 21, East: 123, North: 26}, "Town": {West: 121.5, South: 23.9, East: 121.52, North: 23.92},
	} {
		b.Run(name, func(b *testing.B) {
			against(b, func() {
				drawn, err := m.Service.Portfolio.Map(b.Context(), m.Operator, portfolio.MapRequest{Box: box, Zoom: 8})
				require.NoError(b, err)
				require.NotZero(b, drawn.Policies)
			}, bare)
		})
	}
}
