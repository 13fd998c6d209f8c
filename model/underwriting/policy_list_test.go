package underwriting_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestPoliciesAreListedForTheirPartnerWithAndWithoutClaims(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, second := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("cyclone-circle", nil)
	theirs := b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	service := b.Service.Policies
	list := func(who actor.Actor, f store.Filter) (ids []string) {
		page := store.PageRequest{Limit: 1}
		for {
			full, err := service.List(t.Context(), who, f, page)
			require.NoError(t, err)
			bare, err := service.ListBare(t.Context(), who, f, page)
			require.NoError(t, err)
			require.Len(t, bare.Data, len(full.Data))
			for i, p := range full.Data {
				one, err := service.Get(t.Context(), who, p.ID)
				require.NoError(t, err)
				require.Equal(t, *one, p)
				ids = append(ids, p.ID)
				p.Claims = nil
				require.Equal(t, *b.DecodePolicy(&p), bare.Data[i], "the same but for the claims")
			}
			if !full.HasMore {
				return ids
			}
			page.Cursor = *full.NextCursor
		}
	}
	require.Equal(t, []string{second.ID, first.ID}, list(b.Acme, store.Filter{}))
	require.Equal(t, []string{theirs.ID, second.ID, first.ID}, list(b.Operator, store.Filter{}))
	require.Equal(t, []string{theirs.ID}, list(b.Operator, store.Filter{Partner: "globex"}))
	require.Equal(t, []string{first.ID}, list(b.Acme, store.Filter{Product: "quake-circle", Status: "active"}))
	require.Empty(t, list(b.Acme, store.Filter{Status: "expired"}))
	policy := b.Policy(first.ID)
	require.Len(t, policy.Claims, 1)
	require.EqualValues(t, 1, policy.ClaimsCount)
	bare, err := service.BareByID(t.Context(), b.Acme, []string{first.ID, theirs.ID, "pol_"})
	require.NoError(t, err)
	require.Len(t, bare, 1)
	require.EqualValues(t, 1, bare[first.ID].ClaimsCount)
	require.Empty(t, bare[first.ID].Claims)
	_, err = service.Get(t.Context(), b.Acme, theirs.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = service.List(t.Context(), b.Acme, store.Filter{Status: "paid"}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	unscoped := b.Acme
	unscoped.Scopes = []actor.Scope{actor.ScopeQuotesWrite}
	for _, read := range []func() error{
		func() error { _, err := service.Get(t.Context(), unscoped, first.ID); return err },
		func() error {
			_, err := service.ListBare(t.Context(), unscoped, store.Filter{}, store.PageRequest{})
			return err
		},
		func() error { _, err := service.BareByID(t.Context(), unscoped, []string{first.ID}); return err },
	} {
		require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, read()).Code)
	}
}

func TestPhaseOfAListedPolicyIsThatOfNow(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"starts_at": b.Now().Add(48 * time.Hour).Format(time.RFC3339), "term": "P60D"})
	phase := func() string {
		listed, err := b.Service.Policies.List(t.Context(), b.Acme, store.Filter{}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, listed.Data, 1)
		require.Equal(t, b.Policy(policy.ID), b.DecodePolicy(&listed.Data[0]))
		return listed.Data[0].CoverPhase
	}
	require.Equal(t, "scheduled", phase())
	b.AdvanceClock(72 * time.Hour)
	require.Equal(t, "waiting", phase())
	b.AdvanceClock(8 * 24 * time.Hour)
	require.Equal(t, "in_force", phase())
	b.AdvanceClock(60 * 24 * time.Hour)
	require.Equal(t, "ended", phase())
}

// A policy is written with the text of its cover. It must be what the cover is encoded as.
func TestStoredCoverIsTheCoverOfTheRecord(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	for _, product := range []string{"quake-circle", "cyclone-circle", "cyclone-pressure", "rain-excess", "rain-deficit", "heat-days"} {
		bound := b.QuoteAndBind(product, nil)
		stored, err := b.Service.Policies.Get(t.Context(), b.Acme, bound.ID)
		require.NoError(t, err)
		asStored, err := wire.Encode(stored)
		require.NoError(t, err)
		decoded, err := wire.Encode(b.DecodePolicy(stored))
		require.NoError(t, err)
		require.Equal(t, string(decoded), string(asStored))
	}
}

// A page is found by more keys than it has records, so the list has more than two pages.
func TestAllPoliciesOfAPartnerAreListedInBothOrders(t *testing.T) {
	t.Parallel()
	const policies = 2*store.MaxPageSize + 1
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.CopyPolicies(policies)
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil)
	list := func(order store.Order) (ids []string) {
		page := store.PageRequest{Limit: store.MaxPageSize, Order: order}
		for {
			found, err := b.Service.Policies.ListBare(t.Context(), b.Acme, store.Filter{}, page)
			require.NoError(t, err)
			for _, p := range found.Data {
				ids = append(ids, p.ID)
			}
			if !found.HasMore {
				total, _, err := found.Total(t.Context())
				require.NoError(t, err)
				require.Equal(t, policies, total)
				return ids
			}
			page.Cursor = *found.NextCursor
		}
	}
	oldest, newest := list(store.OldestFirst), list(store.NewestFirst)
	require.Len(t, newest, policies)
	require.IsIncreasing(t, oldest)
	slices.Reverse(oldest)
	require.Equal(t, newest, oldest)
	last, err := b.Service.Policies.ListBare(t.Context(), b.Acme, store.Filter{}, store.PageRequest{Limit: 1, Last: true})
	require.NoError(t, err)
	require.Equal(t, newest[policies-1], last.Data[0].ID)
}
