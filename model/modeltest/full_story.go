package modeltest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/challenge"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// PlayFullStory performs operations of the partner acme that produce every event type.
func (b *Bundle) PlayFullStory() {
	b.t.Helper()
	hooks := "https://hooks.example.com/parapet"
	endpoint := Must(b.Service.Webhooks.CreateEndpoint(b.ctx, b.Acme, webhooks.EndpointRequest{URL: &hooks}))
	b.Quote("quake-circle", nil) // never bound
	b.playExhaustedLimit()
	b.playDeferredClaim()
	b.playPayout()
	b.playDeclines()
	b.playChallenge()
	// No earthquake of the price data is near Berlin, so the price of a season is the
	// same on every day of the year.
	brief := b.QuoteAndBind("quake-circle", Context{"term": "P30D", "location": map[string]any{"latitude": 52.52, "longitude": 13.40}})
	b.AdvanceClock(31 * 24 * time.Hour)
	b.Sweep()
	b.AdvanceClock(90 * 24 * time.Hour)
	b.Sweep()
	require.Equal(b.t, "archived", b.Policy(brief.ID).Status)
	Must(b.Service.Webhooks.ChangeEndpoint(b.ctx, b.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new("disabled")}))
	b.Relay()
}

// hualienEpicentre is the epicentre of the M 6.4 earthquake of 6 February 2018.
var hualienEpicentre = hazard.Point{Latitude: 24.174, Longitude: 121.653}

// playExhaustedLimit exhausts a limit with one claim.
func (b *Bundle) playExhaustedLimit() {
	b.t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(Quake("us7000strong", b.Now(), hualienEpicentre, "7.4"))
	b.RunJobs()
	require.Equal(b.t, "exhausted", b.Policy(policy.ID).Status)
}

// playDeferredClaim opens a claim that waits for its source's final data.
func (b *Bundle) playDeferredClaim() {
	b.t.Helper()
	b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(2 * time.Minute) // events within a minute may be one event
	report := Quake("us1000chhc", b.Now(), hualienEpicentre, "6.3")
	for i, magnitude := range []string{"6.3", "6.4", "6.4"} {
		report.Stage = []trigger.Stage{trigger.Preliminary, trigger.Preliminary, trigger.Final}[i]
		report.Measures["magnitude"] = wire.Measure{Value: magnitude, Unit: "mw"}
		b.Observe(report)
		b.RunJobs()
	}
}

// playPayout releases, returns and finishes a claim's payout, after a failed first
// attempt.
func (b *Bundle) playPayout() {
	b.t.Helper()
	list := Must(b.Service.Claims.List(b.ctx, b.Acme, store.Filter{}, store.PageRequest{}))
	claim := list.Data[0].ID
	Must(b.Service.Claims.AddAttachment(b.ctx, b.Acme, claim, claims.AttachmentRequest{FileName: "shop.txt", ContentType: "text/plain", Content: strings.NewReader("The shop is closed.\n")}))
	Must(b.Service.Claims.AddMessage(b.ctx, b.Acme, claim, "When will it be paid?"))
	b.Rail.Verify = func(*payouts.PayeeAccount) (bool, string) { return false, "account_closed" }
	b.RecordPayoutMethod(IBANMethod(claim))
	b.RunJobs()
	b.Rail.Verify, b.Rail.Answer = nil, func(*release.Release) payouts.RailAnswer { return Unknown }
	b.RecordPayoutMethod(IBANMethod(claim))
	b.AdvanceClock(25 * time.Hour) // the cooling-off period of a replaced account is one day
	b.Sweep()
	b.RunJobs()
	b.Rail.Answer = nil
	b.AdvanceClock(time.Minute)
	b.RunJobs()
	first := b.Claim(claim).Payouts[0]
	b.reportPayout("monday", first, "settled")
	require.Equal(b.t, "closed", b.Claim(claim).Status)
	b.reportPayout("tuesday", first, "returned")
	second := b.Claim(claim).Payouts[1]
	Must(b.Service.Payouts.Approve(b.ctx, b.Operator, payouts.ApprovalRequest{PayoutID: second.ID}))
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return Mismatched }
	b.RunJobs()
	b.Rail.Answer = nil
	Must(b.Service.Payouts.Resolve(b.ctx, b.Operator, payouts.ResolutionRequest{PayoutID: second.ID, Outcome: claims.PayoutCancelled, Settled: true, Note: "The bank's letter."}))
	require.Equal(b.t, "closed", b.Claim(claim).Status)
}

// playChallenge challenges the decision on the claim of the exhausted limit; it is
// rejected.
func (b *Bundle) playChallenge() {
	b.t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(2 * time.Minute)
	b.Observe(Quake("us6000weak", b.Now(), hualienEpicentre, "6.1"))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	Must(b.Service.Challenges.Open(b.ctx, b.Acme, challenge.Request{ClaimID: claim.ID, Reason: "The shaking was stronger here."}))
	Must(b.Service.Challenges.Decide(b.ctx, b.Operator, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Rejected}))
}

// reportPayout imports a rail report with one payout.
func (b *Bundle) reportPayout(name string, payout wire.Payout, status string) {
	b.t.Helper()
	line := reconciliation.ReportLine{Key: b.RailKey(payout.ID, 1), Reference: "ref-1", Amount: payout.Amount, Status: status}
	Must(b.Service.Reconciliation.Reconcile(b.ctx, b.Operator, reconciliation.Report{Rail: RailName, Name: name, Lines: new(1)}, func(each func(reconciliation.ReportLine) error) error { return each(line) }))
}

// playDeclines declines a claim, cancels a policy and withdraws a claim.
func (b *Bundle) playDeclines() {
	b.t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	open := func() *wire.Claim {
		claim, _, err := b.Service.Adjudication.Open(b.ctx, b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: new(money.New(150_000, "USD"))})
		require.NoError(b.t, err)
		return claim
	}
	Must(b.Service.Adjudication.Decide(b.ctx, b.Operator, adjudication.DecisionRequest{ClaimID: open().ID, Outcome: claims.ClaimDeclined}))
	Must(b.Service.Adjudication.Withdraw(b.ctx, b.Operator, adjudication.WithdrawalRequest{ClaimID: open().ID}))
	Must(b.Service.Policies.Cancel(b.ctx, b.Operator, underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new("The premium never came.")}))
}
