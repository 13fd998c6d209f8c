package quoting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestQuoteOfAnUninsurableRiskIsRefusedWithItsPremium(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	request := b.QuoteRequest("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": -15, "longitude": 167.5}, "radius_km": 200})
	_, err := b.Service.Quotes.Create(t.Context(), b.Acme, request)
	refused := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeRiskUninsurable, refused.Code)
	for _, member := range []string{"premium", "rate_on_line", "maximum_rate_on_line"} {
		require.Contains(t, refused.Extra, member)
	}
}
