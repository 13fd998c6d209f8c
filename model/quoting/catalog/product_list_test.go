package catalog_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// publishVersion publishes the shipped document of a product under another version.
func publishVersion(t *testing.T, b *modeltest.Bundle, key string, version int) *wire.Product {
	t.Helper()
	document := bytes.Replace(shippedDocument(t, key), fmt.Appendf(nil, "\nversion: %d\n", shippedVersion(t, key)), fmt.Appendf(nil, "\nversion: %d\n", version), 1)
	record, created, err := b.Service.Products.Publish(t.Context(), b.Operator, document)
	require.NoError(t, err)
	require.True(t, created)
	return record
}

func shippedVersion(t *testing.T, key string) int {
	t.Helper()
	parsed, err := product.Parse(shippedDocument(t, key))
	require.NoError(t, err)
	return parsed.Version()
}

// shippedKeys returns the keys of the shipped products in the order of a list.
func shippedKeys() (keys []string) {
	for _, p := range product.Shipped() {
		keys = append(keys, p.Key())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func TestListShowsTheNewestVersionOfEachProductOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newest := publishVersion(t, b, "quake-circle", 12) // sorts after 2 and 9 as a number only
	publishVersion(t, b, "quake-circle", 9)
	var keys []string
	var cursor string
	for more := true; more; {
		page, err := b.Service.Products.List(t.Context(), b.Acme, store.PageRequest{Limit: 1, Cursor: cursor})
		require.NoError(t, err)
		require.Len(t, page.Data, 1)
		if page.Data[0].Key == "quake-circle" {
			require.Equal(t, newest, &page.Data[0])
		}
		total, over, err := page.Total(t.Context())
		require.NoError(t, err)
		require.False(t, over)
		require.Equal(t, len(shippedKeys()), total, "versions are not counted apart")
		keys = append(keys, page.Data[0].Key)
		if more = page.HasMore; more {
			cursor = *page.NextCursor
		}
	}
	require.Equal(t, shippedKeys(), keys)
}

func TestGetReturnsTheNewestVersionOfAKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	publishVersion(t, b, "quake-circle", 9)
	newest := publishVersion(t, b, "quake-circle", 12)
	read, err := b.Service.Products.Get(t.Context(), b.Acme, "quake-circle")
	require.NoError(t, err)
	require.Equal(t, newest, read)
	for _, key := range []string{"", "unknown", "Quake-Circle", "quake-circle/12", "quake\x00circle", "\xff", "quake-circle' or true --"} {
		_, err := b.Service.Products.Get(t.Context(), b.Acme, key)
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "%q", key)
	}
}

func TestByIDReturnsEachVersion(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newest := publishVersion(t, b, "quake-circle", 12)
	old := catalog.ProductID("quake-circle", shippedVersion(t, "quake-circle"))
	found, err := b.Service.Products.ByID(t.Context(), b.Acme, []string{old, "quake-circle/12", "quake-circle/13", "quake-circle", ""})
	require.NoError(t, err)
	require.Len(t, found, 2, "a version that does not exist is left out")
	require.Equal(t, newest, found["quake-circle/12"])
	require.Equal(t, int64(shippedVersion(t, "quake-circle")), found[old].Version)
}

func TestReadingProductsNeedsItsScope(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	without := b.Acme
	without.Scopes = []actor.Scope{actor.ScopeQuotesRead}
	_, err := b.Service.Products.List(t.Context(), without, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Products.Get(t.Context(), without, "quake-circle")
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Products.ByID(t.Context(), without, nil)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}

// TestProductRecordShowsWhatTheDocumentSays compares the members that a partner reads
// with the document: a member under a wrong name would sell other terms than it shows.
func TestProductRecordShowsWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	for _, p := range product.Shipped() {
		record, err := b.Service.Products.Get(t.Context(), b.Acme, p.Key())
		require.NoError(t, err)
		d := p.Document()
		require.Equal(t, []string{p.Key(), p.Key(), "product", d.Title, d.Summary}, []string{record.ID, record.Key, record.Object, record.Title, record.Summary})
		require.Equal(t, d.Place, record.Place)
		require.Equal(t, d.Trigger, record.Trigger)
		require.Equal(t, d.Payout, record.Payout)
		require.Equal(t, d.Notes, record.Notes)
		require.JSONEq(t, string(p.ContextSchema()), string(record.Context))
		for name, part := range map[string]struct{ want, got any }{
			"times": {d.Times, record.Times}, "settlement": {d.Settlement, record.Settlement}, "price": {d.Loadings, record.Price},
			"currencies": {d.Currencies, record.Currencies}, "examples": {d.Examples, record.Examples},
		} {
			want, err := wire.Encode(part.want)
			require.NoError(t, err)
			got, err := wire.Encode(part.got)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), "%s of %s", name, p.Key())
		}
	}
}

func TestQuotesKeepTheVersionTheyWerePricedWith(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	before := b.Quote("quake-circle", nil)
	publishVersion(t, b, "quake-circle", 12)
	policy := b.Bind(before)
	require.Equal(t, before.ProductVersion, policy.ProductVersion)
	require.Equal(t, 12, b.Quote("quake-circle", nil).ProductVersion)
	b.AdvanceClock(time.Hour)
	require.Equal(t, before.ProductVersion, b.Policy(policy.ID).ProductVersion)
}

func TestUnknownProductIsNamedInTheError(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.Service.Quotes.Create(t.Context(), b.Acme, b.QuoteRequest("quake-square", nil))
	invalid := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeProductUnknown, invalid.Code)
	require.Equal(t, []string{"/product"}, modeltest.FieldPointers(invalid))
}
