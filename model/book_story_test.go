package model_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/underwriting"
)

// bookMark marks texts of the template that differ between copies: the copier replaces it
// with the copy's own mark.
const bookMark = "copy-000000"

// These are the places of a book's policies. Of a hundred policies, ten are around
// Hualien without an event yet, and six around Athens, where every copy has an earthquake
// that paid; the others are all over the earth.
var (
	bookHualien = hazard.Point{Latitude: 24.0, Longitude: 121.5}
	bookAthens  = hazard.Point{Latitude: 38.0, Longitude: 23.7}
)

// playBookTemplate creates, with the domain's operations, the records that a book
// repeats, for acme: expired quotes, policies of several products, places and states, and
// claims that were paid and reconciled, wait for an account, were declined or withdrawn.
func playBookTemplate(t *testing.T, m *modeltest.Bundle, policies int) {
	t.Helper()
	m.StorePlain()
	p := bookPlayer{Bundle: m, t: t, random: rand.New(rand.NewPCG(1, 2))}
	m.Rail.Answer = func(order *release.Release) payouts.RailAnswer {
		return payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Code: "accepted", Reference: "ref-" + order.Key}
	}
	for range max(1, policies*3/10) {
		p.createQuote("quake-circle", modeltest.Context{"location": p.randomPoint()})
	}
	for range max(1, policies/50) {
		p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPoint(), "term": "P7D"})
	}
	m.AdvanceClock(8 * 24 * time.Hour)
	m.Sweep()
	for i := range policies {
		p.bindPolicyOfKind(i % 100)
	}
	m.RunJobs()
	m.Observe(modeltest.Quake("us-"+bookMark, m.Now(), bookAthens, "6.4"))
	m.RunJobs()
	p.reconcilePayouts()
	p.declineAndCancel()
	m.Relay()
}

// bookPlayer creates the template's records.
type bookPlayer struct {
	*modeltest.Bundle

	t       *testing.T
	random  *rand.Rand
	ordinal int // of the last record with a reference
}

// bindPolicyOfKind binds the policy of one of a hundred kinds.
func (p *bookPlayer) bindPolicyOfKind(kind int) {
	switch {
	case kind < 10:
		p.recordMethod(p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPointNear(bookHualien)}))
	case kind < 15:
		p.recordMethod(p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPointNear(bookAthens)}))
	case kind < 16: // its payout waits for an account
		p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPointNear(bookAthens)})
	case kind < 36:
		p.bindPolicy("cyclone-circle", modeltest.Context{"location": p.randomPointNear(hazard.Point{Latitude: 25, Longitude: -75})})
	case kind < 40:
		p.bindPolicy("rain-excess", modeltest.Context{})
	default:
		p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPoint()})
	}
}

// randomPoint returns a point on the earth, away from the places of the book's
// earthquakes.
func (p *bookPlayer) randomPoint() hazard.Point {
	for {
		at := hazard.Point{Latitude: math.Round(p.random.Float64()*1000-500) / 10, Longitude: math.Round(p.random.Float64()*3400-1700) / 10}
		if hazard.Distance(at, bookAthens) > 500 && hazard.Distance(at, bookHualien) > 500 {
			return at
		}
	}
}

// randomPointNear returns a point within some ten kilometres of another.
func (p *bookPlayer) randomPointNear(at hazard.Point) hazard.Point {
	return hazard.Point{Latitude: at.Latitude + math.Round(p.random.Float64()*40-20)/100, Longitude: at.Longitude + math.Round(p.random.Float64()*40-20)/100}
}

func (p *bookPlayer) createQuote(product string, context modeltest.Context) string {
	p.ordinal++
	request := p.QuoteRequest(product, context)
	request.PartnerReference = new(fmt.Sprintf("%s/%d", bookMark, p.ordinal))
	for {
		quote, err := p.Service.Quotes.Create(p.t.Context(), p.Acme, request)
		if refused := (*apperr.Error)(nil); errors.As(err, &refused) && refused.Code == apperr.CodeRiskUninsurable {
			context["location"] = p.randomPoint()
			request.Context = p.QuoteRequest(product, context).Context
			continue
		}
		require.NoError(p.t, err)
		return quote.ID
	}
}

func (p *bookPlayer) bindPolicy(product string, context modeltest.Context) string {
	quote := p.createQuote(product, context)
	policy, err := p.Service.Policies.Bind(p.t.Context(), p.Acme, underwriting.BindRequest{
		QuoteID: quote, PartnerReference: new(fmt.Sprintf("%s/%d", bookMark, p.ordinal)), Metadata: map[string]string{"branch": "north"},
	})
	require.NoError(p.t, err)
	return policy.ID
}

func (p *bookPlayer) recordMethod(policy string) {
	p.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy))
}

// reconcilePayouts reports the rail's settlements.
func (p *bookPlayer) reconcilePayouts() {
	lines := make([]reconciliation.ReportLine, len(p.Rail.Orders))
	for i, order := range p.Rail.Orders {
		lines[i] = reconciliation.ReportLine{Key: order.Key, Reference: "ref-" + order.Key, Amount: order.Amount, Status: reconciliation.LineSettled}
	}
	_, err := p.Service.Reconciliation.Reconcile(p.t.Context(), p.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: bookMark}, modeltest.ReadLines(lines))
	require.NoError(p.t, err)
}

// declineAndCancel declines a claim, withdraws another one and cancels a policy, as an
// operator.
func (p *bookPlayer) declineAndCancel() {
	policy := p.bindPolicy("quake-circle", modeltest.Context{"location": p.randomPoint()})
	open := func() string {
		claim, _, err := p.Service.Adjudication.Open(p.t.Context(), p.Acme, adjudication.ClaimRequest{PolicyID: policy, RequestedAmount: new(money.New(150_000, "USD"))})
		require.NoError(p.t, err)
		return claim.ID
	}
	_, err := p.Service.Adjudication.Decide(p.t.Context(), p.Operator, adjudication.DecisionRequest{ClaimID: open(), Outcome: claims.ClaimDeclined})
	require.NoError(p.t, err)
	_, err = p.Service.Adjudication.Withdraw(p.t.Context(), p.Operator, adjudication.WithdrawalRequest{ClaimID: open()})
	require.NoError(p.t, err)
	_, err = p.Service.Policies.Cancel(p.t.Context(), p.Operator, underwriting.CancellationRequest{PolicyID: policy, Reason: new("The premium never came.")})
	require.NoError(p.t, err)
}

// playBookRarities creates the rare records of a book: open quotes, a claim that waits
// for final data, a payout that waits for an operator.
func playBookRarities(m *modeltest.Bundle) {
	for range 10 {
		m.Quote("quake-circle", nil)
	}
	for range 10 {
		m.QuoteAndBind("quake-circle", modeltest.Context{"location": hazard.Point{Latitude: -41.3, Longitude: 174.8}})
	}
}
