package rest_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

func TestListFilters(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote, policy, claim := h.createClaim(t)
	h.post(t, 201, "/v1/quotes", quoteBody[:len(quoteBody)-1]+`,"partner_reference":"ours & theirs"}`)
	from := url.QueryEscape(quote.CreatedAt.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano))
	for query, found := range map[string]int{
		"/quotes": 2, "/quotes?limit=1": 1, "/quotes?status=bound": 1, "/quotes?status=expired": 0, "/quotes?product=quake-circle": 2,
		"/quotes?product=rain-excess": 0, "/quotes?partner_reference=ours+%26+theirs": 1, "/quotes?created_from=" + from: 2, "/quotes?created_to=" + from: 0,
		"/policies": 1, "/policies?status=active&product=quake-circle": 1, "/policies?status=archived": 0,
		"/claims": 1, "/claims?policy_id=" + policy.ID: 1, "/claims?policy_id=pol_01h455vb4pex5vsknk084sn02q": 0, "/claims?product=quake-circle": 1, "/claims?status=declined": 0,
		"/products": len(product.Shipped()), "/sources": 4, "/claims/" + claim.ID + "/payouts": 1,
	} {
		list := decodeRecord[wire.List[map[string]any]](t, h.get(t, "/v1"+query))
		require.Len(t, list.Data, found, query)
		require.Equal(t, "list", list.Object)
	}
	first := decodeRecord[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes?limit=1"))
	require.True(t, first.HasMore)
	next := decodeRecord[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes?limit=1&cursor="+*first.NextCursor))
	require.Equal(t, quote.ID, next.Data[0].ID, "newest first")
	require.False(t, next.HasMore)
	for _, query := range []string{"?status=open", "?cursor=" + *first.NextCursor + "&status=bound", "?policy_id=" + policy.ID} {
		require.Equal(t, 400, requireProblem(t, h.expectStatus(t, 400, request{"GET", "/v1/quotes" + query, "", nil})).Status, query)
	}
	require.Empty(t, decodeRecord[wire.List[wire.Quote]](t, h.sendAs(t, "globex", nil, request{"GET", "/v1/quotes", "", nil})).Data)
	require.Equal(t, string(apperr.CodeParameterInvalid), requireProblem(t, h.expectStatus(t, 400, request{"GET", "/v1/claims?policy_id=x", "", nil})).Code)
}

func TestProductsIncludeTheirTerms(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	product := decodeRecord[wire.Product](t, h.get(t, "/v1/products/quake-circle"))
	require.Equal(t, "quake-circle", product.Key)
	require.Nil(t, product.Partner)
	require.Equal(t, "There is no product with this key.", requireProblem(t, h.expectStatus(t, 404, request{"GET", "/v1/products/%00", "", nil})).Detail)
}

func TestPayoutsTakeEitherScope(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	path := "/v1/payouts/" + claim.Payouts[0].ID
	for _, scope := range []string{"claims:read", "payouts:read"} {
		payout := decodeRecord[wire.Payout](t, h.sendAs(t, "acme", []string{scope}, request{"GET", path, "", nil}))
		require.Equal(t, claim.Payouts[0], *payout)
	}
}
