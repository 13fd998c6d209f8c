package controls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/reconciliation"
)

// copyRecords copies a partner's records many times, under old ids that refer to each
// other like the originals.
func copyRecords(b *testing.B, d *modeltest.Bundle, partner string, n int) {
	b.Helper()
	_, err := d.DB.Pool.Exec(b.Context(), fmt.Sprintf(`create or replace function again(was jsonb, i int) returns jsonb language sql immutable as
		$$ select was || jsonb_object_agg(key, ('019000000000' || substr(md5(value || i), 13))::uuid) from jsonb_each_text(was)
			where (key = 'id' or key like '%%\_id') and value is not null $$;
		set session_replication_role = replica;
		%s
		set session_replication_role = default; analyze`, strings.Join(copyStatements(partner, n), "\n")))
	require.NoError(b, err)
}

func copyStatements(partner string, n int) (statements []string) {
	for table, other := range map[string]string{
		"quotes": ", 'offer', null", "policies": ", 'footprint', null, 'station', 'CHM00054511'", "claims": "", "payouts": "", "payout_methods": "", "payout_attempts": "",
		"events": "", "timeline_entries": "", "ledger_entries": "", "event_sequence": ", 'sequence', x.sequence + i * (select count(*) from r)",
		"rail_report_lines": ", 'number', x.number + i, 'report_id', x.report_id",
	} {
		of := "x.partner = '" + partner + "'"
		if table == "rail_report_lines" {
			of = "x.payout_id in (select id from payouts where partner = '" + partner + "')"
		}
		statements = append(statements, fmt.Sprintf(`with r as materialized (select x.*, to_jsonb(x) || jsonb_build_object('footprint', null, 'history', '[]', 'basis', '{}', 'context', '{}',
				'price', '{}', 'cover', '{}', 'data', '{}') as j from %[1]s x where %[2]s)
			insert into %[1]s select n.* from r as x, generate_series(1, %[3]d) i, jsonb_populate_record(null::%[1]s, again(x.j, i) || jsonb_build_object('version', x.j -> 'version'%[4]s)) n;`,
			table, of, n, other))
	}
	return statements
}

// BenchmarkInvariants checks a book of 100,000 policies, 5,000 of which were paid:
// completely, and after one bind.
func BenchmarkInvariants(b *testing.B) {
	d := modeltest.New(b, modeltest.WithoutChecks())
	paid := d.ActingAs(d.Globex)
	policy := paid.QuoteAndBind("quake-circle", nil)
	paid.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	d.RunJobs()
	d.Observe(modeltest.Quake("us1", d.Now(), modeltest.Epicentre, "6.4"))
	d.RunJobs()
	payout := paid.OnlyClaim(policy).Payouts[0]
	lines := []reconciliation.ReportLine{{Key: d.RailKey(payout.ID, 1), Reference: "ref-1", Amount: payout.Amount, Status: "settled"}}
	_, err := d.Service.Reconciliation.Reconcile(b.Context(), d.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: "monday"}, modeltest.ReadLines(lines))
	require.NoError(b, err)
	d.QuoteAndBind("quake-circle", nil)
	d.Relay()
	copyRecords(b, d, "globex", 5_000)
	copyRecords(b, d, "acme", 95_000)
	check := func(b *testing.B) {
		b.Helper()
		require.NoError(b, d.Service.Controls.CheckInvariants(b.Context()))
		var slowest, all time.Duration
		for _, invariant := range modeltest.Must(d.Service.Controls.ListInvariants(b.Context(), d.Operator)) {
			require.Zero(b, invariant.Violations, invariant.Name)
			slowest, all = max(slowest, invariant.Took), all+invariant.Took
			if testing.Verbose() {
				b.Log(invariant.Name, invariant.Took)
			}
		}
		b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
		b.ReportMetric(float64(all.Milliseconds()), "views-ms")
	}
	b.Run("All", func(b *testing.B) {
		for b.Loop() {
			_, err := d.DB.Pool.Exec(b.Context(), "truncate invariant_checks")
			require.NoError(b, err)
			check(b)
		}
	})
	b.Run("Changed", func(b *testing.B) {
		for b.Loop() {
			d.QuoteAndBind("quake-circle", nil)
			check(b)
		}
	})
}

// BenchmarkBookInvariants checks recent changes, and then all records of a book.
func BenchmarkBookInvariants(b *testing.B) {
	m := modeltest.Book(b)
	b.Run("Changed", func(b *testing.B) {
		for b.Loop() {
			m.QuoteAndBind("quake-circle", nil)
			require.NoError(b, controls.CheckChanged(b.Context(), m.Service.Store))
		}
	})
	m.Relay() // an event that waits for its number for over a minute is a violation
	b.Run("Full", func(b *testing.B) {
		for b.Loop() {
			_, err := m.DB.Pool.Exec(b.Context(), "update invariant_checks set last_full_check_at = null")
			require.NoError(b, err)
			slices, slowest, err := m.Service.Controls.CheckFully(b.Context())
			require.NoError(b, err)
			b.ReportMetric(float64(slices), "slices")
			b.ReportMetric(float64(slowest.Milliseconds()), "slowest-slice-ms")
			require.Empty(b, modeltest.Must(m.Service.Controls.ListViolations(b.Context(), m.Operator, "", 10)))
		}
	})
}
