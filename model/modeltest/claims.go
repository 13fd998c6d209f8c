package modeltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/scenario"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// NewSourceEventClaim returns the request of a claim for an event of a source.
func NewSourceEventClaim(policy *wire.Policy, source, id string) adjudication.ClaimRequest {
	return adjudication.ClaimRequest{PolicyID: policy.ID, SourceEvent: &adjudication.SourceEvent{Source: source, ID: id}}
}

// ObserveQuake reports an earthquake at a stage, now, and decides.
func ObserveQuake(b *Bundle, id, magnitude string, stage trigger.Stage) wire.ObservationInput {
	b.AdvanceClock(2 * time.Minute) // events within a minute may be the same event
	report := Quake(id, b.Now(), Epicentre, magnitude)
	report.Stage = stage
	b.Observe(report)
	b.RunJobs()
	return report
}

// OpenApprovalClaim opens an approval claim for an amount, nil for none.
func OpenApprovalClaim(t *testing.T, b *Bundle, policy *wire.Policy, amount *money.Money) *wire.Claim {
	t.Helper()
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: amount})
	require.NoError(t, err)
	return claim
}

// ReportFinal reports the source's final values.
func ReportFinal(b *Bundle, report wire.ObservationInput, magnitude string) {
	report.Stage, report.Measures = trigger.Final, map[string]wire.Measure{"magnitude": {Value: magnitude, Unit: "mw"}}
	b.Observe(report)
	b.RunJobs()
}

// DatabaseID returns the id of a policy in Postgres.
func DatabaseID(policy *wire.Policy) string { return Must(typeid.FromString(policy.ID)).UUID() }

// NewCancellation returns the request that cancels a policy.
func NewCancellation(policy *wire.Policy) underwriting.CancellationRequest {
	return underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new("The premium never came.")}
}

// NewAttachment returns a document with a name and a type.
func NewAttachment(name, kind, content string) claims.AttachmentRequest {
	return claims.AttachmentRequest{FileName: name, ContentType: kind, Content: strings.NewReader(content)}
}

// ExplainPolicy returns the explanation of an event for a policy of the acting partner.
func ExplainPolicy(t *testing.T, b *Bundle, policy *wire.Policy, ref scenario.OccurrenceRef) *wire.Explanation {
	t.Helper()
	e, err := b.Service.Scenarios.Explain(t.Context(), b.Acme, policy.ID, ref)
	require.NoError(t, err)
	require.NotEmpty(t, e.Reasons)
	for _, sentence := range e.Sentences {
		require.True(t, strings.HasSuffix(sentence, "."), sentence)
	}
	return e
}
