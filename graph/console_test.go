package graph_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// nodeIDs returns the ids of the nodes of a connection.
func nodeIDs(t *testing.T, data map[string]any, field string) (all []string) {
	t.Helper()
	for _, node := range dig(t, data, field, "nodes").([]any) {
		all = append(all, node.(map[string]any)["id"].(string))
	}
	return all
}

func TestOccurrencesHaveAPlaceAndAMainMeasure(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	at := d.Now().Add(-time.Hour)
	preliminary := modeltest.Quake("us1", at, hazard.Point{Latitude: 1, Longitude: 2}, "5.9")
	preliminary.Stage = trigger.Preliminary
	d.Observe(preliminary)
	d.Observe(modeltest.Quake("us1", at, epicentre, "6.6"))
	d.Observe(modeltest.Fix("AL012026", at.Add(-12*time.Hour), hazard.Point{Latitude: 20, Longitude: -60}, "95"), modeltest.Fix("AL012026", at.Add(-6*time.Hour), hazard.Point{Latitude: 21, Longitude: -62}, "80"))
	d.Observe(modeltest.NewRetraction("us1"), modeltest.Quake("us2", at, epicentre, "6.1"))
	d.Observe(modeltest.NewRetraction("us2"))
	wet := d.ActingAs(d.Globex).QuoteAndBind("rain-excess", nil)
	d.AdvanceClock(20 * 24 * time.Hour)
	modeltest.ObserveRain(d.Bundle, wet, modeltest.FirstWholeDay(wet.EffectiveAt.Add(8*24*time.Hour)), "10.5", "20.25", "0", "0", "0")
	shown := map[string]any{}
	for _, node := range dig(t, d.queryDataAs(t, "operator", `{ occurrences { nodes { sourceEventId kind location { latitude longitude } mainMeasure { name value unit } } } }`, nil), "occurrences", "nodes").([]any) {
		occurrence := node.(map[string]any)
		shown[occurrence["kind"].(string)+" "+occurrence["sourceEventId"].(string)[:3]] = []any{occurrence["location"], occurrence["mainMeasure"]}
	}
	measure := func(name, value, unit string) any { return map[string]any{"name": name, "value": value, "unit": unit} }
	require.Equal(t, []any{map[string]any{"latitude": 21.0, "longitude": -62.0}, measure("wind", "95", "kn")}, shown["STORM_FIX AL0"])
	require.Equal(t, []any{nil, nil}, shown["EARTHQUAKE us2"[:14]], "every report was retracted")
	station := shown["STATION_DAY "+wet.Cover.Place.Station[:3]].([]any)
	require.Equal(t, []any{nil, measure("precipitation", "30.75", "mm")}, station)
}

func TestTheFinalReadingIsTheMainMeasure(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	report := modeltest.Quake("us1", d.Now().Add(-time.Hour), epicentre, "6.6")
	d.Observe(report)
	record, err := d.Service.Occurrences.List(t.Context(), d.Acme, occurrence.HazardFilter{}, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, "6.6", record.Data[0].MainMeasure.Value)
	require.Equal(t, epicentre, *record.Data[0].Location)
	one, err := d.Service.Occurrences.Get(t.Context(), d.Acme, record.Data[0].ID)
	require.NoError(t, err)
	require.Equal(t, record.Data[0], *one)
}

func TestListsAreFilteredBySeveralMembers(t *testing.T) {
	t.Parallel()
	d := newFixture(t, modeltest.WithoutChecks())
	claim := modeltest.NewClaimAboveApprovalLimit(d.Bundle)
	approved := modeltest.NewApprovedClaim(d.Bundle)
	modeltest.ExecSQL(t, d.Bundle, "update policy_keys set partner_reference = 'house-7' where id = (select policy_id from claims order by id desc limit 1)")
	for document, want := range map[string]int{
		`{ list: claims(filter: {statuses: [APPROVED, DECLINED]}) { nodes { id } totalCount } }`:                                          2,
		`{ list: claims(filter: {statuses: [DECLINED], status: CLOSED}) { nodes { id } totalCount } }`:                                    0,
		`{ list: claims(filter: {policyReference: "house-7"}) { nodes { id } totalCount } }`:                                              1,
		`{ list: payouts(filter: {policyReference: "house-7"}) { nodes { id } totalCount } }`:                                             1,
		`{ list: payouts(filter: {policyReference: "house-8"}) { nodes { id } totalCount } }`:                                             0,
		`{ list: payouts(filter: {blockedReason: PAYOUT_METHOD_MISSING}) { nodes { id } totalCount } }`:                                   1,
		`{ list: payouts(filter: {blockedReason: RAIL_REJECTED}) { nodes { id } totalCount } }`:                                           0,
		`{ list: payouts(filter: {statuses: [BLOCKED, PENDING], policyReference: "house-7"}) { nodes { id } totalCount } }`:               1,
		`{ list: policies(filter: {box: {west: 121, south: 23, east: 122, north: 24}}) { nodes { id } totalCount } }`:                     2,
		`{ list: policies(filter: {box: {west: 121, south: -24, east: 122, north: -23}}) { nodes { id } totalCount } }`:                   0,
		`{ list: policies(filter: {box: {west: 170, south: 23, east: 122, north: 24}, statuses: [ACTIVE]}) { nodes { id } totalCount } }`: 2,
	} {
		for _, as := range []string{"acme", "operator"} {
			data := d.queryDataAs(t, as, document, nil)
			require.Len(t, nodeIDs(t, data, "list"), want, "%s as %s", document, as)
			require.EqualValues(t, want, dig(t, data, "list", "totalCount"), document)
		}
		require.Empty(t, nodeIDs(t, d.queryDataAs(t, "globex", document, nil), "list"), document)
	}
	require.NotEqual(t, claim.ID, approved.ID)
	wrong := d.send(t, graphqlRequest{document: `{ policies(filter: {box: {west: -181, south: 23, east: 122, north: 24}}) { totalCount } }`})
	require.Equal(t, "parameter_invalid", wrong.errorCode())
	first := d.queryData(t, `{ payouts(first: 1, filter: {statuses: [BLOCKED]}) { pageInfo { endCursor } } }`, nil)
	other := d.send(t, graphqlRequest{document: `query($c: String) { payouts(after: $c, filter: {statuses: [PENDING]}) { totalCount } }`, variables: map[string]any{"c": dig(t, first, "payouts", "pageInfo", "endCursor")}})
	require.Equal(t, "cursor_invalid", other.errorCode(), "the cursor is of another filter")
}

func TestTheInboxCountsWhatItsListsShow(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const inbox = `{ inbox { approvals claimsToDecide challenges reconciliationExceptions failingEndpoints releaseStops violatedInvariants staleSources failingJobs unsettled { status blockedReason count amount { amount currency } oldestSeconds } }
		claims(filter: {toDecide: true}) { nodes { id } totalCount } challenged: claims(filter: {challenged: true}) { nodes { id } }
		webhookEndpoints(filter: {failing: true}) { nodes { id } } payouts(filter: {blockedReason: APPROVAL_REQUIRED}) { nodes { id } } }`
	require.EqualValues(t, 0, dig(t, d.queryDataAs(t, "operator", inbox, nil), "inbox", "claimsToDecide"))

	claim := modeltest.NewClaimAboveApprovalLimit(d.Bundle)
	d.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	d.RunJobs()
	toDecide := modeltest.OpenApprovalClaim(t, d.Bundle, d.Policy(claim.PolicyID), modeltest.NewUSD(100))
	d.queryData(t, `mutation($in: ChallengeClaimInput!) { challengeClaim(input: $in) { clientMutationId } }`, map[string]any{"in": map[string]any{"claimId": claim.ID, "reason": "It was stronger here."}})
	made := d.queryData(t, `mutation { createWebhookEndpoint(input: {url: "https://partner.example/hooks"}) { webhookEndpoint { id } } }`, nil)
	modeltest.ExecSQL(t, d.Bundle, "update webhook_progress set failures = 9")
	require.Empty(t, nodeIDs(t, d.queryDataAs(t, "operator", inbox, nil), "webhookEndpoints"))
	modeltest.ExecSQL(t, d.Bundle, "update webhook_progress set failures = 10")
	modeltest.ExecSQL(t, d.Bundle, "insert into feed_polls (source, url, next_poll_at, failures, failing_since) select name, 'https://feed.example', business_now(), 1, business_now() from sources order by name limit 1")
	modeltest.StopReleases(t, d.Bundle)

	data := d.queryDataAs(t, "operator", inbox, nil)
	counted := dig(t, data, "inbox").(map[string]any)
	for name, want := range map[string]int{"approvals": 1, "claimsToDecide": 1, "challenges": 1, "reconciliationExceptions": 0, "failingEndpoints": 1, "releaseStops": 1, "violatedInvariants": 0, "staleSources": 1} {
		require.EqualValues(t, want, counted[name], name)
	}
	require.Equal(t, []string{toDecide.ID}, nodeIDs(t, data, "claims"))
	require.Equal(t, []string{claim.ID}, nodeIDs(t, data, "challenged"))
	require.Equal(t, []string{dig(t, made, "createWebhookEndpoint", "webhookEndpoint", "id").(string)}, nodeIDs(t, data, "webhookEndpoints"))
	require.Len(t, nodeIDs(t, data, "payouts"), 1)
	require.Equal(t, "APPROVAL_REQUIRED", dig(t, counted, "unsettled", 0, "blockedReason"))
	refused := d.send(t, graphqlRequest{document: "{ inbox { approvals } }"})
	require.Equal(t, "insufficient_scope", refused.errorCode())
}

func TestOlderVersionsAndLatestEventsAreReadable(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	data := d.queryData(t, `{ first: product(key: "quake-circle", version: 3) { version } newest: product(key: "quake-circle") { version } }`, nil)
	require.EqualValues(t, 3, dig(t, data, "first", "version"))
	missing := d.send(t, graphqlRequest{document: `{ product(key: "quake-circle", version: 99) { version } }`})
	require.Equal(t, "not_found", missing.errorCode())

	d.Quote("quake-circle", nil)
	d.ActingAs(d.Globex).Quote("quake-circle", nil)
	d.relayEvents(t)
	latest := d.queryDataAs(t, "operator", `{ latestEvents(first: 2) { totalCount nodes { id partner type sequence } pageInfo { endCursor hasNextPage } } }`, nil)
	require.Equal(t, []any{"globex", "acme"}, []any{dig(t, latest, "latestEvents", "nodes", 0, "partner"), dig(t, latest, "latestEvents", "nodes", 1, "partner")})
	refused := d.send(t, graphqlRequest{document: "{ latestEvents { totalCount } }"})
	require.Equal(t, "insufficient_scope", refused.errorCode())
}

func TestMovingMoneyNeedsARecentSignIn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	d := newFixture(t)
	handler, err := graph.New(graph.Config{Service: d.Service, Streams: graph.Streams{Now: func() time.Time { return now }}})
	require.NoError(t, err)
	d.handler = handler
	for verb, input := range map[string]string{
		"approvePayout": `payoutId: "pay_x"`, "resolvePayout": `payoutId: "pay_x", outcome: BLOCKED, note: "n"`, "settlePayoutExternally": `payoutId: "pay_x", reference: "r", note: "n"`, "resumeReleases": `reason: "r"`,
	} {
		document := fmt.Sprintf("mutation { %s(input: {%s}) { clientMutationId } }", verb, input)
		d.Operator.SignIn = &actor.SignIn{At: now.Add(-15 * time.Minute), MaxAge: 15 * time.Minute}
		refused := d.send(t, graphqlRequest{as: "operator", document: document})
		require.Equal(t, "insufficient_user_authentication", refused.errorCode(), verb)
		require.Equal(t, http.StatusUnauthorized, refused.Errors[0].Extensions.Status)
		require.Contains(t, refused.body, `"max_age":900`)
		require.NotEmpty(t, refused.header.Get("WWW-Authenticate"), "%s: the challenge is sent", verb)
		d.Operator.SignIn = &actor.SignIn{At: now.Add(-14 * time.Minute), MaxAge: 15 * time.Minute}
		accepted := d.send(t, graphqlRequest{as: "operator", document: document})
		require.NotEqual(t, "insufficient_user_authentication", accepted.errorCode(), verb)
		require.Empty(t, accepted.header.Get("WWW-Authenticate"), verb)
	}
	d.Operator.SignIn = &actor.SignIn{MaxAge: 15 * time.Minute}
	require.Empty(t, d.send(t, graphqlRequest{as: "operator", document: `mutation { stopReleases(input: {reason: "r"}) { clientMutationId } }`}).Errors, "stopping needs no recent sign-in")
}
