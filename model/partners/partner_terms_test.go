package partners_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/partners"
	"parapet/model/wire"
)

// setTerms gives acme terms, which count at once on this node.
func setTerms(t *testing.T, b *modeltest.Bundle, terms wire.PartnerTerms) *wire.Partner {
	t.Helper()
	partner, err := b.Service.Partners.SetTerms(t.Context(), b.Operator, partners.TermsRequest{Slug: "acme", PartnerTerms: terms, Reason: "The contract."})
	require.NoError(t, err)
	return partner
}

func TestTermsBoundNewQuotes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	before := b.Quote("quake-circle", nil)
	partner := setTerms(t, b, wire.PartnerTerms{CommissionShare: new(decimal.RequireFromString("0.25")), MaximumLimits: []money.Money{{Amount: 5_000_000, Currency: "USD"}, {Amount: 1, Currency: "EUR"}}})
	require.EqualValues(t, 2, partner.Version)
	request := b.QuoteRequest("quake-circle", nil)
	_, err := b.Service.Quotes.Create(t.Context(), b.Acme, request)
	e := modeltest.DomainError(t, err)
	require.Equal(t, []string{"/context/limit"}, modeltest.FieldPointers(e), "the default is larger")
	require.Contains(t, e.Fields[0].Detail, "50,000.00 USD")
	small := modeltest.Context{"limit": map[string]any{"amount": 5_000_000, "currency": "USD"}}
	quote := b.Quote("quake-circle", small)
	require.Equal(t, "0.25", quote.Basis.CommissionShare.String())
	require.NotEqual(t, before.Basis.CommissionShare.String(), quote.Basis.CommissionShare.String())
	require.Equal(t, before.ID, b.Bind(before).QuoteID, "what was quoted can be bound")

	setTerms(t, b, wire.PartnerTerms{Products: []string{"cyclone-circle"}})
	_, err = b.Service.Quotes.Create(t.Context(), b.Acme, request)
	require.Equal(t, apperr.CodeProductUnknown, apperr.CodeOf(err))
	b.Quote("cyclone-circle", nil)
	page, err := b.Service.Products.List(t.Context(), b.Acme, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	total, _, err := page.Total(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, total)
	all, err := b.Service.Products.List(t.Context(), b.Globex, store.PageRequest{})
	require.NoError(t, err)
	require.Greater(t, len(all.Data), 1, "another partner has its own terms")

	setTerms(t, b, wire.PartnerTerms{})
	require.Equal(t, before.Basis.CommissionShare.String(), b.Quote("quake-circle", nil).Basis.CommissionShare.String())
}

func TestTermsReplaceTheQuotaOfTheServer(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	setTerms(t, b, wire.PartnerTerms{RequestsPerSecond: new(3), RequestBurst: new(5)})
	grant, err := b.Service.Partners.Quota(100, 200).Lease(t.Context(), "partner/acme", 50)
	require.NoError(t, err)
	require.Equal(t, []int{5, 3, 5}, []int{grant.Granted, grant.PerSecond, grant.Burst})
	for _, other := range []string{"partner/globex", "client/acme"} {
		grant, err = b.Service.Partners.Quota(100, 200).Lease(t.Context(), other, 50)
		require.NoError(t, err)
		require.Equal(t, []int{50, 100, 200}, []int{grant.Granted, grant.PerSecond, grant.Burst})
	}
}

func TestTermsAreCheckedAndAudited(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	many := make([]string, 101)
	for name, tc := range map[string]struct {
		terms wire.PartnerTerms
		at    string
	}{
		"no products":          {wire.PartnerTerms{Products: []string{}}, "/products"},
		"too many products":    {wire.PartnerTerms{Products: many}, "/products"},
		"unknown product":      {wire.PartnerTerms{Products: []string{"quake-circle", "quake-square"}}, "/products/1"},
		"no key":               {wire.PartnerTerms{Products: []string{"\xff"}}, "/products/0"},
		"negative commission":  {wire.PartnerTerms{CommissionShare: new(decimal.RequireFromString("-0.01"))}, "/commission_share"},
		"large commission":     {wire.PartnerTerms{CommissionShare: new(decimal.RequireFromString("0.51"))}, "/commission_share"},
		"fine commission":      {wire.PartnerTerms{CommissionShare: new(decimal.RequireFromString("0.00001"))}, "/commission_share"},
		"no amount":            {wire.PartnerTerms{MaximumLimits: []money.Money{{Amount: 0, Currency: "USD"}}}, "/maximum_limits/0"},
		"no currency":          {wire.PartnerTerms{MaximumLimits: []money.Money{{Amount: 1, Currency: "XXQ"}}}, "/maximum_limits/0"},
		"currency twice":       {wire.PartnerTerms{MaximumLimits: []money.Money{{Amount: 1, Currency: "USD"}, {Amount: 2, Currency: "USD"}}}, "/maximum_limits/1"},
		"no requests":          {wire.PartnerTerms{RequestsPerSecond: new(0)}, "/requests_per_second"},
		"large burst":          {wire.PartnerTerms{RequestBurst: new(100_001)}, "/request_burst"},
		"address with a name":  {wire.PartnerTerms{Contacts: []wire.PartnerContact{{Name: "Ann", Email: "Ann <ann@example.com>"}}}, "/contacts/0/email"},
		"contact without name": {wire.PartnerTerms{Contacts: []wire.PartnerContact{{Email: "ann@example.com"}}}, "/contacts/0/name"},
		"too many contacts":    {wire.PartnerTerms{Contacts: slicesOf(wire.PartnerContact{Name: "Ann", Email: "ann@example.com"}, 21)}, "/contacts"},
		"too many limits":      {wire.PartnerTerms{MaximumLimits: slicesOf(money.New(1, "USD"), 101)}, "/maximum_limits"},
	} {
		_, err := b.Service.Partners.SetTerms(t.Context(), b.Operator, partners.TermsRequest{Slug: "acme", PartnerTerms: tc.terms, Reason: "r"})
		require.Contains(t, modeltest.FieldPointers(modeltest.DomainError(t, err)), tc.at, name)
	}
	_, err := b.Service.Partners.SetTerms(t.Context(), b.Operator, partners.TermsRequest{Slug: "acme"})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Partners.SetTerms(t.Context(), b.Operator, partners.TermsRequest{Slug: "unknown", Reason: "r"})
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	_, err = b.Service.Partners.SetTerms(t.Context(), b.Acme, partners.TermsRequest{Slug: "acme", Reason: "r"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	require.Empty(t, modeltest.ListAudit(t, b, audit.Filter{}))
	setTerms(t, b, wire.PartnerTerms{CommissionShare: new(decimal.RequireFromString("0.5")), RequestBurst: new(100_000), Contacts: []wire.PartnerContact{{Name: strings.Repeat("é", 200), Email: "ann@example.com"}}})
	lines := modeltest.ListAudit(t, b, audit.Filter{})
	require.Len(t, lines, 1)
	require.Equal(t, "The contract.", *lines[0].Reason)
	require.Equal(t, "acme", *lines[0].Partner)
}

func slicesOf[T any](value T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = value
	}
	return all
}
