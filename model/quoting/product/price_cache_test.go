package product_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/quoting/product"
)

// priceWith prices a context with a cache, which may be nil.
func priceWith(t *testing.T, cache *product.PriceCache, key, context string, at time.Time, h *hazard.History, commission *decimal.Decimal) (product.QuoteResult, error) {
	t.Helper()
	r, err := shippedProduct(t, key).Read([]byte(context), at, h)
	require.NoError(t, err)
	return r.Price(commission, cache)
}

func TestCachedPriceEqualsAFreshOne(t *testing.T) {
	t.Parallel()
	cache := new(product.PriceCache)
	commission := decimal.RequireFromString("0.05")
	fewer := hazard.NewHistory(hazard.Records{
		Quakes: hazard.Shipped().Quakes()[:20_000], Storms: hazard.Shipped().Storms()[:900],
		QuakeData: hazard.Shipped().QuakeData(), StormData: hazard.Shipped().StormData(), PressureData: hazard.Shipped().PressureData(),
	})
	for range 2 {
		for _, key := range []string{"quake-circle", "cyclone-circle"} {
			for _, members := range []string{``, `,"term":"P90D"`, `,"radius_km":30`, `,"limit":{"amount":20000000,"currency":"USD"}`} {
				for _, at := range []time.Time{asOf, asOf.Add(time.Hour), asOf.AddDate(0, 3, 0)} {
					for _, of := range []struct {
						h          *hazard.History
						commission *decimal.Decimal
					}{{hazard.Shipped(), nil}, {hazard.Shipped(), &commission}, {fewer, nil}} {
						context := fmt.Sprintf(`{"partner":"acme"%s}`, members)
						fresh, err := priceWith(t, nil, key, context, at, of.h, of.commission)
						require.NoError(t, err)
						priced, err := priceWith(t, cache, key, context, at, of.h, of.commission)
						require.NoError(t, err)
						require.Equal(t, fresh, priced, "%s %s at %s", key, context, at)
					}
				}
			}
		}
	}
}

func TestPriceIsComputedOnce(t *testing.T) {
	t.Parallel()
	cache := new(product.PriceCache)
	first, err := priceWith(t, cache, "quake-circle", `{"partner":"acme"}`, asOf, hazard.Shipped(), nil)
	require.NoError(t, err)
	again, err := priceWith(t, cache, "quake-circle", `{"partner":"globex"}`, asOf.Add(time.Hour), hazard.Shipped(), nil)
	require.NoError(t, err)
	require.Same(t, &first.History[0], &again.History[0], "the same cover on the same day")
	require.Equal(t, "globex", again.Partner)
}
