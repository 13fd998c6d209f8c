package product_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/quoting/product"
)

// asOf is the time of every quote in these tests.
var asOf = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func TestShippedProductsPassCheck(t *testing.T) {
	t.Parallel()
	for _, p := range product.Shipped() {
		t.Run(p.Key(), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, p.Check(hazard.Shipped()))
			q, err := p.Price([]byte(`{"partner":"acme"}`), asOf, hazard.Shipped())
			require.NoError(t, err)
			require.Empty(t, q.Ignored)
			require.Contains(t, string(p.ContextSchema()), "in whole days, weeks, months or years; a part of a day is refused")
		})
	}
}
