package modeltest

import (
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Context is a quote's context; the partner is filled in.
type Context map[string]any

// QuoteRequest returns a quote request of the acting partner.
func (b *Bundle) QuoteRequest(product string, context Context) quoting.Request {
	b.t.Helper()
	full := maps.Clone(context)
	if full == nil {
		full = Context{}
	}
	if _, named := full["partner"]; !named {
		full["partner"] = b.actor.Partner
	}
	text, err := json.Marshal(full, json.Deterministic(true))
	require.NoError(b.t, err)
	return quoting.Request{Product: product, Context: text}
}

// Quote prices cover.
func (b *Bundle) Quote(product string, context Context) *wire.Quote {
	b.t.Helper()
	quote, err := b.Service.Quotes.Create(b.ctx, b.actor, b.QuoteRequest(product, context))
	require.NoError(b.t, err)
	return quote
}

// Bind binds a quote.
func (b *Bundle) Bind(quote *wire.Quote) *wire.Policy {
	b.t.Helper()
	policy, err := b.Service.Policies.Bind(b.ctx, b.actor, underwriting.BindRequest{QuoteID: quote.ID})
	require.NoError(b.t, err)
	return policy
}

// QuoteAndBind quotes and binds.
func (b *Bundle) QuoteAndBind(product string, context Context) *wire.Policy {
	b.t.Helper()
	return b.Bind(b.Quote(product, context))
}

// Observe posts observations of a source; none may be rejected.
func (b *Bundle) Observe(in ...wire.ObservationInput) []wire.ObservationResult {
	b.t.Helper()
	results, err := b.Service.Occurrences.RecordObservations(b.ctx, b.Source, in, false)
	require.NoError(b.t, err)
	for _, result := range results {
		require.NotEqual(b.t, occurrence.ResultRejected, result.Result, "%+v", result.Errors)
	}
	return results
}

// Quake returns a final report of usgs at the given instant.
func Quake(id string, at time.Time, where hazard.Point, magnitude string) wire.ObservationInput {
	return wire.ObservationInput{
		Source: "usgs", SourceEventID: id, Kind: hazard.Earthquake, OccurredAt: at, Stage: trigger.Final, Location: &where,
		Measures: map[string]wire.Measure{"magnitude": {Value: magnitude, Unit: "mw"}, "depth": {Value: "10", Unit: "km"}},
	}
}

// Fix returns a final position of a storm as nhc reports it.
func Fix(storm string, at time.Time, where hazard.Point, wind string) wire.ObservationInput {
	return wire.ObservationInput{
		Source: "nhc", SourceEventID: storm, Kind: hazard.StormFix, OccurredAt: at, Stage: trigger.Final, Location: &where,
		Measures: map[string]wire.Measure{"wind": {Value: wind, Unit: "kn"}},
	}
}

// StationDay returns a final day of rain at a station as ghcn reports it.
func StationDay(station string, day time.Time, rain string) wire.ObservationInput {
	return wire.ObservationInput{
		Source: "ghcn", SourceEventID: station + "/" + day.Format(time.DateOnly), Kind: hazard.StationDay, OccurredAt: day,
		Stage: trigger.Final, Station: station, Measures: map[string]wire.Measure{"precipitation": {Value: rain, Unit: "mm"}},
	}
}

// Policy reads a policy.
func (b *Bundle) Policy(id string) *wire.Policy {
	b.t.Helper()
	policy, err := b.Service.Policies.Get(b.ctx, b.actor, id)
	require.NoError(b.t, err)
	return b.DecodePolicy(policy)
}

// DecodePolicy decodes the cover of a policy.
func (b *Bundle) DecodePolicy(stored *wire.StoredPolicy) *wire.Policy {
	b.t.Helper()
	policy := &wire.Policy{PolicyHead: stored.PolicyHead, PolicyTail: stored.PolicyTail}
	require.NoError(b.t, wire.Decode(stored.Cover, &policy.Cover))
	return policy
}

// Claims returns a policy's claims, oldest first.
func (b *Bundle) Claims(policy *wire.Policy) []*wire.Claim {
	b.t.Helper()
	var claims []*wire.Claim
	for _, brief := range b.Policy(policy.ID).Claims {
		claims = append(claims, b.Claim(brief.ID))
	}
	return claims
}

// OnlyClaim returns the single claim of a policy.
func (b *Bundle) OnlyClaim(policy *wire.Policy) *wire.Claim {
	b.t.Helper()
	claims := b.Claims(policy)
	require.Len(b.t, claims, 1)
	return claims[0]
}

// Claim reads a claim.
func (b *Bundle) Claim(id string) *wire.Claim {
	b.t.Helper()
	claim, err := b.Service.Claims.Get(b.ctx, b.actor, id)
	require.NoError(b.t, err)
	return claim
}

// Timeline returns the whole timeline of a claim.
func (b *Bundle) Timeline(claim string) []wire.TimelineEntry {
	b.t.Helper()
	list, err := b.Service.Claims.GetTimeline(b.ctx, b.actor, claim, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(b.t, err)
	require.False(b.t, list.HasMore)
	return list.Data
}

// TimelineKinds returns the kinds of a claim's timeline entries, in order.
func (b *Bundle) TimelineKinds(claim string) []string {
	b.t.Helper()
	var kinds []string
	for _, entry := range b.Timeline(claim) {
		kinds = append(kinds, entry.Kind)
	}
	return kinds
}

// IBANMethod returns the request to pay a claim to a German account in dollars.
func IBANMethod(claim string) payouts.MethodRequest { return germanIBANMethod(&claim, nil) }

// PolicyIBANMethod returns the same request for all claims of a policy.
func PolicyIBANMethod(policy string) payouts.MethodRequest { return germanIBANMethod(nil, &policy) }

func germanIBANMethod(claim, policy *string) payouts.MethodRequest {
	return payouts.MethodRequest{
		ClaimID: claim, PolicyID: policy, Currency: "USD", Beneficiary: account.Beneficiary{Name: "Lin Mei-hua", Country: "TW"},
		Number: account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "DE89370400440532013000"}},
	}
}

// RecordPayoutMethod records a payout method.
func (b *Bundle) RecordPayoutMethod(in payouts.MethodRequest) *wire.PayoutMethod {
	b.t.Helper()
	method, err := b.Service.Payouts.RecordMethod(b.ctx, b.actor, in)
	require.NoError(b.t, err)
	return method
}
