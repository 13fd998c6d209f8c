package controls_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestChecksAreRarerUnderLoad violates an invariant right after a check.
func TestChecksAreRarerUnderLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slice string // the changed column of the undecided slice
		took  int    // milliseconds of the check before, in each of two invariants
		wait  time.Duration
		found int
	}{
		"at once":             {wait: 0, found: 0},
		"before the delay":    {wait: 2 * time.Minute, found: 0}, // real time passes too
		"after the delay":     {wait: 181 * time.Second, found: 1},
		"a smaller event":     {slice: "candidates = 9999", found: 1},
		"a decided event":     {slice: "done_at = now()", found: 1},
		"a slice that failed": {slice: "attempts = 1", found: 1},
		"after a slow check":  {slice: "done_at = now()", took: 7500, found: 0},
		"after a faster one":  {slice: "done_at = now()", took: 7499, found: 1},
		"long after a slow":   {slice: "done_at = now()", took: 7500, wait: 181 * time.Second, found: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t, modeltest.WithoutChecks())
			b.QuoteAndBind("quake-circle", nil)
			b.AdvanceClock(2 * time.Hour)
			b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
			b.RunJobs()
			exec := func(query string) {
				changed, err := b.DB.Pool.Exec(t.Context(), query)
				require.NoError(t, err)
				require.EqualValues(t, 1, changed.RowsAffected(), query)
			}
			require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
			_, err := b.DB.Pool.Exec(t.Context(), "update invariant_checks set duration_ms = case when name in ('inv_claims_paid', 'inv_partners') then $1 else 0 end", test.took)
			require.NoError(t, err)
			exec("update matching_slices set done_at = null, candidates = 10000")
			if test.slice != "" {
				exec("update matching_slices set " + test.slice)
			}
			exec("update claims set amount = amount + 1")
			b.AdvanceClock(test.wait)
			require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
			var found int
			require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from invariant_violations where name = 'inv_claims_paid'").Scan(&found))
			require.Equal(t, test.found, found)
		})
	}
}

// TestUncheckedInvariantIsCheckedDuringALargeEvent checks one that has no check time yet.
func TestUncheckedInvariantIsCheckedDuringALargeEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(2 * time.Hour)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	b.RunJobs()
	_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set done_at = null, candidates = 10000; update claims set amount = amount + 1; delete from invariant_checks where name = 'inv_claims_paid'")
	require.NoError(t, err)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	require.NotEmpty(t, b.Violations())
}
