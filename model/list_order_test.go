package model_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestBalancesOfAllPartnersAreOrderedByPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.QuoteAndBind("quake-circle", nil)
	var partners []string
	for _, balance := range must(b.Service.Balances(t.Context(), b.Operator, model.LedgerFilter{}, true, nil)) {
		partners = append(partners, *balance.Partner)
	}
	require.Equal(t, []string{"acme", "acme", "acme", "acme", "globex", "globex", "globex", "globex"}, partners)
}

func TestAuditLogIsListedUpToATime(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, b.Service.Audit(t.Context(), b.Operator, "first"))
	b.AdvanceClock(time.Hour)
	require.NoError(t, b.Service.Audit(t.Context(), b.Operator, "second"))
	lines := listAudit(t, b, model.AuditFilter{})
	require.Len(t, lines, 2)
	until := lines[0].At
	before := listAudit(t, b, model.AuditFilter{To: &until})
	require.Len(t, before, 1)
	require.Equal(t, "first", *before[0].Reason)
	require.Len(t, listAudit(t, b, model.AuditFilter{From: &until}), 1, "the start is included")
}

func TestRetractionDoesNotChangeALiftedMoratorium(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "quake-circle")
	b.Observe(modeltest.Quake("us1", b.Now(), centre, "7"))
	standing := must(b.Service.ListMoratoria(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, standing, 1)
	must(b.Service.LiftMoratorium(t.Context(), b.Operator, standing[0].ID))
	all := func() any {
		return must(b.Service.ListMoratoria(t.Context(), b.Operator, true, store.PageRequest{})).Data
	}
	lifted := all()
	b.Observe(newRetraction("us1"))
	b.RunJobs()
	require.Equal(t, lifted, all())
}

// TestInvariantThatBeginsToFailKeepsTheTimeOfItsLastFullCheck lets an invariant fail after
// one full check.
func TestInvariantThatBeginsToFailKeepsTheTimeOfItsLastFullCheck(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	const view = "create or replace view inv_fails as select id as subject, partner, (1 / (version - %d))::text as message from policies where version < 0 or %t"
	execSQL(t, b, fmt.Sprintf(view, 1, false))
	require.NoError(t, checkFully(t, b, 1000))
	before := fullyCheckedAt(t, b)
	execSQL(t, b, fmt.Sprintf(view, 1, true))
	require.ErrorContains(t, checkFully(t, b, 1000), "inv_fails")
	after := fullyCheckedAt(t, b)
	require.Equal(t, before["inv_fails"], after["inv_fails"])
	require.True(t, after["inv_paid_once"].After(before["inv_paid_once"]))
}
