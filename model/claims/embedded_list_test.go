package claims_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// openForApproval opens a claim of origin approval.
func openForApproval(b *modeltest.Bundle, policy *wire.Policy) *wire.Claim {
	claim, created := must2(b.Service.Adjudication.Open(context.Background(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID}))
	if !created {
		panic("a claim of origin approval is always a new one")
	}
	return claim
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func TestPolicyEmbedsNewestTwentyClaimsAndCount(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	require.Empty(t, policy.Claims)
	require.Zero(t, policy.ClaimsCount)
	var want []wire.ClaimBrief
	for i := range 25 {
		if i%15 == 14 {
			b.AdvanceClock(25 * time.Hour)
		}
		claim := openForApproval(b, policy)
		want = append(want, wire.ClaimBrief{ID: claim.ID, Status: "opened"})
	}
	now := b.Policy(policy.ID)
	require.Equal(t, want[5:], now.Claims, "the newest ones, in ascending order")
	require.EqualValues(t, 25, now.ClaimsCount)

	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: want[24].ID, Outcome: claims.ClaimApproved, Amount: modeltest.NewUSD(1000)})
	require.NoError(t, err)
	want[24].Status = "approved"
	events := eventsOf(t, b, policy.ID)
	require.Equal(t, "policy.updated", events[len(events)-1].Type)
	inEvent := eventObject[wire.Policy](t, events[len(events)-1])
	require.Equal(t, want[5:], inEvent.Claims, "the event shows what the record shows")
	require.EqualValues(t, 25, inEvent.ClaimsCount)

	bare, err := b.Service.Policies.BareByID(t.Context(), b.Acme, []string{policy.ID})
	require.NoError(t, err)
	require.EqualValues(t, 25, bare[policy.ID].ClaimsCount)

	page, err := b.Service.Claims.ClaimsOf(t.Context(), b.Acme, []string{policy.ID}, store.PageRequest{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, want[24].ID, page[policy.ID].Data[0].ID)
	page, err = b.Service.Claims.ClaimsOf(t.Context(), b.Acme, []string{policy.ID}, store.PageRequest{Limit: 100, Cursor: *page[policy.ID].NextCursor})
	require.NoError(t, err)
	require.Len(t, page[policy.ID].Data, 15, "the list has all of them")
	require.Equal(t, want[14].ID, page[policy.ID].Data[0].ID)
	require.Equal(t, want[0].ID, page[policy.ID].Data[14].ID)

	cancelled, err := b.Service.Policies.Cancel(t.Context(), b.Operator, underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new("It is sold.")})
	require.NoError(t, err)
	require.Equal(t, want[5:], cancelled.Claims)
	require.EqualValues(t, 25, cancelled.ClaimsCount)
}

// eventsOf returns the events about a record, oldest first.
func eventsOf(t *testing.T, b *modeltest.Bundle, id string) []wire.Event {
	t.Helper()
	b.Relay()
	page, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{Subject: id}, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	return page.Data
}

// eventObject returns the record that an event shows.
func eventObject[T any](t *testing.T, event wire.Event) T {
	t.Helper()
	var data struct {
		Object T `json:"object"`
	}
	require.NoError(t, wire.Decode(event.Data, &data))
	return data.Object
}

func TestClaimEmbedsNewestTwentyPayoutsAndCount(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	first := b.OnlyClaim(policy).Payouts[0]
	_, err := b.DB.Pool.Exec(t.Context(), `insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'claim_sequence', null, 'debt_digest', left(md5(random()::text), 16), 'installment', 100 + i, 'amount', i))).*
		from payouts p, generate_series(1, 24) i`)
	require.NoError(t, err)
	claim := b.OnlyClaim(policy)
	require.EqualValues(t, 25, claim.PayoutsCount)
	require.Len(t, claim.Payouts, 20)
	for i, payout := range claim.Payouts {
		require.EqualValues(t, 5+i, payout.Amount.Amount, "the newest ones, in ascending order")
	}
	page, err := b.Service.Claims.GetPayouts(t.Context(), b.Acme, claim.ID, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, 25)
	require.Equal(t, first.ID, page.Data[24].ID)

	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	events := eventsOf(t, b, claim.ID)
	last := events[len(events)-1]
	require.Equal(t, "claim.updated", last.Type)
	inEvent := eventObject[wire.Claim](t, last)
	require.Len(t, inEvent.Payouts, 20)
	for i, payout := range inEvent.Payouts {
		require.Equal(t, claim.Payouts[i].ID, payout.ID, "the event shows the payouts of its time")
	}
	require.EqualValues(t, 25, inEvent.PayoutsCount)
	require.EqualValues(t, 26, b.OnlyClaim(policy).PayoutsCount)
}

// TestMatchingLocksOnlyClaimsOfSameEvent holds locks that matching would wait for
// if it read all claims of a policy.
func TestMatchingLocksOnlyClaimsOfSameEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	openForApproval(b, policy)
	b.Observe(modeltest.Quake("old", b.Now(), modeltest.Hualien, "6.5"))
	b.RunJobs()
	b.AdvanceClock(48 * time.Hour)
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	locked, err := tx.Exec(t.Context(), "select from claims for no key update")
	require.NoError(t, err)
	require.EqualValues(t, 2, locked.RowsAffected())

	b.Observe(modeltest.Quake("new", b.Now(), modeltest.Hualien, "6.5"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, b.Service.Adjudication.Evaluate(ctx, b.LastJob().(occurrence.EvaluateOccurrences)), "it waits for no other claim")
	require.NoError(t, tx.Rollback(t.Context()))
	b.RunJobs()
	require.EqualValues(t, 3, b.Policy(policy.ID).ClaimsCount)
}

func TestConcurrentClaimsGetOnePolicySequence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	other := b.QuoteAndBind("quake-circle", nil)
	const racers = 8
	done := make(chan error, racers)
	for range racers {
		go func() {
			_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
			done <- err
		}()
	}
	for range racers {
		require.NoError(t, <-done)
	}
	openForApproval(b, other)
	var sequences []int64
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select array_agg(policy_sequence order by policy_sequence) from claims").Scan(&sequences))
	require.Equal(t, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8}, sequences)
	require.EqualValues(t, racers, b.Policy(policy.ID).ClaimsCount)
}

func TestDeliveryEmbedsNewestTwentyAttempts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks")})
	require.NoError(t, err)
	b.Quote("quake-circle", nil)
	attempts := func() *wire.Delivery {
		b.Relay()
		b.RunJobs()
		page, err := b.Service.Webhooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, "", store.PageRequest{})
		require.NoError(t, err)
		return &page.Data[len(page.Data)-1]
	}
	first := attempts()
	require.Len(t, first.Attempts, 1)
	for range 24 {
		_, err := b.Service.Webhooks.RetryDelivery(t.Context(), b.Acme, first.ID)
		require.NoError(t, err)
		require.Equal(t, first.ID, attempts().ID)
	}
	last := attempts()
	require.Len(t, last.Attempts, 20)
	require.True(t, last.Attempts[0].At.After(first.Attempts[0].At), "the oldest are left out")
	require.False(t, last.Attempts[19].At.Before(last.Attempts[0].At), "oldest first")
}
