package actor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// Groups of scopes.
type group int

const (
	reading   group = iota // a partner's reads
	writing                // a partner's writes
	observing              // the scope of data sources
	operating              // the scope of operators
)

// scopes groups every scope of the contract.
var scopes = map[group][]actor.Scope{
	reading: {
		actor.ScopeQuotesRead, actor.ScopePoliciesRead, actor.ScopeClaimsRead, actor.ScopePayoutsRead,
		actor.ScopeProductsRead, actor.ScopeEventsRead, actor.ScopeWebhooksRead,
	},
	writing: {
		actor.ScopeQuotesWrite, actor.ScopePoliciesWrite, actor.ScopeClaimsWrite, actor.ScopePayoutMethodsWrite, actor.ScopeWebhooksWrite,
	},
	observing: {actor.ScopeObservationsWrite},
	operating: {actor.ScopeOperator},
}

// scopesExcept returns all scopes but one.
func scopesExcept(excluded actor.Scope) (others []actor.Scope) {
	for _, members := range scopes {
		others = append(others, members...)
	}
	return slices.DeleteFunc(others, func(scope actor.Scope) bool { return scope == excluded })
}

func TestScopesAreAllowedByKindOfActor(t *testing.T) {
	t.Parallel()
	all := []group{reading, writing, observing, operating}
	for kind, allowed := range map[actor.Kind]struct{ without, with []group }{ // without the scope in the token, and with it
		actor.KindSystem:   {without: all, with: all},
		actor.KindOperator: {without: []group{reading, operating}, with: []group{reading, operating, observing}},
		actor.KindPartner:  {with: all},
		actor.KindSource:   {with: []group{observing}},
		actor.KindRail:     {},
		"":                 {},
	} {
		for of, members := range scopes {
			for _, scope := range members {
				without := actor.Actor{Kind: kind, Scopes: scopesExcept(scope)}
				with := actor.Actor{Kind: kind, Scopes: []actor.Scope{scope}}
				require.Equal(t, slices.Contains(allowed.without, of), without.IsAllowed(scope), "%s without %s", kind, scope)
				require.Equal(t, slices.Contains(allowed.with, of), with.IsAllowed(scope), "%s with %s", kind, scope)
				require.Equal(t, with.IsAllowed(scope), with.RequireScope(scope) == nil, "%s with %s", kind, scope)
			}
		}
	}
}

func TestPartnersAreGrantedTheirReadsAndWrites(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, slices.Concat(scopes[reading], scopes[writing]), actor.PartnerScopes())
}

func TestRefusalNamesTheMissingScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind   actor.Kind
		scope  actor.Scope
		detail string
	}{
		{actor.KindPartner, actor.ScopeClaimsWrite, "The token lacks the scope claims:write; ask the issuer for it."},
		{actor.KindSource, actor.ScopeObservationsWrite, "The token lacks the scope observations:write; ask the issuer for it."},
		{actor.KindOperator, actor.ScopeClaimsWrite, "This needs a partner's token with the scope claims:write; operators do not act for partners."},
		{actor.KindOperator, actor.ScopeObservationsWrite, "The token lacks the scope observations:write; ask the issuer for it."},
	} {
		refusal := modeltest.DomainError(t, actor.Actor{Kind: tc.kind}.RequireScope(tc.scope))
		require.Equal(t, apperr.CodeInsufficientScope, refusal.Code)
		require.Equal(t, tc.detail, refusal.Detail)
		require.Equal(t, map[string]any{"scope": string(tc.scope)}, refusal.Extra)
	}
}

func TestSecondScopeCountsOnlyWithoutTheFirst(t *testing.T) {
	t.Parallel()
	first, second := actor.ScopeClaimsRead, actor.ScopePayoutsRead
	for _, tc := range []struct {
		scopes []actor.Scope
		want   actor.Scope
	}{
		{nil, first}, {[]actor.Scope{first}, first}, {[]actor.Scope{second}, second}, {[]actor.Scope{second, first}, first},
	} {
		require.Equal(t, tc.want, actor.Actor{Kind: actor.KindPartner, Scopes: tc.scopes}.PreferScope(first, second), "%v", tc.scopes)
	}
}

func TestOnlyPartnersActOnTheirOwnRecords(t *testing.T) {
	t.Parallel()
	for _, kind := range []actor.Kind{actor.KindSystem, actor.KindOperator, actor.KindRail, actor.KindSource} {
		require.Equal(t, actor.ScopeOperator, actor.Actor{Kind: kind}.ScopeForOwnRecords(actor.ScopeClaimsWrite), kind)
	}
	require.Equal(t, actor.ScopeClaimsWrite, actor.Actor{Kind: actor.KindPartner}.ScopeForOwnRecords(actor.ScopeClaimsWrite))
}

func TestCallerNameNamesThePartnerOrElseTheClient(t *testing.T) {
	t.Parallel()
	partner := actor.Actor{Kind: actor.KindPartner, Partner: "acme", Client: "acme-web"}.CallerName()
	client := actor.Actor{Kind: actor.KindOperator, Client: "console"}.CallerName()
	require.Equal(t, []string{"partner/acme", "client/console"}, []string{partner, client})
	slug, is := actor.PartnerOfCaller(partner)
	require.True(t, is)
	require.Equal(t, "acme", slug)
	_, is = actor.PartnerOfCaller(client)
	require.False(t, is)
}

func TestPartnersSeeNoNameOfAnOperator(t *testing.T) {
	t.Parallel()
	require.Equal(t, "parapet", actor.Actor{Kind: actor.KindOperator, Name: "olive"}.DisplayName())
	for _, kind := range []actor.Kind{actor.KindPartner, actor.KindRail, actor.KindSource} {
		require.Equal(t, "acme-client", actor.Actor{Kind: kind, Name: "acme-client"}.DisplayName(), kind)
	}
}

func TestPreconditionRequiresTheVersionOfTheRecord(t *testing.T) {
	t.Parallel()
	condition := actor.RequireVersion("clm_1", 3)
	require.Equal(t, "clm_1", condition.ID)
	require.NoError(t, condition.Check(wire.Claim{Header: wire.Header{Version: 3}}))
	for _, version := range []int64{2, 4} {
		refusal := modeltest.DomainError(t, condition.Check(wire.Claim{Header: wire.Header{Version: version}}))
		require.Equal(t, apperr.CodeVersionMismatch, refusal.Code)
		require.Equal(t, fmt.Sprintf("It has version %d now; read it again before you change it.", version), refusal.Detail)
	}
}

func TestPartnerScopeIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		caller, asked, want string
		code                apperr.Code
	}{
		{"acme", "", "acme", ""},
		{"acme", "acme", "acme", ""},
		{"acme", "globex", "", apperr.CodePartnerMismatch},
		{"", "", "", ""},
		{"", "globex", "globex", ""},
	} {
		caller := actor.Actor{Kind: actor.KindOperator}
		if tc.caller != "" {
			caller = actor.Actor{Kind: actor.KindPartner, Partner: tc.caller}
		}
		scope, err := caller.PartnerScope(tc.asked)
		require.Equal(t, tc.want, scope)
		require.Equal(t, tc.code == "", err == nil)
		if tc.code != "" {
			require.Equal(t, tc.code, apperr.CodeOf(err))
		}
	}
}
