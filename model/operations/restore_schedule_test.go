package operations_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

var restoreRuns = flag.Int("restores", 1, "how many times TestRestoredDatabasePaysNothingTwice plays each of its schedules")

// fallibleBank is a bank outside of every database. It knows what it paid under which
// key, unless it has lost its keys.
type fallibleBank struct {
	random    *rand.Rand
	paid      map[string]bool  // by key
	transfers map[string]int   // by debt, without those that were returned
	amounts   map[string]int64 // by policy, without those that were returned
	report    []reconciliation.ReportLine
}

func debtOf(key string) string { return key[:strings.LastIndex(key, ".")] }

func policyOf(key string) string { return key[:strings.Index(key, ".")] }

// payOrRefuse pays or refuses an order, and sometimes loses its answer.
func (k *fallibleBank) payOrRefuse(order *release.Release) payouts.RailAnswer {
	line := reconciliation.ReportLine{Key: order.Key, Reference: fmt.Sprintf("ref-%d", len(k.report)), Amount: order.Amount, Account: "iban ····3000", At: time.Date(2027, 1, 1, 0, 0, len(k.report), 0, time.UTC)}
	switch {
	case k.paid[order.Key]:
		return modeltest.Accepted
	case k.random.IntN(6) == 0 && strings.HasSuffix(order.Key, ".1"):
		line.Status, line.Code = reconciliation.LineRejected, "account_rejected"
		k.report = append(k.report, line)
		return modeltest.Refused
	}
	k.paid[order.Key] = true
	k.transfers[debtOf(order.Key)]++
	k.amounts[policyOf(order.Key)] += order.Amount.Amount
	line.Status = []string{reconciliation.LineSettled, reconciliation.LineSettled, reconciliation.LineUnderway}[k.random.IntN(3)]
	k.report = append(k.report, line)
	if k.random.IntN(5) == 0 {
		line.Status = reconciliation.LineReturned
		k.report = append(k.report, line)
		k.transfers[debtOf(order.Key)]--
		k.amounts[policyOf(order.Key)] -= order.Amount.Amount
	}
	if k.random.IntN(4) == 0 {
		return modeltest.Unknown
	}
	return modeltest.Accepted
}

// restoreCopy creates a database with every row of another one, like a backup of this
// moment.
func restoreCopy(t *testing.T, from *modeltest.Bundle) *modeltest.Bundle {
	t.Helper()
	to := modeltest.New(t)
	var tables []string
	require.NoError(t, from.DB.Bun.NewRaw(`select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'bun_%' order by 1`).Scan(t.Context(), &tables))
	_, err := to.DB.Pool.Exec(t.Context(), "set session_replication_role = replica; truncate "+strings.Join(tables, ", ")+"; reset session_replication_role")
	require.NoError(t, err)
	modeltest.CopyTables(t, from, to, tables...)
	var sequences []string
	require.NoError(t, from.DB.Bun.NewRaw("select sequencename from pg_sequences where schemaname = 'public' and last_value is not null").Scan(t.Context(), &sequences))
	for _, name := range sequences {
		var last int64
		require.NoError(t, from.DB.Pool.QueryRow(t.Context(), "select last_value from "+name).Scan(&last))
		_, err := to.DB.Pool.Exec(t.Context(), "select setval($1, $2)", name, last)
		require.NoError(t, err)
	}
	return to
}

// restoreSchedule is the state of the world outside of the databases.
type restoreSchedule struct {
	remembersKeys bool // the bank knows its keys
	reported      bool // the bank's report of all payments was imported
	early         bool // before the sources repeat their earthquakes
	answered      bool // operators close exceptions that they cannot explain, without waiting for the sources
}

// runUntilIdle runs the jobs of a database until nothing changes.
func runUntilIdle(b *modeltest.Bundle) {
	for range 6 {
		b.RunJobs()
		b.Sweep()
		b.AdvanceClock(10 * time.Minute)
	}
}

// approveAll approves and unblocks the payouts that wait for an operator.
func approveAll(t *testing.T, b *modeltest.Bundle, policies []*wire.Policy) {
	t.Helper()
	for _, policy := range policies {
		for _, claim := range b.Claims(policy) {
			for _, payout := range b.Claim(claim.ID).Payouts {
				if payout.BlockedReason != nil && *payout.BlockedReason == string(claims.BlockedApproval) {
					_, err := modeltest.ApprovePayoutAs(t, b, "ann", payout)
					require.NoError(t, err)
				}
			}
		}
	}
}

// TestRestoredDatabasePaysNothingTwice pays an earthquake, makes a backup, pays another
// one and loses the database. The restored database runs while the source repeats both
// earthquakes and the bank's report is imported. If the bank reports, a storm was paid in
// one part before the loss, and the source repeats its fixes one by one, so that it is
// owed in two parts.
func TestRestoredDatabasePaysNothingTwice(t *testing.T) {
	t.Parallel()
	for name, schedule := range map[string]restoreSchedule{
		"the bank remembers":                                  {remembersKeys: true},
		"the bank remembers and reports":                      {remembersKeys: true, reported: true, early: true},
		"the bank forgot and reports before the sources":      {reported: true, early: true},
		"the bank forgot and reports after the sources":       {reported: true},
		"the bank forgot and operators answer before sources": {reported: true, early: true, answered: true},
	} {
		for seed := range uint64(*restoreRuns) {
			t.Run(fmt.Sprintf("%s, %d", name, seed), func(t *testing.T) {
				t.Parallel()
				playRestore(t, schedule, seed)
			})
		}
	}
}

// stormInParts returns two fixes of a storm that owe a fifth of the limit and then the
// rest, or the whole limit at once.
func stormInParts(from time.Time) []wire.ObservationInput {
	return []wire.ObservationInput{modeltest.Fix("AL01", from.Add(6*time.Hour), modeltest.Miami, "70"), modeltest.Fix("AL01", from.Add(12*time.Hour), modeltest.Miami, "140")}
}

func playRestore(t *testing.T, schedule restoreSchedule, seed uint64) {
	t.Helper()
	first := modeltest.New(t)
	bank := &fallibleBank{random: rand.New(rand.NewPCG(seed, 1)), paid: map[string]bool{}, transfers: map[string]int{}, amounts: map[string]int64{}}
	first.Rail.Answer = bank.payOrRefuse
	var policies []*wire.Policy
	for range 4 {
		policies = append(policies, first.QuoteAndBind("quake-circle", nil))
		first.RecordPayoutMethod(modeltest.PolicyIBANMethod(policies[len(policies)-1].ID))
	}
	quakes := []wire.ObservationInput{modeltest.Quake("us1", first.Now(), modeltest.Epicentre, "6.4")}
	first.Observe(quakes...)
	storm := first.QuoteAndBind("cyclone-circle", nil)
	first.RecordPayoutMethod(modeltest.PolicyIBANMethod(storm.ID))
	runUntilIdle(first)

	restored := restoreCopy(t, first)
	var fixes []wire.ObservationInput
	if schedule.reported {
		fixes = stormInParts(first.Now())
	}
	first.AdvanceClock(24 * time.Hour)
	quakes = append(quakes, modeltest.Quake("us2", first.Now(), modeltest.Epicentre, "6.5"))
	first.Observe(append(fixes, quakes[1])...)
	runUntilIdle(first)
	modeltest.Reconcile(t, first, "lost", bank.report...)
	approveAll(t, first, append(policies, storm))
	runUntilIdle(first)
	paid := len(bank.paid)
	require.NotEmpty(t, bank.transfers)

	restored.Rail.Answer = bank.payOrRefuse
	modeltest.StopReleases(t, restored)
	restored.AdvanceClock(48 * time.Hour)
	if !schedule.remembersKeys {
		clear(bank.paid)
	}
	report := func(early bool) {
		if schedule.reported && schedule.early == early {
			modeltest.Reconcile(t, restored, "since the backup", bank.report...)
		}
	}
	report(true)
	if schedule.answered {
		modeltest.CloseExceptions(t, restored)
	}
	restored.Observe(quakes...)
	runUntilIdle(restored)
	for _, fix := range fixes {
		restored.Observe(fix)
		runUntilIdle(restored)
	}
	report(false)
	runUntilIdle(restored)
	modeltest.CloseExceptions(t, restored)
	require.NoError(t, modeltest.ResumeReleases(t, restored, false))
	runUntilIdle(restored)
	approveAll(t, restored, append(policies, storm))
	runUntilIdle(restored)
	require.LessOrEqual(t, bank.amounts[storm.ID], storm.Limit.Amount, "the storm is not paid twice: %v", bank.report)
	for debt, n := range bank.transfers {
		require.LessOrEqual(t, n, 1, "%s is paid once: %d keys were paid before, %v", debt, paid, bank.report)
	}
	for _, policy := range policies {
		require.Len(t, restored.Claims(policy), 2, "both debts are known again")
	}
}
