package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting/catalog"
)

func TestRetiredVersionsAreNotQuoted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first := shippedVersion(t, "quake-circle")
	publishVersion(t, b, "quake-circle", 12)
	quote := b.Quote("quake-circle", nil)
	require.Equal(t, 12, quote.ProductVersion)
	retire := func(version *int) (*int64, error) {
		record, err := b.Service.Products.Retire(t.Context(), b.Operator, catalog.RetireRequest{Key: "quake-circle", Version: version, Reason: "A wrong factor."})
		if err != nil {
			return nil, err
		}
		require.NotNil(t, record.RetiredAt)
		return &record.Version, nil
	}
	version, err := retire(new(12))
	require.NoError(t, err)
	require.EqualValues(t, 12, *version)
	require.Equal(t, first, b.Quote("quake-circle", nil).ProductVersion, "the newest that is left")
	require.Equal(t, 12, b.Bind(quote).ProductVersion, "what was quoted can be bound")
	read, err := b.Service.Products.Get(t.Context(), b.Acme, "quake-circle")
	require.NoError(t, err)
	require.EqualValues(t, first, read.Version)
	require.Nil(t, read.RetiredAt)

	_, err = retire(nil)
	require.NoError(t, err)
	_, err = b.Service.Quotes.Create(t.Context(), b.Acme, b.QuoteRequest("quake-circle", nil))
	require.Equal(t, apperr.CodeProductUnknown, apperr.CodeOf(err))
	page, err := b.Service.Products.List(t.Context(), b.Acme, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, len(shippedKeys())-1)
	read, err = b.Service.Products.Get(t.Context(), b.Acme, "quake-circle")
	require.NoError(t, err)
	require.NotNil(t, read.RetiredAt)
	_, err = b.Service.Products.PublishShipped(t.Context())
	require.NoError(t, err)
	_, err = b.Service.Quotes.Create(t.Context(), b.Acme, b.QuoteRequest("quake-circle", nil))
	require.Equal(t, apperr.CodeProductUnknown, apperr.CodeOf(err), "a restart sells nothing that was retired")
	publishVersion(t, b, "quake-circle", 13)
	require.Equal(t, 13, b.Quote("quake-circle", nil).ProductVersion)
	lines := modeltest.ListAudit(t, b, audit.Filter{Operation: ""})
	require.Equal(t, "A wrong factor.", *lines[1].Reason)
}

func TestRetireRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, in := range []catalog.RetireRequest{{Key: "quake-square"}, {Key: "quake-circle", Version: new(99)}, {Key: "\xff"}} {
		in.Reason = "r"
		_, err := b.Service.Products.Retire(t.Context(), b.Operator, in)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err), in.Key)
	}
	_, err := b.Service.Products.Retire(t.Context(), b.Operator, catalog.RetireRequest{Key: "quake-circle"})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Products.Retire(t.Context(), b.Acme, catalog.RetireRequest{Key: "quake-circle", Reason: "r"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestVersionsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first := int64(shippedVersion(t, "quake-circle"))
	publishVersion(t, b, "quake-circle", 9)
	publishVersion(t, b, "quake-circle", 12)
	_, err := b.Service.Products.Retire(t.Context(), b.Operator, catalog.RetireRequest{Key: "quake-circle", Version: new(12), Reason: "r"})
	require.NoError(t, err)
	var versions []int64
	in := store.PageRequest{Limit: 1}
	for more := true; more; {
		page, err := b.Service.Products.Versions(t.Context(), b.Acme, "quake-circle", in)
		require.NoError(t, err)
		total, _, err := page.Total(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, total)
		for _, record := range page.Data {
			versions = append(versions, record.Version)
			require.Equal(t, record.Version == 12, record.RetiredAt != nil)
		}
		if more = page.HasMore; more {
			in.Cursor = *page.NextCursor
		}
	}
	require.Equal(t, []int64{12, 9, first}, versions)
	_, err = b.Service.Products.Versions(t.Context(), b.Acme, "cyclone-circle", in)
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), "a cursor is for one product")
	for _, key := range []string{"quake-square", "\xff"} {
		page, err := b.Service.Products.Versions(t.Context(), b.Acme, key, store.PageRequest{})
		require.NoError(t, err)
		require.Empty(t, page.Data)
	}
}
