package model_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/trigger"
)

func TestNoMoreIsSoldThanTheCapacityOfACell(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	limit := b.Cover("quake-circle", nil).Limit
	set := func(amount int64, cell *string) {
		_, err := b.Service.SetCapacity(t.Context(), b.Operator, model.CapacityRequest{Product: "quake-circle", Cell: cell, Limit: money.New(amount, "USD")})
		require.NoError(t, err)
	}
	set(4*limit.Amount, nil)
	var sold, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		quote := b.Quote("quake-circle", nil)
		all.Go(func() {
			switch _, err := b.Service.BindPolicy(t.Context(), b.Acme, model.BindRequest{QuoteID: quote.ID}); {
			case err == nil:
				sold.Add(1)
			case model.CodeOf(err) == model.CodeCapacityExceeded:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 3, sold.Load(), "one was sold before")
	require.EqualValues(t, 5, refused.Load())

	b.Cover("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.5, "longitude": 139.5}}) // another cell
	cell := "N23E121"
	set(5*limit.Amount, &cell)
	b.Cover("quake-circle", nil)
	list, err := b.Service.ListCapacities(t.Context(), b.Operator)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, cell, *list[1].Cell)
	require.Equal(t, money.New(5*limit.Amount, "USD"), *list[1].AtRisk)
	_, err = b.Service.SetCapacity(t.Context(), b.Acme, model.CapacityRequest{Product: "quake-circle", Limit: limit})
	require.Equal(t, model.CodeInsufficientScope, model.CodeOf(err))
}

func TestNothingIsSoldWhileAMoratoriumHolds(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	near := trigger.Place{Kind: trigger.Circle, Latitude: epicentre.Latitude, Longitude: epicentre.Longitude, RadiusKM: 10}
	quake := hazard.Earthquake
	moratorium, err := b.Service.DeclareMoratorium(t.Context(), b.Operator, model.MoratoriumRequest{
		Kind: &quake, Place: &near, EndsAt: b.Now().Add(time.Hour), Reason: "An eruption is expected.",
	})
	require.NoError(t, err)
	bind := func() error {
		_, err := b.Service.BindPolicy(t.Context(), b.Acme, model.BindRequest{QuoteID: b.Quote("quake-circle", nil).ID})
		return err
	}
	refused := failure(t, bind())
	require.Equal(t, model.CodeMoratoriumActive, refused.Code)
	require.Contains(t, refused.Detail, "An eruption is expected.")
	b.Cover("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.5, "longitude": 139.5}})
	b.Cover("cyclone-circle", nil)
	lifted, err := b.Service.LiftMoratorium(t.Context(), b.Operator, moratorium.ID)
	require.NoError(t, err)
	require.NotNil(t, lifted.LiftedAt)
	require.NoError(t, bind())
	require.Len(t, must(b.Service.ListMoratoria(t.Context(), b.Operator, true)), 1)
	require.Empty(t, must(b.Service.ListMoratoria(t.Context(), b.Operator, false)))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestAFreshEventStopsSalesAroundIt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.Service.SetMoratoriumRule(t.Context(), b.Operator, model.MoratoriumRule{
		Kind: hazard.Earthquake, Minimum: decimal.RequireFromString("6"), RadiusKM: 100, Lasts: 72 * time.Hour,
	})
	require.NoError(t, err)
	quote := b.Quote("quake-circle", nil)
	b.Observe(modeltest.Quake("small", b.Now(), epicentre, "5.9"))
	b.Observe(modeltest.Quake("old", b.Now().Add(-73*time.Hour), epicentre, "7"))
	b.Cover("quake-circle", nil)
	b.Observe(modeltest.Quake("fresh", b.Now(), epicentre, "6"))
	_, err = b.Service.BindPolicy(t.Context(), b.Acme, model.BindRequest{QuoteID: quote.ID})
	require.Equal(t, model.CodeMoratoriumActive, model.CodeOf(err))
	b.After(72 * time.Hour)
	b.Cover("quake-circle", nil)
}
