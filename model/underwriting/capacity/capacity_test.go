package capacity_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

func TestBindStopsAtCellCapacity(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	limit := b.QuoteAndBind("quake-circle", nil).Limit
	set := func(amount int64, cell *string) {
		_, err := b.Service.Capacity.Set(t.Context(), b.Operator, capacity.Request{Product: "quake-circle", Cell: cell, Currency: "USD", Amount: &amount})
		require.NoError(t, err)
	}
	set(4*limit.Amount, nil)
	var sold, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		quote := b.Quote("quake-circle", nil)
		all.Go(func() {
			switch _, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID}); {
			case err == nil:
				sold.Add(1)
			case apperr.CodeOf(err) == apperr.CodeCapacityExceeded:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 3, sold.Load(), "one was sold before")
	require.EqualValues(t, 5, refused.Load())

	b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.5, "longitude": 139.5}}) // another cell
	cell := "N23E121"
	set(5*limit.Amount, &cell)
	b.QuoteAndBind("quake-circle", nil)
	first := modeltest.Must(b.Service.Capacity.List(t.Context(), b.Operator, "quake-circle", store.PageRequest{Limit: 1}))
	require.Len(t, first.Data, 1)
	require.Nil(t, first.Data[0].AtRisk, "the capacity names no cell")
	second := modeltest.Must(b.Service.Capacity.List(t.Context(), b.Operator, "quake-circle", store.PageRequest{Limit: 1, Cursor: *first.NextCursor}))
	require.Len(t, second.Data, 1)
	require.False(t, second.HasMore)
	require.Equal(t, cell, *second.Data[0].Cell)
	require.Equal(t, money.New(5*limit.Amount, "USD"), *second.Data[0].AtRisk)
	require.Empty(t, modeltest.Must(b.Service.Capacity.List(t.Context(), b.Operator, "rain-excess", store.PageRequest{})).Data)

	taken, err := b.Service.Capacity.Set(t.Context(), b.Operator, capacity.Request{Product: "quake-circle", Cell: &cell, Currency: "USD"})
	require.NoError(t, err)
	require.Nil(t, taken)
	_, err = b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: b.Quote("quake-circle", nil).ID})
	require.Equal(t, apperr.CodeCapacityExceeded, apperr.CodeOf(err), "by the capacity of all cells")
	_, err = b.Service.Capacity.Set(t.Context(), b.Acme, capacity.Request{Product: "quake-circle", Currency: "USD"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestMoratoriumRefusesQuoteAndBind(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	near := trigger.Place{Kind: trigger.Circle, Latitude: modeltest.Epicentre.Latitude, Longitude: modeltest.Epicentre.Longitude, RadiusKM: 10}
	quake := trigger.Earthquake
	moratorium, err := b.Service.Capacity.DeclareMoratorium(t.Context(), b.Operator, capacity.MoratoriumRequest{
		Kind: &quake, Place: &near, EndsAt: b.Now().Add(time.Hour), Reason: "An eruption is expected.",
	})
	require.NoError(t, err)
	bind := func() error {
		_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: b.Quote("quake-circle", nil).ID})
		return err
	}
	refused := modeltest.DomainError(t, bind())
	require.Equal(t, apperr.CodeMoratoriumActive, refused.Code)
	require.Contains(t, refused.Detail, "An eruption is expected.")
	b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.5, "longitude": 139.5}})
	b.QuoteAndBind("cyclone-circle", nil)
	lifted, err := b.Service.Capacity.LiftMoratorium(t.Context(), b.Operator, moratorium.ID)
	require.NoError(t, err)
	require.NotNil(t, lifted.LiftedAt)
	require.NoError(t, bind())
	require.Len(t, modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, true, store.PageRequest{})).Data, 1)
	require.Empty(t, modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, false, store.PageRequest{})).Data)
}

// TestBindSeesACapacitySetWhileItWaitedForItsQuote sets a capacity while a bind waits for a
// transaction that holds the quote.
func TestBindSeesACapacitySetWhileItWaitedForItsQuote(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bindAfter := func(change func()) error {
		quote := b.Quote("quake-circle", nil)
		holder := b.BlockRows("quotes")
		bound := make(chan error, 1)
		go func() {
			_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
			bound <- err
		}()
		holder.AwaitWaiter()
		change()
		holder.Release()
		return <-bound
	}
	require.NoError(t, bindAfter(func() {}))
	err := bindAfter(func() {
		modeltest.Must(b.Service.Capacity.Set(t.Context(), b.Operator, capacity.Request{Product: "quake-circle", Currency: "USD", Amount: new(int64(1))}))
	})
	require.Equal(t, apperr.CodeCapacityExceeded, apperr.CodeOf(err))
	require.Equal(t, 1, b.CountRows()["policies"])
}

func TestMoratoriumClosesBoxesThatItTouches(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	declare := func(kilometres float64) string {
		place := trigger.Place{Kind: trigger.Circle, Latitude: 19.6, Longitude: -77, RadiusKM: kilometres}
		request := capacity.MoratoriumRequest{Place: &place, EndsAt: b.Now().Add(time.Hour), Reason: "A storm is near."}
		return modeltest.Must(b.Service.Capacity.DeclareMoratorium(t.Context(), b.Operator, request)).ID
	}
	jamaica := modeltest.Context{"box": map[string]float64{"west": -78.4, "south": 17.7, "east": -76.1, "north": 18.6}}
	declare(111) // its edge is 200 m north of the box
	require.Nil(t, b.Quote("cyclone-pressure", jamaica).Moratorium)
	b.QuoteAndBind("cyclone-pressure", jamaica)
	declare(112)
	quote := b.Quote("cyclone-pressure", jamaica)
	require.Equal(t, "A storm is near.", quote.Moratorium.Reason)
	_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
	require.Equal(t, apperr.CodeMoratoriumActive, apperr.CodeOf(err))
}

func TestMoratoriumRuleNamesThePerilsThatHaveOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, peril := range []hazard.Peril{trigger.Rainfall, trigger.Temperature, "hail"} {
		_, err := b.Service.Capacity.SetMoratoriumRule(t.Context(), b.Operator, capacity.MoratoriumRuleRequest{Kind: peril})
		refused := modeltest.DomainError(t, err)
		require.Equal(t, "/kind", refused.Fields[0].Pointer)
		require.Equal(t, "Use earthquake or windstorm. Observations of rainfall and temperature stop no sales: declare a moratorium instead.", refused.Fields[0].Detail)
	}
}

func TestFutureMoratoriumIsNotDisclosed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	request := capacity.MoratoriumRequest{StartsAt: new(b.Now().Add(time.Hour)), EndsAt: b.Now().Add(2 * time.Hour), Reason: "The rates are under review."}
	declared := modeltest.Must(b.Service.Capacity.DeclareMoratorium(t.Context(), b.Operator, request))
	seenBy := func(actor actor.Actor) []wire.Moratorium {
		return modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), actor, false, store.PageRequest{})).Data
	}
	require.Equal(t, []wire.Moratorium{*declared}, seenBy(b.Operator))
	require.Empty(t, seenBy(b.Acme))
	_, err := b.Service.Capacity.GetMoratorium(t.Context(), b.Acme, declared.ID)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	b.AdvanceClock(time.Hour)
	require.Len(t, seenBy(b.Acme), 1)
	require.Nil(t, seenBy(b.Acme)[0].Author, "partners do not see the operator")
	require.Equal(t, declared, modeltest.Must(b.Service.Capacity.GetMoratorium(t.Context(), b.Operator, declared.ID)))
}

func TestNewEventStartsMoratoriumAroundIt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	set := func(rule *capacity.MoratoriumRule) (*wire.MoratoriumRule, error) {
		return b.Service.Capacity.SetMoratoriumRule(t.Context(), b.Operator, capacity.MoratoriumRuleRequest{Kind: trigger.Earthquake, Rule: rule})
	}
	rule, err := set(&capacity.MoratoriumRule{Minimum: decimal.RequireFromString("6"), RadiusKM: 100, Lasts: "P3D"})
	require.NoError(t, err)
	require.Equal(t, "PT72H", rule.Lasts)
	require.Equal(t, []wire.MoratoriumRule{*rule}, modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator)))
	quote := b.Quote("quake-circle", nil)
	b.Observe(modeltest.Quake("small", b.Now(), modeltest.Epicentre, "5.9"))
	b.Observe(modeltest.Quake("old", b.Now().Add(-73*time.Hour), modeltest.Epicentre, "7"))
	b.QuoteAndBind("quake-circle", nil)
	fresh := modeltest.Quake("fresh", b.Now(), hazard.Point{Latitude: 35.5, Longitude: 139.5}, "6")
	b.Observe(fresh)
	b.QuoteAndBind("quake-circle", nil)
	fresh.Location.Latitude, fresh.Location.Longitude = modeltest.Epicentre.Latitude, modeltest.Epicentre.Longitude
	b.Observe(fresh) // the revised place is inside the insured circle
	_, err = b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
	require.Equal(t, apperr.CodeMoratoriumActive, apperr.CodeOf(err))
	b.AdvanceClock(72 * time.Hour)
	b.QuoteAndBind("quake-circle", nil)

	rule, err = set(nil)
	require.NoError(t, err)
	require.Nil(t, rule)
	require.Empty(t, modeltest.Must(b.Service.Capacity.ListMoratoriumRules(t.Context(), b.Operator)))
	for _, wrong := range []string{"", "P31D", "PT0S", "-P1D", "3 days"} {
		_, err = set(&capacity.MoratoriumRule{RadiusKM: 100, Lasts: wrong})
		require.Equal(t, "/rule/lasts", modeltest.DomainError(t, err).Fields[0].Pointer, wrong)
	}
}
