package product_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/quoting/product"
)

// readCached reads a context with a cache and prices it.
func readCached(t *testing.T, cache *product.PriceCache, p *product.Product, partner, context string, at time.Time, h *hazard.History, commission *decimal.Decimal) (*product.Request, product.QuoteResult) {
	t.Helper()
	r, err := cache.Read(p, partner, []byte(context), at, h)
	require.NoError(t, err)
	priced, err := r.Price(commission, cache)
	require.NoError(t, err)
	return r, priced
}

// isShared reports whether two results have the context of one reading.
func isShared(a, b product.QuoteResult) bool { return &a.Context[0] == &b.Context[0] }

func TestEqualRequestIsReadOnce(t *testing.T) {
	t.Parallel()
	cache, p := new(product.PriceCache), shippedProduct(t, "quake-circle")
	const context = `{"partner":"acme"}`
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	_, first := readCached(t, cache, p, "acme", context, at, hazard.Shipped(), nil)
	for name, other := range map[string]struct {
		at     time.Time
		shared bool
	}{
		"later the same day":           {at.Add(11*time.Hour + 59*time.Minute), true},
		"the same day of another zone": {at.In(time.FixedZone("", 13*3600)), true},
		"before the day":               {at.Add(-12*time.Hour - 1), false},
		"the next day":                 {at.Add(12 * time.Hour), false},
	} {
		_, again := readCached(t, cache, p, "acme", context, other.at, hazard.Shipped(), nil)
		require.Equal(t, other.shared, isShared(first, again), name)
		fresh, err := p.Price([]byte(context), other.at, hazard.Shipped())
		require.NoError(t, err)
		require.Equal(t, fresh, again, name)
	}
}

func TestRequestsThatDifferAreReadAgain(t *testing.T) {
	t.Parallel()
	p := shippedProduct(t, "quake-circle")
	another, err := product.Parse(p.Source())
	require.NoError(t, err)
	edition := hazard.Shipped().WithoutStations(nil)
	const context = `{"partner":"acme"}`
	for name, of := range map[string]struct {
		p                *product.Product
		partner, context string
		h                *hazard.History
	}{
		"version of the product": {another, "acme", context, hazard.Shipped()},
		"partner":                {p, "globex", context, hazard.Shipped()},
		"context":                {p, "acme", context + " ", hazard.Shipped()},
		"history":                {p, "acme", context, edition},
	} {
		cache := new(product.PriceCache)
		_, first := readCached(t, cache, p, "acme", context, asOf, hazard.Shipped(), nil)
		_, other := readCached(t, cache, of.p, of.partner, of.context, asOf, of.h, nil)
		require.False(t, isShared(first, other), name)
		_, again := readCached(t, cache, of.p, of.partner, of.context, asOf, of.h, nil)
		require.True(t, isShared(other, again), name)
	}
}

func TestCommissionOfACachedRequestCounts(t *testing.T) {
	t.Parallel()
	cache, p := new(product.PriceCache), shippedProduct(t, "quake-circle")
	commission := decimal.RequireFromString("0.05")
	_, first := readCached(t, cache, p, "acme", `{"partner":"acme"}`, asOf, hazard.Shipped(), nil)
	_, other := readCached(t, cache, p, "acme", `{"partner":"acme"}`, asOf, hazard.Shipped(), &commission)
	require.True(t, isShared(first, other))
	require.NotEqual(t, first.Price, other.Price)
	require.NotSame(t, first.Derived, other.Derived)
	_, again := readCached(t, cache, p, "acme", `{"partner":"acme"}`, asOf, hazard.Shipped(), &commission)
	require.Same(t, other.Derived, again.Derived)
}

func TestRequestsThatMayBePersonalOrEndAreNotKept(t *testing.T) {
	t.Parallel()
	p := shippedProduct(t, "quake-circle")
	for name, members := range map[string]string{
		"policyholder":   `,"policyholder":{"name":"Lin Mei"}`,
		"unknown member": `,"insured":"Lin Mei"`,
		"start":          fmt.Sprintf(`,"starts_at":%q`, asOf.AddDate(0, 0, 3).Format(time.RFC3339)),
		"large":          fmt.Sprintf(`%2048s`, ""),
	} {
		cache, context := new(product.PriceCache), `{"partner":"acme"`+members+`}`
		_, first := readCached(t, cache, p, "acme", context, asOf, hazard.Shipped(), nil)
		_, again := readCached(t, cache, p, "acme", context, asOf, hazard.Shipped(), nil)
		require.False(t, isShared(first, again), name)
		require.Equal(t, first, again, name)
	}
}

// A refusal is not kept, and what it suggests depends on the instant of the request.
func TestRefusalsOfCachedRequestsAreFresh(t *testing.T) {
	t.Parallel()
	cache, p := new(product.PriceCache), shippedProduct(t, "quake-circle")
	for range 2 {
		_, err := cache.Read(p, "acme", []byte(`{"partner":"acme","radius_km":-1}`), asOf, hazard.Shipped())
		_, want := p.Read([]byte(`{"partner":"acme","radius_km":-1}`), asOf, hazard.Shipped())
		require.Error(t, want)
		require.Equal(t, want, err)
	}
	commission := decimal.RequireFromString("0.8")
	for _, at := range []time.Time{asOf, asOf.Add(time.Minute)} {
		r, err := cache.Read(p, "acme", []byte(`{"partner":"acme"}`), at, hazard.Shipped())
		require.NoError(t, err)
		_, err = r.Price(&commission, cache)
		require.Error(t, err)
		fresh, freshErr := p.Read([]byte(`{"partner":"acme"}`), at, hazard.Shipped())
		require.NoError(t, freshErr)
		_, want := fresh.Price(&commission, nil)
		require.Equal(t, want, err)
	}
}

func TestRequestsAreReadConcurrently(t *testing.T) {
	t.Parallel()
	cache, p := new(product.PriceCache), shippedProduct(t, "quake-circle")
	_, known := readCached(t, cache, p, "acme", `{"partner":"acme"}`, asOf, hazard.Shipped(), nil)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			r, err := cache.Read(p, "acme", fmt.Appendf(nil, `{"partner":"acme"%*s}`, i%4, ""), asOf.Add(time.Duration(i)), hazard.Shipped())
			if err != nil {
				t.Error(err)
				return
			}
			priced, err := r.Price(nil, cache)
			if err != nil {
				t.Error(err)
				return
			}
			priced.Derived.Store(priced.TermsHash)
			if priced.Derived != known.Derived || priced.TermsHash != known.TermsHash {
				t.Error("another price")
			}
		})
	}
	all.Wait()
	require.Equal(t, known.TermsHash, known.Derived.Load())
}

// TestCachedRequestIsReadAgainWhenItsTermEndsTooEarly moves the end of a waiting period of
// twelve hours into the next month, so that the term holds no whole month any more.
func TestCachedRequestIsReadAgainWhenItsTermEndsTooEarly(t *testing.T) {
	t.Parallel()
	p, err := product.Parse(editDocument(t, "rain-deficit", "waiting_period: P7D", "waiting_period: PT12H"))
	require.NoError(t, err)
	cache, context := new(product.PriceCache), []byte(`{"partner":"acme","term":"P31D","station":"Milwaukee","attach":"5","exhaust":"0"}`)
	morning := time.Date(2026, 5, 31, 11, 0, 0, 0, time.UTC)
	_, err = cache.Read(p, "acme", context, morning, hazard.Shipped())
	require.NoError(t, err)
	_, err = cache.Read(p, "acme", context, morning.Add(2*time.Hour), hazard.Shipped())
	require.ErrorContains(t, err, "term")
	_, err = cache.Read(p, "acme", context, morning, hazard.Shipped())
	require.NoError(t, err)
}
