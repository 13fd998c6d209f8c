package actor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/underwriting/capacity"
)

// operatorAt returns the person with this subject at an issuer.
func operatorAt(issuer, subject, name string) actor.Actor {
	actor := modeltest.Operator()
	actor.Issuer, actor.Subject, actor.Name = issuer, subject, name
	return actor
}

const otherIssuer = "https://id.elsewhere.test"

func TestApprovalsCountPeopleByIssuerAndSubject(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := modeltest.OnlyPayout(t, b, modeltest.NewClaimAboveApprovalLimit(b))
	approve := func(actor actor.Actor) error {
		_, err := b.Service.Payouts.Approve(t.Context(), actor, payouts.ApprovalRequest{PayoutID: payout.ID})
		return err
	}
	require.NoError(t, approve(operatorAt(modeltest.Issuer, "ann", "ann")))
	again := modeltest.DomainError(t, approve(operatorAt(modeltest.Issuer, "ann", "Ann of the console")))
	require.Equal(t, apperr.CodeStateConflict, again.Code, "one person with two names is one")
	require.NoError(t, approve(operatorAt(otherIssuer, "ann", "ann")), "two people may have one name")
	states, err := b.Service.Payouts.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	given := states[payout.ID].Approvals
	require.Len(t, given, 2)
	require.Equal(t, []string{"ann", modeltest.Issuer, "ann", otherIssuer}, []string{given[0].Author, *given[0].AuthorIssuer, given[1].Author, *given[1].AuthorIssuer})
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	notes, err := b.Service.Audit.ListOperatorActions(t.Context(), b.Operator, payout.ClaimID, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{modeltest.Issuer, otherIssuer}, []string{*notes.Data[0].AuthorIssuer, *notes.Data[1].AuthorIssuer})
}

// TestApprovalWithoutIssuerCountsForEveryIssuer has an approval from before issuers were
// recorded: its approver may be anybody with that subject, and no person may approve
// twice.
func TestApprovalWithoutIssuerCountsForEveryIssuer(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := modeltest.OnlyPayout(t, b, modeltest.NewClaimAboveApprovalLimit(b))
	for _, try := range []struct {
		issuer string
		want   apperr.Code
	}{{"", ""}, {otherIssuer, apperr.CodeStateConflict}} {
		_, err := b.Service.Payouts.Approve(t.Context(), operatorAt(try.issuer, "ann", "ann"), payouts.ApprovalRequest{PayoutID: payout.ID})
		if try.want == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, try.want, modeltest.DomainError(t, err).Code)
	}
}

// TestIdempotencyKeysBelongToOnePerson has two operators of one client, and two sources
// of one client, use the same key.
func TestIdempotencyKeysBelongToOnePerson(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := modeltest.OnlyPayout(t, b, modeltest.NewClaimAboveApprovalLimit(b))
	approve := func(actor actor.Actor) error {
		_, err := b.Service.Payouts.Approve(t.Context(), modeltest.WithKey(actor, "k1", "a"), payouts.ApprovalRequest{PayoutID: payout.ID})
		return err
	}
	replay := new(store.Replay)
	require.NoError(t, approve(operatorAt(modeltest.Issuer, "ann", "ann")))
	require.ErrorAs(t, approve(operatorAt(modeltest.Issuer, "ann", "Ann")), &replay)
	require.NoError(t, approve(operatorAt(otherIssuer, "ann", "ann")), "another person's key is another key")
	require.Equal(t, "pending", modeltest.OnlyPayout(t, b, b.Claim(payout.ClaimID)).Status)

	record := func(subject, id string) error {
		actor := b.Source
		actor.Subject = subject
		_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), modeltest.WithKey(actor, "k2", "b"), modeltest.Quake(id, b.Now(), modeltest.Epicentre, "4.0"), false)
		return err
	}
	require.NoError(t, record("usgs", "us7"))
	require.ErrorAs(t, record("usgs", "us7"), &replay)
	require.NoError(t, record("emsc", "em7"))
}

// TestRecordsNameOperatorsByIssuerAndSubject runs every operation that stores an
// operator's name.
func TestRecordsNameOperatorsByIssuerAndSubject(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ann := operatorAt(otherIssuer, "ann", "Ann of the console")
	ann.Operation = "test"
	stopped, err := b.Service.Controls.StopReleases(t.Context(), ann, controls.StopRequest{Reason: "A drill."})
	require.NoError(t, err)
	resumed, err := b.Service.Releases.ResumeReleases(t.Context(), ann, controls.ResumeRequest{Reason: "It is over."})
	require.NoError(t, err)
	moratorium, err := b.Service.Capacity.DeclareMoratorium(t.Context(), ann, capacity.MoratoriumRequest{EndsAt: b.Now().Add(time.Hour), Reason: "A storm."})
	require.NoError(t, err)
	capacity, err := b.Service.Capacity.Set(t.Context(), ann, capacity.Request{Product: "quake-circle", Currency: "USD", Amount: new(int64(1))})
	require.NoError(t, err)
	for what, named := range map[string][2]*string{
		"stopped": {&stopped.Stop.StoppedBy, stopped.Stop.StoppedByIssuer}, "resumed": {resumed.Stop.ResumedBy, resumed.Stop.ResumedByIssuer},
		"moratorium": {moratorium.Author, moratorium.AuthorIssuer}, "capacity": {&capacity.Author, capacity.AuthorIssuer},
	} {
		require.Equal(t, "ann", *named[0], what)
		require.Equal(t, otherIssuer, *named[1], what)
	}
	lines := modeltest.ListAudit(t, b, audit.Filter{Actor: "ann"})
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.Equal(t, otherIssuer, *line.Issuer)
	}
}
