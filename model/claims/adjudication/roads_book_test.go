package adjudication_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// generator makes a random book and random events from a seed.
type generator struct {
	*testing.T
	*rand.Rand

	book             *modeltest.Bundle
	now              time.Time // on the clock of the copies
	measuredVersions int       // published versions of quake-circle with several sources
}

// pick returns one of several values.
func pick[V any](g *generator, values ...V) V { return values[g.IntN(len(values))] }

// near returns a value at most reach from a centre, with three decimals.
func (g *generator) near(centre, reach float64) float64 {
	return float64(int((centre+reach*(2*g.Float64()-1))*1000)) / 1000
}

// decimal returns a whole number in a range as a decimal string.
func (g *generator) decimal(from, to int) string {
	return strconv.Itoa(from + g.IntN(to-from+1))
}

// shippedProducts are the keys of the catalogue.
var shippedProducts = []string{"quake-circle", "cyclone-circle", "cyclone-pressure", "rain-excess", "rain-deficit", "heat-days"}

// drawContext returns a random cover of a product.
func (g *generator) drawContext(product string) modeltest.Context {
	in := modeltest.Context{"term": pick(g, "P365D", "P365D", "P365D", "P300D", "P200D", "P60D")}
	switch product {
	case "quake-circle":
		in["location"] = map[string]float64{"latitude": g.near(modeltest.Hualien.Latitude, 0.4), "longitude": g.near(modeltest.Hualien.Longitude, 0.4)}
		in["radius_km"], in["maximum_depth_km"] = 30+g.IntN(120), 20+g.IntN(80)
	case "cyclone-circle":
		in["location"] = map[string]float64{"latitude": g.near(modeltest.Miami.Latitude, 0.5), "longitude": g.near(modeltest.Miami.Longitude, 0.5)}
		in["radius_km"] = 30 + g.IntN(120)
	case "cyclone-pressure":
		if g.IntN(2) == 0 {
			south, west := g.near(25.4, 0.5), g.near(-80.6, 0.5)
			in["box"] = map[string]float64{"west": west, "south": south, "east": west + 0.8, "north": south + 0.7}
		} else {
			in["location"] = map[string]float64{"latitude": g.near(modeltest.Miami.Latitude, 0.5), "longitude": g.near(modeltest.Miami.Longitude, 0.5)}
			in["radius_km"] = 30 + g.IntN(120)
		}
	case "rain-excess":
		in["station"], in["days"] = pick(g, "Milwaukee", "Merced"), 1+g.IntN(5)
		in["attach"], in["exhaust"] = g.decimal(60, 110), g.decimal(120, 260)
	case "rain-deficit":
		in["calendar"] = pick(g, "month", "dekad")
		in["attach"] = g.decimal(1, 9)
	case "heat-days":
		starts := g.season()
		in["starts_at"], in["term"] = starts.Format(time.RFC3339), pick(g, "P24D", "P30D")
		in["attach"], in["exhaust"] = g.decimal(0, 2), g.decimal(3, 8)
	}
	if _, fixed := in["starts_at"]; !fixed && g.IntN(4) == 0 {
		in["starts_at"] = g.now.AddDate(0, 0, 1+g.IntN(240)).Format(time.RFC3339)
	}
	code := pick(g, "USD", "USD", "EUR", "JPY")
	in["limit"] = map[string]any{"amount": map[string]int{"USD": 100_000, "EUR": 100_000, "JPY": 150_000}[code] * (1 + g.IntN(130)), "currency": code}
	return in
}

// season returns the first day of the covers for heat: the next 20 May that a cover may
// start at.
func (g *generator) season() time.Time {
	starts := time.Date(g.now.Year()+1, time.May, 20, 0, 0, 0, 0, time.UTC)
	if starts.Sub(g.now) > 360*modeltest.Day {
		starts = starts.AddDate(-1, 0, 0)
	}
	return starts
}

// bindBook binds n random policies of two partners. Some have a payout method, some have
// used a part of their limit, some are cancelled, some end, and some begin later. The
// clock is then in the season of heat. From a third of the policies on, several sources
// measure earthquakes, by rules that change.
func (g *generator) bindBook(n int) {
	g.Helper()
	g.now = g.book.Now()
	for i := range n {
		if i%len(shippedProducts) == 0 && i >= n/3 && g.measuredVersions < 20 {
			g.publishMeasured()
		}
		caller := pick(g, g.book.Acme, g.book.Acme, g.book.Globex)
		as := g.book.ActingAs(caller)
		policy := g.bind(caller, shippedProducts[i%len(shippedProducts)])
		if g.IntN(2) == 0 {
			as.RecordPayoutMethod(methodIn(policy))
		}
		if policy.CoverPhase == "scheduled" && g.IntN(8) == 0 {
			_, err := as.Service.Policies.Cancel(g.Context(), as.Operator, modeltest.NewCancellation(policy))
			require.NoError(g, err)
			continue
		}
		if policy.CoverPhase != "scheduled" && g.IntN(6) == 0 {
			g.useLimit(policy)
		}
	}
	g.book.Rail.Verify = func(*payouts.PayeeAccount) (bool, string) { return g.IntN(5) > 0, "account_checked" }
	g.book.RunAccountChecks()
	g.book.AdvanceClock(g.season().AddDate(0, 0, 42).Sub(g.now))
	g.book.Sweep()
	g.book.RunJobs()
}

// bind binds a random cover that the product accepts.
func (g *generator) bind(caller actor.Actor, product string) *wire.Policy {
	g.Helper()
	as := g.book.ActingAs(caller)
	for range 100 {
		in := g.drawContext(product)
		quote, err := as.Service.Quotes.Create(g.Context(), caller, as.QuoteRequest(product, in))
		if apperr.CodeOf(err) == apperr.CodeRiskUninsurable || apperr.CodeOf(err) == apperr.CodeValidationFailed {
			continue // for instance a limit above the largest one
		}
		require.NoError(g, err, "%s %v", product, in)
		return as.Bind(quote)
	}
	require.FailNow(g, "no cover is insurable", "%s", product)
	return nil
}

// publishMeasured publishes a version of quake-circle that three sources decide by a
// random rule.
func (g *generator) publishMeasured() {
	g.Helper()
	g.measuredVersions++
	rule := pick(g, "{kind: first_of}", twoAgree, "{kind: worst_of}", "{kind: best_of}")
	g.book.PublishMeasured("quake-circle", threeSources(rule, pick(g, "next_rank", "operator", "none")), 1000+g.measuredVersions)
}

// useLimit makes an operator approve a claim for a part of the limit.
func (g *generator) useLimit(policy *wire.Policy) {
	g.Helper()
	amount := money.New(policy.Limit.Amount*int64(1+g.IntN(4))/4, policy.Limit.Currency)
	claim, _, err := g.book.Service.Adjudication.Open(g.Context(), modeltest.Partner(*policy.Partner), adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: &amount})
	require.NoError(g, err)
	_, err = g.book.Service.Adjudication.Decide(g.Context(), g.book.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved})
	require.NoError(g, err)
}

// methodIn returns an account in the policy's currency.
func methodIn(policy *wire.Policy) payouts.MethodRequest {
	in := modeltest.PolicyIBANMethod(policy.ID)
	in.Currency = policy.Limit.Currency
	return in
}

// formatPolicy returns the public id of a policy.
func formatPolicy(t *testing.T, id string) string {
	t.Helper()
	key := uuid.MustParse(id)
	return modeltest.Must(typeid.FromUUIDBytesWithPrefix("pol", key[:])).String()
}
