package graph_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/graph"
	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

var hualien = hazard.Point{Latitude: 23.98, Longitude: 121.6}

// observeQuake binds n policies and pays each of them for an earthquake.
func (d *fixture) observeQuake(t *testing.T, policies int) []*wire.Policy {
	t.Helper()
	var bound []*wire.Policy
	for range policies {
		bound = append(bound, d.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude}}))
		d.RecordPayoutMethod(modeltest.PolicyIBANMethod(bound[len(bound)-1].ID))
	}
	d.AdvanceClock(time.Hour)
	d.Observe(modeltest.Quake("us1", d.Now().Add(-time.Minute), hualien, "7.1"))
	d.RunJobs()
	return bound
}

// counter counts statements. It leaves out the polls of the notifier.
type counter struct{ n, looks atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasSuffix(data.SQL, "from event_relay") {
		c.looks.Add(1)
	} else {
		c.n.Add(1)
	}
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// countStatementsOf is the door on connections that count.
func (d *fixture) countStatementsOf(t testing.TB) (*fixture, *counter) {
	t.Helper()
	c := new(counter)
	config := d.DB.Pool.Config()
	config.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db := &dbpool.Database{Pool: pool, Bun: bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New())}
	keys := seal.Keys{Seal: []seal.Key{{ID: "test", Secret: make([]byte, 32)}}, Fingerprint: make([]byte, 32)}
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Keys: keys, Receipt: modeltest.ReceiptKeys(), Development: true})
	require.NoError(t, err)
	handler, err := graph.New(graph.Config{Service: service})
	require.NoError(t, err)
	counted := *d.Bundle
	counted.Service = service
	return &fixture{Bundle: &counted, handler: handler}, c
}

const fullDocument = `query($n: Int!) { policies(first: $n) { totalCount edges { cursor node { product { key } quote { id product { key } policy { id } }
	payoutMethods(first: 2) { totalCount nodes { id type display { last4 } } }
	timeline(first: 2) { totalCount nodes { kind } } claims(first: 2) { totalCount totalCountExceeded nodes { policy { id } occurrence { source } determination { factor stage }
		payouts { claim { id } policy { id } payoutMethod { id } } messages(first: 2) { nodes { body } } attachments(first: 2) { nodes { fileName } }
		payoutMethods(first: 2) { nodes { id } } timeline(first: 2) { totalCount nodes { kind actor { kind } } } } } } } } }`

func TestStatementCountIsIndependentOfRecordCount(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.observeQuake(t, 6)
	d, statements := d.countStatementsOf(t)
	d.queryData(t, dashboard, map[string]any{"n": 50})
	for document, most := range map[string]int64{dashboard: 3, fullDocument: 21} {
		var counts []int64
		for _, n := range []int{1, 6} {
			fewest := int64(math.MaxInt64) // a connection's first statement brings others
			for range 4 {
				before := statements.n.Load()
				d.queryData(t, document, map[string]any{"n": n})
				fewest = min(fewest, statements.n.Load()-before)
			}
			counts = append(counts, fewest)
		}
		require.Equal(t, counts[0], counts[1], "one record or six")
		require.LessOrEqual(t, counts[0], most)
	}
}

func TestEveryRecordTypeIsReadable(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.observeQuake(t, 1)[0]
	claim := d.OnlyClaim(policy)
	got := d.queryData(t, `query($id: ID!) { claim(id: $id) { status origin policy { id } occurrence { sourceEventId } decision { outcome reasonCodes }
		payouts { status payoutMethod { status type beneficiary { name } } }
		timeline(last: 2) { pageInfo { hasPreviousPage hasNextPage } nodes { sequence kind } } } }`, map[string]any{"id": claim.ID})["claim"].(map[string]any)
	require.Equal(t, "APPROVED", got["status"])
	require.Equal(t, map[string]any{"outcome": "APPROVED", "reasonCodes": []any{"THRESHOLD_MET"}}, got["decision"])
	require.Equal(t, map[string]any{"id": policy.ID}, got["policy"])
	require.Equal(t, []any{map[string]any{"status": "RELEASED", "payoutMethod": map[string]any{"status": "VERIFIED", "type": "IBAN", "beneficiary": map[string]any{"name": "Lin Mei-hua"}}}}, got["payouts"])
	entries := d.Timeline(claim.ID)
	timeline := got["timeline"].(map[string]any)
	require.Equal(t, map[string]any{"hasPreviousPage": true, "hasNextPage": false}, timeline["pageInfo"])
	last := timeline["nodes"].([]any)
	require.Len(t, last, 2)
	require.InDelta(t, entries[len(entries)-1].Sequence, last[1].(map[string]any)["sequence"], 0)
	refused := d.send(t, graphqlRequest{document: `query($id: ID!) { claim(id: $id) { timeline(last: 0) { totalCount } } }`, variables: map[string]any{"id": claim.ID}})
	require.Equal(t, "parameter_invalid", refused.errorCode())
	require.Equal(t, "/last", refused.Errors[0].Extensions.Errors[0].Pointer)
	got = d.queryData(t, `query($id: ID!) { policy(id: $id) { begin: timeline(first: 1) { totalCount nodes { kind claimId sequence } }
		end: timeline(last: 1) { nodes { kind claimId } } } }`, map[string]any{"id": policy.ID})["policy"].(map[string]any)
	begin := got["begin"].(map[string]any)
	require.Equal(t, []any{map[string]any{"kind": "POLICY_ACTIVATED", "claimId": nil, "sequence": 1.0}}, begin["nodes"])
	require.Greater(t, begin["totalCount"], float64(len(entries)))
	require.Equal(t, []any{map[string]any{"kind": "PAYOUT_RELEASED", "claimId": claim.ID}}, got["end"].(map[string]any)["nodes"])

	all := d.queryData(t, `{ quotes { nodes { id } } payouts(filter: {status: RELEASED}) { totalCount nodes { id } } payoutMethods { nodes { id } } products(first: 1) { totalCount nodes { key } } product(key: "quake-circle") { contextSchema trigger { kind } } claims(order: OLDEST_FIRST) { nodes { id } } }`, nil)
	require.Len(t, all["quotes"].(map[string]any)["nodes"], 1)
	require.InDelta(t, 1, all["payouts"].(map[string]any)["totalCount"], 0)
	require.InDelta(t, 6, all["products"].(map[string]any)["totalCount"], 0)
	none := d.queryDataAs(t, "globex", `{ quotes { nodes { id } } claims { totalCount } payouts { totalCount } payoutMethods { totalCount } }`, nil)
	require.Empty(t, none["quotes"].(map[string]any)["nodes"])
	require.InDelta(t, 0, none["claims"].(map[string]any)["totalCount"], 0)
	operator := d.queryDataAs(t, "operator", `{ a: policies(filter: {partner: "acme"}) { totalCount } g: policies(filter: {partner: "globex"}) { totalCount } }`, nil)
	require.Equal(t, map[string]any{"a": map[string]any{"totalCount": 1.0}, "g": map[string]any{"totalCount": 0.0}}, operator)
}

func TestPagesContinueAtCursor(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var ids []any
	for range 5 {
		ids = append([]any{d.Quote("quake-circle", nil).ID}, ids...)
	}
	var got []any
	for after := any(nil); ; {
		page := d.queryData(t, `query($after: String) { quotes(first: 2, after: $after) { totalCount nodes { id } edges { cursor } pageInfo { hasNextPage endCursor } } }`, map[string]any{"after": after})["quotes"].(map[string]any)
		require.InDelta(t, 5, page["totalCount"], 0)
		for _, node := range page["nodes"].([]any) {
			got = append(got, node.(map[string]any)["id"])
		}
		info := page["pageInfo"].(map[string]any)
		if after = info["endCursor"]; info["hasNextPage"] == false {
			break
		}
	}
	require.Equal(t, ids, got)
	for _, wrong := range []string{`first: 0`, `first: 101`, `first: -1`, `after: "x"`} {
		refused := d.send(t, graphqlRequest{document: "{ quotes(" + wrong + ") { nodes { id } } }"})
		require.Contains(t, []string{"parameter_invalid", "cursor_invalid"}, refused.errorCode(), wrong)
	}
}

func TestMutationsAreIdempotent(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("rain-excess", nil)
	open := `mutation($in: OpenClaimInput!) { openClaim(input: $in) { clientMutationId claim { id status origin } } }`
	in := map[string]any{"policyId": policy.ID, "description": "The lobby is flooded.", "requestedAmount": map[string]any{"amount": 5000, "currency": policy.Limit.Currency}}
	first := d.send(t, graphqlRequest{document: open, variables: map[string]any{"in": in}, headers: []string{"Idempotency-Key: k1"}})
	require.Empty(t, first.Errors, first.body)
	again := d.send(t, graphqlRequest{document: fmt.Sprintf(`mutation { openClaim(input: {clientMutationId: "k1", requestedAmount: {currency: %q, amount: 5000}, description: "The lobby is flooded.", policyId: %q}) { clientMutationId claim { id status origin } } }`, policy.Limit.Currency, policy.ID)})
	require.Empty(t, again.Errors, again.body)
	require.JSONEq(t, string(first.Data), strings.Replace(string(again.Data), `"clientMutationId":"k1"`, `"clientMutationId":null`, 1))
	in["description"] = "Another story."
	other := d.send(t, graphqlRequest{document: open, variables: map[string]any{"in": in}, headers: []string{"Idempotency-Key: k1"}})
	require.Equal(t, "idempotency_key_reused", other.errorCode())
	claim := d.OnlyClaim(policy).ID
	two := graphqlRequest{document: fmt.Sprintf(`mutation { __typename a: addMessage(input: {claimId: %[1]q, body: "A"}) { message { id } } ...B } fragment B on Mutation { b: addMessage(input: {claimId: %[1]q, body: "A"}) { message { id } } }`, claim)}
	two.headers = []string{"Idempotency-Key: k2"}
	refused := d.send(t, two)
	require.Equal(t, "idempotency_key_invalid", refused.errorCode())
	require.Empty(t, d.queryData(t, `query($id: ID!) { claim(id: $id) { messages { nodes { id } } } }`, map[string]any{"id": claim})["claim"].(map[string]any)["messages"].(map[string]any)["nodes"])
	two.headers = nil
	require.Empty(t, d.send(t, two).Errors)
	said := d.queryData(t, `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "When?"}) { message { body author { kind name } claimId } }
		addAttachment(input: {claimId: $id, fileName: "a.txt", contentType: "text/plain", contentBase64: "cGxhaW4gd29yZHM="}) { attachment { id size sha256 downloadUrl status } }
		recordPayoutMethod(input: {claimId: $id, type: IBAN, currency: "USD", beneficiary: {name: "Lin", country: "TW"}, iban: {iban: "DE89370400440532013000"}}) { payoutMethod { status display { last4 } } } }`, map[string]any{"id": claim})
	require.Equal(t, map[string]any{"status": "PENDING", "display": map[string]any{"last4": "3000"}}, said["recordPayoutMethod"].(map[string]any)["payoutMethod"])
}

// The header of a record is the same as in REST, when nothing else is selected too.
func TestHeadersOfRecordsAreThoseOfREST(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := d.OnlyClaim(d.observeQuake(t, 1)[0]).ID
	d.AdvanceClock(time.Hour)
	d.queryData(t, `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "When?"}) { message { id } }
		addAttachment(input: {claimId: $id, fileName: "a.txt", contentType: "text/plain", contentBase64: "cGxhaW4gd29yZHM="}) { attachment { id } } }`, map[string]any{"id": claim})
	var headers []any
	add := func(h wire.Header) {
		headers = append(headers, map[string]any{"partner": "acme", "createdAt": wire.FormatTime(h.CreatedAt), "updatedAt": wire.FormatTime(h.UpdatedAt), "version": float64(h.Version)})
	}
	for _, m := range modeltest.Must(d.Service.Claims.GetMessages(t.Context(), d.Acme, claim, store.PageRequest{})).Data {
		add(m.Header)
	}
	for _, a := range modeltest.Must(d.Service.Claims.GetAttachments(t.Context(), d.Acme, claim, store.PageRequest{})).Data {
		add(a.Header)
	}
	for _, e := range modeltest.Must(d.Service.Claims.GetTimeline(t.Context(), d.Acme, claim, store.PageRequest{})).Data {
		add(e.Header)
	}
	require.Greater(t, len(headers), 4)
	shown := d.queryData(t, `query($id: ID!) { claim(id: $id) { messages { nodes { ...m } } attachments { nodes { ...a } } timeline { nodes { ...e } } } product(key: "quake-circle") { createdAt updatedAt } }
		fragment m on Message { partner createdAt updatedAt version } fragment a on Attachment { partner createdAt updatedAt version } fragment e on TimelineEntry { partner createdAt updatedAt version }`, map[string]any{"id": claim})
	var read []any
	for _, list := range []string{"messages", "attachments", "timeline"} {
		read = append(read, dig(t, shown, "claim", list, "nodes").([]any)...)
	}
	require.Equal(t, headers, read)
	published := modeltest.Must(d.Service.Products.Get(t.Context(), d.Acme, "quake-circle"))
	require.Equal(t, map[string]any{"createdAt": wire.FormatTime(published.CreatedAt), "updatedAt": wire.FormatTime(published.UpdatedAt)}, shown["product"])
}

func TestReplaysAreMarkedInExtensions(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	send := func(key, document string) (*httptest.ResponseRecorder, any) {
		body, err := json.Marshal(map[string]any{"query": document})
		require.NoError(t, err)
		request := plain{method: http.MethodPost, body: string(body)}
		if key != "" {
			request.headers = []string{"Idempotency-Key: " + key}
		}
		recorder, out := request.to(t, d)
		require.Empty(t, out.Errors, out.body)
		var response struct{ Extensions map[string]any }
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &response, json.MatchCaseInsensitiveNames(true)))
		return recorder, response.Extensions["replayed"]
	}
	const header = "Idempotent-Replayed"
	keyed := `mutation { made: createQuote(input: {product: "rain-excess", context: {partner: "acme"}}) { quote { id } } }`
	first, replayed := send("k1", keyed)
	require.Empty(t, first.Header().Get(header))
	require.Nil(t, replayed)
	again, replayed := send("k1", keyed)
	require.Equal(t, "true", again.Header().Get(header))
	require.Equal(t, []any{"made"}, replayed)
	named := `mutation { a: createQuote(input: {product: "rain-excess", context: {partner: "acme"}, clientMutationId: "k2"}) { quote { id } }
		b: createQuote(input: {product: "rain-excess", context: {partner: "acme"}}) { quote { id } }
		c: createQuote(input: {product: "rain-excess", context: {partner: "acme"}, clientMutationId: "k1"}) { quote { id } } }`
	_, replayed = send("", named)
	require.Equal(t, []any{"c"}, replayed)
	again, replayed = send("", named)
	require.Empty(t, again.Header().Get(header), "the header describes one mutation")
	require.Equal(t, []any{"a", "c"}, replayed)
}
