package controls_test

import (
	"fmt"
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
		"before the delay":    {wait: 4 * time.Minute, found: 0}, // real time passes too
		"after the delay":     {wait: 301 * time.Second, found: 1},
		"a smaller event":     {slice: "candidates = 9999", found: 1},
		"a decided event":     {slice: "done_at = now()", found: 1},
		"a slice that failed": {slice: "attempts = 1", found: 1},
		"after a slow check":  {slice: "done_at = now()", took: 7500, found: 0},
		"after a faster one":  {slice: "done_at = now()", took: 7499, found: 1},
		"long after a slow":   {slice: "done_at = now()", took: 7500, wait: 301 * time.Second, found: 1},
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

// TestChecksAreRarerWhileManyPayoutsAreDue violates an invariant right after a check.
func TestChecksAreRarerWhileManyPayoutsAreDue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		due     int
		changed string // of one payout
		found   int
	}{
		"a large event":      {due: 10_000, found: 0},
		"a smaller one":      {due: 9999, found: 1},
		"one is not due yet": {due: 10_000, changed: "next_attempt_at = business_now() + interval '1 minute'", found: 1},
		"one has left":       {due: 10_000, changed: "status = 'releasing'", found: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t, modeltest.WithoutChecks())
			policy := b.QuoteAndBind("quake-circle", nil)
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
			b.AdvanceClock(2 * time.Hour)
			b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
			b.RunJobs()
			require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
			exec := func(query string, args ...any) {
				_, err := b.DB.Pool.Exec(t.Context(), query, args...)
				require.NoError(t, err)
			}
			exec("update invariant_checks set duration_ms = 0")
			conn, err := b.DB.Pool.Acquire(t.Context())
			require.NoError(t, err)
			defer conn.Release()
			_, err = conn.Exec(t.Context(), fmt.Sprintf(`set session_replication_role = replica;
				insert into payouts select n.* from payouts p, generate_series(1, %d) i, jsonb_populate_record(null::payouts, to_jsonb(p) || jsonb_build_object('id', gen_random_uuid(),
					'claim_sequence', 100 + i, 'installment', 100 + i, 'debt_digest', left(md5(i::text), 16), 'status', 'pending', 'released_at', null, 'next_attempt_at', business_now() - interval '1 hour')) n;
				set session_replication_role = default`, test.due))
			require.NoError(t, err)
			if test.changed != "" {
				exec("update payouts set " + test.changed + " where claim_sequence = 101")
			}
			exec("update claims set amount = amount + 1")
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
