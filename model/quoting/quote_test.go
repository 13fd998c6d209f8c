package quoting_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestEveryProductHasAPriceByDefault(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, product := range []string{"quake-circle", "cyclone-circle", "rain-excess", "rain-deficit", "heat-days", "cyclone-pressure"} {
		quote := b.Quote(product, nil)
		require.Equal(t, "priced", quote.Status)
		require.Equal(t, product, quote.Product)
		require.Positive(t, quote.Price.Premium.Amount)
		require.Equal(t, quote.CreatedAt.Add(24*time.Hour), quote.ExpiresAt)
		require.Empty(t, quote.IgnoredContext)
		require.Nil(t, quote.PolicyID)
	}
	require.Equal(t, slices.Repeat([]string{"quote.created"}, 6), b.Events())
}

func TestAQuoteIsReadAsItWasAnswered(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ask := b.QuoteRequest("quake-circle", modeltest.Context{"colour": "blue", "note": map[string]any{"deep": []int{1}}})
	ask.PartnerReference, ask.Metadata = new("order-1"), map[string]string{"broker": "Ålesund & søn"}
	quote, err := b.Service.Quotes.Create(t.Context(), b.Acme, ask)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"colour", "note"}, quote.IgnoredContext)
	require.Contains(t, string(quote.Context), `"colour"`)
	read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
	require.NoError(t, err)
	answered, err := wire.Encode(quote)
	require.NoError(t, err)
	again, err := wire.Encode(read)
	require.NoError(t, err)
	require.Equal(t, string(answered), string(again))
}

func TestAQuoteIsRefused(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	many := make(map[string]string)
	for i := range 51 {
		many[fmt.Sprint(i)] = "x"
	}
	for name, tc := range map[string]struct {
		product   string
		context   modeltest.Context
		reference *string
		metadata  map[string]string
		code      apperr.Code
		pointers  []string
	}{
		"unknown product": {product: "flood", code: apperr.CodeProductUnknown, pointers: []string{"/product"}},
		"another partner": {context: modeltest.Context{"partner": "globex"}, code: apperr.CodePartnerMismatch, pointers: []string{"/context/partner"}},
		"no partner":      {context: modeltest.Context{"partner": nil}, code: apperr.CodeValidationFailed, pointers: []string{"/context/partner"}},
		"everything wrong at once": {
			context: modeltest.Context{"radius_km": "wide", "location": map[string]any{"latitude": 91}, "term": "long", "limit": map[string]any{"amount": 0.5, "currency": "XXX"}},
			code:    apperr.CodeValidationFailed,
			pointers: []string{
				"/context/radius_km", "/context/location/latitude", "/context/location/longitude", "/context/term",
				"/context/limit/amount", "/context/limit/currency",
			},
		},
		"magnitudes without history": {
			context: modeltest.Context{"steps": []map[string]string{{"threshold": "4.0", "factor": "0.5"}}},
			code:    apperr.CodeValidationFailed, pointers: []string{"/context/steps/0/threshold"},
		},
		"cover in the past": {context: modeltest.Context{"starts_at": "2020-01-01T00:00:00Z"}, code: apperr.CodeValidationFailed, pointers: []string{"/context/starts_at"}},
		"long reference":    {reference: new(strings.Repeat("x", 129)), code: apperr.CodeValidationFailed, pointers: []string{"/partner_reference"}},
		"much metadata":     {metadata: many, code: apperr.CodeValidationFailed, pointers: []string{"/metadata"}},
		"long metadata": {
			metadata: map[string]string{strings.Repeat("k", 41): "", "a/b": strings.Repeat("é", 501)},
			code:     apperr.CodeValidationFailed, pointers: []string{"/metadata/a~1b", "/metadata/" + strings.Repeat("k", 41)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			product := tc.product
			if product == "" {
				product = "quake-circle"
			}
			ask := b.QuoteRequest(product, tc.context)
			ask.PartnerReference, ask.Metadata = tc.reference, tc.metadata
			_, err := b.Service.Quotes.Create(t.Context(), b.Acme, ask)
			refused := modeltest.DomainError(t, err)
			require.Equal(t, tc.code, refused.Code)
			require.ElementsMatch(t, tc.pointers, modeltest.FieldPointers(refused))
		})
	}
}

func TestPartnerReferenceIsUniquePerPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ask := func(actor actor.Actor) error {
		in := b.ActingAs(actor).QuoteRequest("quake-circle", nil)
		in.PartnerReference = new("order-1")
		_, err := b.Service.Quotes.Create(t.Context(), actor, in)
		return err
	}
	require.NoError(t, ask(b.Acme))
	require.NoError(t, ask(b.Globex))
	taken := modeltest.DomainError(t, ask(b.Acme))
	require.Equal(t, apperr.CodeReferenceTaken, taken.Code)
	require.Equal(t, []string{"/partner_reference"}, modeltest.FieldPointers(taken))
}

func TestAForeignQuoteIsNotFound(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	get := func(actor actor.Actor, id string) error {
		_, err := b.Service.Quotes.Get(t.Context(), actor, id)
		return err
	}
	require.NoError(t, get(b.Operator, quote.ID))
	unknown := modeltest.DomainError(t, get(b.Globex, "quo_01kajw6p5qfn1t7zbjy0yse3hv"))
	require.Equal(t, apperr.CodeNotFound, unknown.Code)
	for _, id := range []string{quote.ID, "", "quo", "../quotes", strings.Replace(quote.ID, "quo_", "xyz_", 1), strings.ToUpper(quote.ID), quote.ID + "0"} {
		require.Equal(t, unknown, modeltest.DomainError(t, get(b.Globex, id)), id)
	}
	other := modeltest.DomainError(t, get(b.Acme, strings.Replace(quote.ID, "quo_", "pol_", 1)))
	require.Equal(t, apperr.CodeNotFound, other.Code)
	require.Contains(t, other.Detail, "begin with quo_, not pol_", "whoever asks, whatever there is")
	_, err := b.Service.Quotes.Create(t.Context(), b.Operator, b.QuoteRequest("quake-circle", nil))
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	unregistered := modeltest.Partner("unknown")
	_, err = b.Service.Quotes.Create(t.Context(), unregistered, b.ActingAs(unregistered).QuoteRequest("quake-circle", nil))
	require.Equal(t, apperr.CodePartnerDisabled, modeltest.DomainError(t, err).Code)
}

func TestAQuoteExpiresAfterADay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote, bound := b.Quote("quake-circle", nil), b.Quote("quake-circle", nil)
	b.Bind(bound)
	b.AdvanceClock(24*time.Hour - time.Minute)
	b.Sweep()
	require.NotContains(t, b.Events(), "quote.expired")
	b.AdvanceClock(time.Minute)
	b.Sweep()
	b.Sweep()
	read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
	require.NoError(t, err)
	require.Equal(t, "expired", read.Status)
	require.Equal(t, []string{"quote.created", "quote.created", "quote.bound", "policy.activated", "quote.expired"}, b.Events())
}
