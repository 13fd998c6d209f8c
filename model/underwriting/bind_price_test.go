package underwriting_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Cover of two whole months without a start is quoted shortly before the day from which the
// same term holds a third one.
func TestQuoteHoldsOnALaterDayOnlyIfItsPriceDoes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	march := time.Date(b.Now().Year()+1, time.March, 1, 0, 0, 0, 0, time.UTC)
	for march.Sub(b.Now()) < 100*modeltest.Day || march.AddDate(0, 0, -1).Day() == 29 {
		march = march.AddDate(1, 0, 0)
	}
	day := march.AddDate(0, 0, -94) // the cover of this day ends with February
	quote := func(term int, starts *time.Time) *wire.Quote {
		in := modeltest.Context{"term": fmt.Sprintf("P%dD", term), "attach": "10"}
		if starts != nil {
			in["starts_at"] = starts.Format(time.RFC3339)
		}
		return b.Quote("rain-deficit", in)
	}
	bind := func(quote *wire.Quote) error {
		_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
		return err
	}
	b.AdvanceClock(day.Add(-30 * time.Minute).Sub(b.Now()))
	cheap, year, dated := quote(94, nil), quote(365, nil), quote(94, new(day.Add(12*time.Hour)))
	require.Less(t, cheap.Price.Premium.Amount, dated.Price.Premium.Amount, "another month is insured")
	sameDay := quote(94, nil)
	b.AdvanceClock(20 * time.Minute)
	require.NoError(t, bind(sameDay))

	b.AdvanceClock(20 * time.Minute)
	refused := modeltest.DomainError(t, bind(cheap))
	require.Equal(t, apperr.CodeQuoteExpired, refused.Code)
	require.Contains(t, refused.Detail, "starts on "+day.AddDate(0, 0, -1).Format(time.DateOnly))
	require.NoError(t, bind(year), "a year costs the same from every day")
	require.NoError(t, bind(dated))

	equal := quote(94, nil)
	require.Equal(t, dated.Price.Premium, equal.Price.Premium)
	b.AdvanceClock(23*time.Hour + 50*time.Minute)
	require.NoError(t, bind(equal), "the months are the same on the next day")
}

// Cover that is not sold from the day of binding has expired.
func TestQuoteExpiresWhenItsCoverIsSoldNoMore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	// The term holds one whole dekad, the second of the month, and from the next day on none.
	b.AdvanceClock(time.Date(b.Now().Year()+1, time.December, 10, 23, 50, 0, 0, time.UTC).Sub(b.Now()))
	quote := b.Quote("rain-deficit", modeltest.Context{"term": "P11D", "calendar": "dekad", "attach": "5", "exhaust": "0"})
	b.AdvanceClock(20 * time.Minute)
	_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
	require.Equal(t, apperr.CodeQuoteExpired, modeltest.DomainError(t, err).Code)
}
