package underwriting_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestBindMakesTheQuotedCoverBinding(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", modeltest.Context{"policyholder": map[string]string{"name": "Lin Mei-hua", "country": "TW"}})
	before := b.Now()
	policy := b.Bind(quote)

	require.Equal(t, "active", policy.Status)
	require.Equal(t, "in_force", policy.CoverPhase)
	require.Equal(t, quote.ID, policy.QuoteID)
	require.Equal(t, quote.TermsHash, policy.TermsHash)
	require.Equal(t, quote.Cover, policy.Cover)
	require.Equal(t, quote.Price.Premium, policy.Premium)
	require.Equal(t, policy.Limit, policy.LimitRemaining)
	require.Equal(t, policy.CreatedAt, policy.EffectiveAt)
	require.False(t, policy.EffectiveAt.Before(before))
	require.False(t, policy.EffectiveAt.After(b.Now()))
	require.True(t, policy.ExpiresAt.Equal(policy.EffectiveAt.Add(365*24*time.Hour)))
	require.Equal(t, "Lin Mei-hua", *policy.Policyholder.Name)
	require.Empty(t, policy.Claims)

	same := func(want, got any) {
		wanted, err := wire.Encode(want)
		require.NoError(t, err)
		gotten, err := wire.Encode(got)
		require.NoError(t, err)
		require.Equal(t, string(wanted), string(gotten), "read back as it was answered")
	}
	same(policy, b.Policy(policy.ID))
	bound, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
	require.NoError(t, err)
	require.Equal(t, "bound", bound.Status)
	require.Equal(t, policy.ID, *bound.PolicyID)
	bound.Status, bound.PolicyID, bound.Version, bound.UpdatedAt = quote.Status, nil, quote.Version, quote.UpdatedAt
	same(quote, bound)
}

func TestCoverThatStartsLaterIsScheduled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	starts := b.Now().Add(48 * time.Hour).Truncate(time.Second)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": starts.Format(time.RFC3339)})
	require.Equal(t, "active", policy.Status)
	require.Equal(t, "scheduled", policy.CoverPhase)
	require.True(t, starts.Equal(policy.EffectiveAt))
	b.AdvanceClock(49 * time.Hour)
	require.Equal(t, "in_force", b.Policy(policy.ID).CoverPhase)
	b.AdvanceClock(366 * 24 * time.Hour)
	require.Equal(t, "ended", b.Policy(policy.ID).CoverPhase)
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bind := func(quote string) *apperr.Error {
		_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote})
		return modeltest.DomainError(t, err)
	}
	bound := b.Quote("quake-circle", nil)
	policy := b.Bind(bound)
	again := bind(bound.ID)
	require.Equal(t, apperr.CodeQuoteAlreadyBound, again.Code)
	require.Equal(t, policy.ID, again.ResourceID)

	foreign, unknown := bind(b.ActingAs(b.Globex).Quote("quake-circle", nil).ID), bind("quo_01kajw6p5qfn1t7zbjy0yse3hv")
	require.Equal(t, apperr.CodeNotFound, foreign.Code)
	require.Equal(t, unknown, foreign, "a foreign quote and one that never was look the same")
	another := bind(policy.ID)
	require.Equal(t, apperr.CodeNotFound, another.Code)
	require.Contains(t, another.Detail, "begin with quo_, not pol_")

	stale := b.Quote("quake-circle", nil)
	late := b.Quote("quake-circle", modeltest.Context{"starts_at": b.Now().Add(time.Hour).Format(time.RFC3339)})
	b.AdvanceClock(2 * time.Hour)
	require.Equal(t, apperr.CodeQuoteExpired, bind(late.ID).Code)
	b.AdvanceClock(23 * time.Hour)
	require.Equal(t, apperr.CodeQuoteExpired, bind(stale.ID).Code, "also before a sweep has seen it")
}

func TestFiftyBindsOfOneQuoteMakeOnePolicy(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	var won atomic.Int32
	var policies sync.Map
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			policy, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
			if err == nil {
				won.Add(1)
				policies.Store(policy.ID, true)
				return
			}
			lost := new(apperr.Error)
			if errors.As(err, &lost) && lost.Code == apperr.CodeQuoteAlreadyBound {
				policies.Store(lost.ResourceID, true)
			}
		})
	}
	all.Wait()
	require.Equal(t, int32(1), won.Load())
	count := 0
	policies.Range(func(any, any) bool { count++; return true })
	require.Equal(t, 1, count, "the losers' errors name the winner's policy")
	require.Equal(t, 1, b.CountRows()["policies"])
}

func TestPoliciesExpireAndAreArchived(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"term": "P30D"})
	b.AdvanceClock(30*24*time.Hour + time.Minute)
	b.Sweep()
	require.Equal(t, "expired", b.Policy(policy.ID).Status)
	b.AdvanceClock(89 * 24 * time.Hour)
	b.Sweep()
	require.Equal(t, "expired", b.Policy(policy.ID).Status, "claims may still be reported")
	b.AdvanceClock(24 * time.Hour)
	b.Sweep()
	require.Equal(t, "archived", b.Policy(policy.ID).Status)
}

func TestAnOpenClaimKeepsItsPolicyFromTheArchive(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"term": "P30D"})
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.AdvanceClock(200 * 24 * time.Hour)
	b.Sweep()
	require.Equal(t, "expired", b.Policy(policy.ID).Status)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}
