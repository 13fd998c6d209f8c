package portfolio_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/insight/portfolio"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

var aroundHualien = hazard.Box{West: 121, South: 23, East: 122, North: 24.5}

// movePolicy moves the footprint of a policy to a middle.
func movePolicy(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, longitude, latitude float64) {
	t.Helper()
	modeltest.ExecSQL(t, b, "update policies set footprint = box(point($2::float8 + 0.5, $3::float8 + 0.5), point($2::float8 - 0.5, $3::float8 - 0.5)) where id = $1", modeltest.DatabaseID(policy), longitude, latitude)
}

func TestMapListsFewCovers(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	own := b.QuoteAndBind("quake-circle", nil)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil) // at a station
	count := func(in portfolio.MapRequest, as ...string) int {
		caller := b.Operator
		if len(as) > 0 {
			caller = modeltest.Partner(as[0])
		}
		drawn, err := b.Service.Portfolio.Map(t.Context(), caller, in)
		require.NoError(t, err)
		require.Empty(t, drawn.Cells)
		require.Len(t, drawn.Covers, int(drawn.Policies))
		return len(drawn.Covers)
	}
	require.Equal(t, 2, count(portfolio.MapRequest{Box: aroundHualien}))
	require.Equal(t, 2, count(portfolio.MapRequest{Box: hazard.Box{West: -180, South: -90, East: 180, North: 90}, Zoom: 12}), "the whole world")
	require.Equal(t, 1, count(portfolio.MapRequest{Box: aroundHualien}, "acme"))
	require.Equal(t, 1, count(portfolio.MapRequest{Box: aroundHualien, Partner: "globex"}))
	require.Zero(t, count(portfolio.MapRequest{Box: aroundHualien, Product: "cyclone-circle"}))
	require.Zero(t, count(portfolio.MapRequest{Box: aroundHualien, Currency: "EUR"}))
	require.Zero(t, count(portfolio.MapRequest{Box: hazard.Box{West: 121, South: 23, East: 121.5, North: 24.5}}), "the middle is east of it")
	require.Zero(t, count(portfolio.MapRequest{Box: hazard.Box{West: 121, South: 23, East: 122, North: 23.5}}), "the middle is north of it")

	drawn, err := b.Service.Portfolio.Map(t.Context(), b.Acme, portfolio.MapRequest{Box: aroundHualien})
	require.NoError(t, err)
	require.Equal(t, []wire.MapCover{{PolicyID: own.ID, Partner: "acme", Product: "quake-circle", Peril: "earthquake", Place: own.Cover.Place, Limit: own.Limit}}, drawn.Covers)

	movePolicy(t, b, own, 180.5, 10) // its footprint is not wrapped
	require.Equal(t, 1, count(portfolio.MapRequest{Box: hazard.Box{West: 179, South: 9, East: -179, North: 11}}, "acme"))
	require.Equal(t, 1, count(portfolio.MapRequest{Box: hazard.Box{West: -180, South: 9, East: -179, North: 11}}, "acme"))
	movePolicy(t, b, own, -179.5, 10)
	require.Equal(t, 1, count(portfolio.MapRequest{Box: hazard.Box{West: 179, South: 9, East: -179, North: 11}}, "acme"))
	modeltest.ExecSQL(t, b, "update policies set status = 'cancelled'")
	require.Zero(t, count(portfolio.MapRequest{Box: aroundHualien}))
}

func TestMapRefusesWrongRequests(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, in := range []portfolio.MapRequest{
		{Box: hazard.Box{West: -181, East: 0}},
		{Box: hazard.Box{East: 181}},
		{Box: hazard.Box{South: -91}},
		{Box: hazard.Box{North: 91}},
		{Box: hazard.Box{South: 2, North: 1}},
		{Zoom: -1},
		{Zoom: 13},
	} {
		_, err := b.Service.Portfolio.Map(t.Context(), b.Acme, in)
		require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err), "%+v", in)
	}
	_, err := b.Service.Portfolio.Map(t.Context(), b.Acme, portfolio.MapRequest{Partner: "globex"})
	require.Equal(t, apperr.CodePartnerMismatch, apperr.CodeOf(err))
	_, err = b.Service.Portfolio.Map(t.Context(), b.Source, portfolio.MapRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

// copyPolicies copies a policy n times, without its quote, to a row of places that
// are a hundredth of a degree apart.
func copyPolicies(t *testing.T, b *modeltest.Bundle, n int) {
	t.Helper()
	modeltest.ChangeRows(t, b, fmt.Sprintf(`insert into policies select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'quote_id', gen_random_uuid(),
		'footprint', box(point(100 + i * 0.01 + 0.1, 0.35), point(100 + i * 0.01 - 0.1, 0.15)), 'currency', case when i %% 2 = 0 then 'USD' else 'EUR' end))).* from policies p, generate_series(1, %d) i where p.id = (select min(id::text)::uuid from policies)`, n))
}

func TestMapSumsManyCoversByCell(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy := b.QuoteAndBind("quake-circle", nil)
	copyPolicies(t, b, portfolio.MaxMapCovers)
	box := hazard.Box{West: 99, South: -1, East: 121, North: 1}
	drawn, err := b.Service.Portfolio.Map(t.Context(), b.Acme, portfolio.MapRequest{Box: box, Zoom: 3})
	require.NoError(t, err)
	require.Len(t, drawn.Covers, portfolio.MaxMapCovers)

	copyPolicies(t, b, 1)
	drawn, err = b.Service.Portfolio.Map(t.Context(), b.Acme, portfolio.MapRequest{Box: box, Zoom: 3})
	require.NoError(t, err)
	require.Empty(t, drawn.Covers)
	require.InDelta(t, 45.0/8, drawn.CellDegrees, 1e-9)
	require.Greater(t, drawn.Policies, int64(portfolio.MaxMapCovers))
	var policies, minor int64
	for _, cell := range drawn.Cells {
		policies += cell.Policies
		require.Zero(t, cell.South)
		require.GreaterOrEqual(t, cell.Center.Longitude, cell.West)
		require.Less(t, cell.Center.Longitude, cell.West+drawn.CellDegrees)
		require.InDelta(t, 0.25, cell.Center.Latitude, 1e-9)
		require.Len(t, cell.Limits, 2)
		minor += cell.Limits[0].Amount + cell.Limits[1].Amount
	}
	require.Equal(t, drawn.Policies, policies)
	require.Equal(t, policies*policy.Limit.Amount, minor)

	fine, err := b.Service.Portfolio.Map(t.Context(), b.Acme, portfolio.MapRequest{Box: hazard.Box{West: -180, South: -90, East: 180, North: 90}, Zoom: 12})
	require.NoError(t, err)
	require.LessOrEqual(t, len(fine.Cells), portfolio.MaxMapCells)
	require.InDelta(t, 45.0/4, fine.CellDegrees, 1e-9)

	list, err := b.Service.Policies.List(t.Context(), b.Acme, store.Filter{Box: &box}, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	total, _, err := list.Total(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, drawn.Policies, total)
}
