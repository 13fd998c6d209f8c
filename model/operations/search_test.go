package operations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/partners"
)

// searched returns what a search finds, as object and way to match.
func searched(t *testing.T, b *modeltest.Bundle, caller actor.Actor, text string) (found []string) {
	t.Helper()
	caller.Operation = "search"
	results, err := b.Service.Operations.Search(t.Context(), caller, text)
	require.NoError(t, err)
	for _, r := range results {
		partner := "nobody"
		if r.Partner != nil {
			partner = *r.Partner
		}
		found = append(found, r.Object+" of "+partner+" by "+r.Match)
	}
	return found
}

func TestSearchFindsRecordsByIDsAndReferences(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	claim := modeltest.NewApprovedClaim(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	modeltest.ExecSQL(t, b, "update policy_keys set partner_reference = 'house-7'")
	modeltest.ExecSQL(t, b, "update payouts set provider_reference = 'bank-1'")

	require.Equal(t, []string{"claim of acme by id"}, searched(t, b, b.Acme, " "+claim.ID+" "))
	require.Equal(t, []string{"payout of acme by id"}, searched(t, b, b.Acme, payout.ID[:len(payout.ID)-1]))
	require.NotEmpty(t, searched(t, b, b.Acme, claim.ID[:12]))
	require.Empty(t, searched(t, b, b.Acme, claim.ID[:11]), "the prefix is too short")
	require.Empty(t, searched(t, b, b.Globex, claim.ID), "it is another partner's")
	require.Empty(t, searched(t, b, b.Acme, "pol_"+claim.ID[4:]), "it is an id of another kind")
	require.Equal(t, []string{"policy of acme by partner_reference"}, searched(t, b, b.Acme, "house-7"))
	require.Equal(t, []string{"policy of acme by partner_reference", "policy of globex by partner_reference"}, searched(t, b, b.Operator, "house-7"))
	require.Equal(t, []string{"payout of acme by rail_reference"}, searched(t, b, b.Operator, "bank-1"))
	require.Empty(t, searched(t, b, b.Globex, "bank-1"))
	require.Equal(t, []string{"occurrence of nobody by source_reference"}, searched(t, b, b.Globex, claim.Occurrence.SourceEventID))
	require.Equal(t, []string{"occurrence of nobody by id"}, searched(t, b, b.Globex, claim.Occurrence.ID))

	reader := modeltest.Partner("acme")
	reader.Scopes = []actor.Scope{actor.ScopePoliciesRead}
	require.Empty(t, searched(t, b, reader, claim.ID), "its scopes do not allow claims")
	reader.Scopes = []actor.Scope{actor.ScopePayoutsRead}
	require.Len(t, searched(t, b, reader, payout.ID), 1)

	lines := modeltest.ListAudit(t, b, audit.Filter{Operation: "search"})
	require.Len(t, lines, 2, "searches of operators are recorded, those of partners are not")
	require.Equal(t, "bank-1", *lines[0].Reason)
}

func TestDisabledPartnerCannotSearch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.Service.Partners.Disable(t.Context(), b.Operator, partners.StatusRequest{Slug: "acme", Reason: "The contract ended."})
	require.NoError(t, err)
	_, err = b.Service.Operations.Search(t.Context(), b.Acme, "x")
	require.Equal(t, apperr.CodePartnerDisabled, apperr.CodeOf(err))
}

func TestSearchRefusesWrongTexts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, text := range []string{"", "  ", strings.Repeat("x", 256), "a\x00b", "\xff"} {
		_, err := b.Service.Operations.Search(t.Context(), b.Acme, text)
		require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err), "%q", text)
	}
	_, err := b.Service.Operations.Search(t.Context(), b.Source, "x")
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	require.Empty(t, searched(t, b, b.Acme, strings.Repeat("x", 255)))
	scopeless := b.Acme
	scopeless.Scopes = nil
	_, err = b.Service.Operations.Search(t.Context(), scopeless, "x")
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	require.Equal(t, 100, operations.MaxSearchResults)
}
