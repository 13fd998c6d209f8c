package controls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// checkFully runs the complete check of all records in slices of the given size.
func checkFully(t *testing.T, b *modeltest.Bundle, slice int) error {
	t.Helper()
	b.AdvanceClock(time.Hour)
	_, err := b.DB.Pool.Exec(t.Context(), "update invariant_full_check set slice_size = $1", slice)
	require.NoError(t, err)
	return b.Service.Controls.CheckInvariants(t.Context())
}

// makeEventsOld changes all events to old times, so that the check of recent changes does
// not read them.
func makeEventsOld(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	for _, column := range []string{"events set id", "event_sequence set event_id", "ledger_entries set event_id"} {
		_, id, _ := strings.Cut(column, " set ")
		modeltest.ChangeRows(t, b, fmt.Sprintf("update %s = ('019000000000' || substr(replace(%s::text, '-', ''), 13))::uuid", column, id))
	}
}

// fullyCheckedAt returns the time of each invariant's last full check, by name.
func fullyCheckedAt(t *testing.T, b *modeltest.Bundle) map[string]time.Time {
	t.Helper()
	times := map[string]time.Time{}
	for _, invariant := range modeltest.Must(b.Service.Controls.ListInvariants(t.Context(), b.Operator)) {
		if invariant.LastFullCheckAt != nil {
			times[invariant.Name] = *invariant.LastFullCheckAt
		}
	}
	return times
}

func TestFullCheckFindsChangesWithoutEvents(t *testing.T) {
	t.Parallel()
	for _, slice := range []int{1, 3, 1000} {
		b := modeltest.New(t, modeltest.WithoutChecks())
		for range 3 {
			b.QuoteAndBind("quake-circle", nil)
		}
		b.Relay()
		require.NoError(t, checkFully(t, b, slice))
		began := b.Now()
		modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount + 1")
		makeEventsOld(t, b)
		require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
		require.Empty(t, modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_ledger_matches_premiums", 10)), "it has no event, and the full check is not due")
		require.NoError(t, checkFully(t, b, slice))
		require.Len(t, modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_ledger_matches_premiums", 10)), 3)
		for name, at := range fullyCheckedAt(t, b) {
			require.True(t, at.After(began), name)
		}
		modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount - 1")
		require.NoError(t, checkFully(t, b, slice))
		require.Empty(t, modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_ledger_matches_premiums", 10)), "a repaired violation is removed")
	}
}

func TestFullCheckResumesFromSavedPosition(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	b.Relay()
	require.NoError(t, checkFully(t, b, 1000))
	modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount + 1")
	makeEventsOld(t, b)
	b.AdvanceClock(10 * time.Minute)
	began := b.Now()
	_, err := b.DB.Pool.Exec(t.Context(), "update invariant_full_check set last_checked_id = (select id from policies), started_at = $1", began)
	require.NoError(t, err)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	require.Empty(t, modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "", 10)), "the full check has already passed the policy")
	for name, at := range fullyCheckedAt(t, b) {
		require.Equal(t, began, at, "%s has been checked fully since the check began", name)
	}
	var running bool
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select last_checked_id is not null from invariant_full_check").Scan(&running))
	require.False(t, running)
}

func TestFullCheckSkipsFailingInvariant(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), "create view inv_fails as select id as subject, partner, (1 / (version - 1))::text as message from policies")
	require.NoError(t, err)
	modeltest.ChangeRows(t, b, "update policies set premium_amount = premium_amount + 1")
	require.ErrorContains(t, checkFully(t, b, 1000), "inv_fails")
	times := fullyCheckedAt(t, b)
	require.NotContains(t, times, "inv_fails")
	require.Contains(t, times, "inv_ledger_matches_premiums")
	require.NotEmpty(t, modeltest.Must(b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 10)), "the others still count")
}

func TestCheckOfChangesReadsEventsByIndex(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	plan, err := b.Service.Controls.ExplainChanged(t.Context())
	require.NoError(t, err)
	require.Contains(t, plan, "events_before_pkey", "with an unstable bound every check would read all events")
	require.NotContains(t, plan, "Seq Scan on events")
}
