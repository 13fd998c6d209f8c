package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// threeSources returns a measurement by three sources.
func threeSources(rule, fallback string) string {
	return fmt.Sprintf(`measurement:
  sources:
    - {source: usgs, stage: final}
    - {source: emsc, stage: final}
    - {source: jma, stage: final}
  rule: %s
  wait: P1D
  fallback: %s
  long_stop: P10D
  challenge_window: P30D

`, rule, fallback)
}

const twoAgree = `{kind: m_of_n, m: 2, tolerance: {value: "0.3", unit: mw}}`

// bindMeasured binds a policy that three sources decide by a rule.
func bindMeasured(b *modeltest.Bundle, version int, rule, fallback string) *wire.Policy {
	b.PublishMeasured("quake-circle", threeSources(rule, fallback), version)
	return b.QuoteAndBind("quake-circle", nil)
}

// reportBy records a source's magnitude of one earthquake, and runs the jobs.
func reportBy(b *modeltest.Bundle, source, magnitude string, at time.Time, revision int64) {
	// The agencies date and locate the earthquake differently.
	place, offset := modeltest.Epicentre, map[string]time.Duration{"usgs": 0, "emsc": 2 * time.Second, "jma": -3 * time.Second}[source]
	if source == "jma" {
		place.Latitude += 0.1
	}
	in := modeltest.Quake(source+"-1", at.Add(offset), place, magnitude)
	in.Source, in.Revision = source, &revision
	b.Observe(in)
	b.RunJobs()
}

// requireClaim checks the only claim of a policy.
func requireClaim(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, status, index string, amount int64, what string) {
	t.Helper()
	claim := b.OnlyClaim(policy)
	require.Equal(t, status, claim.Status, what)
	require.Equal(t, index, claim.Determination.Index.Value, what)
	if amount == 0 {
		require.Nil(t, claim.Amount, what)
		return
	}
	require.Equal(t, amount, claim.Amount.Amount, what)
}

// One earthquake reported by three sources gives the same result in all orders, and so do
// the revisions after it: they add a part and take nothing back.
func TestOrderOfSourcesChangesNothing(t *testing.T) {
	t.Parallel()
	magnitudes := map[string]string{"usgs": "6.4", "emsc": "6.6", "jma": "7.1"}
	rules := []struct {
		rule, index string
		amount      int64
		revised     string // the selected source, whose revisions count
	}{
		{"{kind: first_of}", "6.4", 2_000_000, "usgs"},
		{twoAgree, "6.4", 2_000_000, "usgs"},
		{"{kind: worst_of}", "6.4", 2_000_000, "usgs"},
		{"{kind: best_of}", "7.1", 10_000_000, "jma"},
	}
	for _, order := range [][]string{{"usgs", "emsc", "jma"}, {"usgs", "jma", "emsc"}, {"emsc", "usgs", "jma"}, {"emsc", "jma", "usgs"}, {"jma", "usgs", "emsc"}, {"jma", "emsc", "usgs"}} {
		b := modeltest.New(t)
		var policies []*wire.Policy
		for i, r := range rules {
			policies = append(policies, bindMeasured(b, 1001+i, r.rule, "operator"))
		}
		b.AdvanceClock(time.Hour)
		at := b.Now().Add(-time.Minute)
		for _, source := range order {
			reportBy(b, source, magnitudes[source], at, 1)
		}
		for i, r := range rules {
			requireClaim(t, b, policies[i], "approved", r.index, r.amount, fmt.Sprint(order, r.rule))
			var key string
			require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select c.occurrence_key from claims c join policies p on p.id = c.policy_id where p.product_version = $1", 1001+i).Scan(&key))
			require.Equal(t, r.revised+"/earthquake/"+r.revised+"-1", key, "the debt has the same key in all orders")
		}
		reportBy(b, "usgs", "6.7", at, 2)
		reportBy(b, "usgs", "6.1", at, 3)
		reportBy(b, "emsc", "7.5", at, 2)
		for i, r := range rules {
			if r.revised == "usgs" {
				requireClaim(t, b, policies[i], "approved", "6.7", 5_000_000, fmt.Sprint(order, r.rule))
				require.Equal(t, int64(2), b.OnlyClaim(policies[i]).PayoutsCount)
				continue
			}
			requireClaim(t, b, policies[i], "approved", r.index, r.amount, fmt.Sprint(order, r.rule))
		}
	}
}

// sweepAt moves the clock to a time and does the due work.
func sweepAt(b *modeltest.Bundle, at time.Time) {
	b.AdvanceClock(at.Sub(b.Now()))
	b.Sweep()
	b.RunJobs()
}

// A source that falls silent leads to the fallback after the wait, and to the long stop.
func TestSilentSourceLeadsToFallbackAndLongStop(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for fallback, want := range map[string][2]string{
		"operator": {"sources_disagree", "sources_disagree"}, "next_rank": {"threshold_met", "threshold_met"}, "none": {"source_preliminary", "long_stop_reached"},
	} {
		b := modeltest.New(t)
		policy := bindMeasured(b, 1001, twoAgree, fallback)
		b.AdvanceClock(time.Hour)
		at := b.Now().Add(-time.Minute)
		reportBy(b, "emsc", "6.6", at, 1)
		waiting := b.OnlyClaim(policy)
		require.Equal(t, []string{"source_preliminary"}, waiting.Decision.ReasonCodes)
		require.WithinDuration(t, at.Add(day), *waiting.Decision.NextReviewAt, time.Minute)
		sweepAt(b, at.Add(day-5*time.Minute))
		require.Equal(t, []string{"source_preliminary"}, b.OnlyClaim(policy).Decision.ReasonCodes)
		sweepAt(b, at.Add(day+time.Minute))
		require.Equal(t, []string{want[0]}, b.OnlyClaim(policy).Decision.ReasonCodes, fallback)
		for d := 2; d <= 11; d++ {
			sweepAt(b, at.Add(time.Duration(d)*day))
		}
		claim := b.OnlyClaim(policy)
		require.Equal(t, []string{want[1]}, claim.Decision.ReasonCodes, fallback)
		require.Equal(t, map[string]string{"operator": "deferred", "next_rank": "approved", "none": "declined"}[fallback], claim.Status)
	}
}

// A claim that waits says for whose report, or that the sources do not agree.
func TestWaitingClaimNamesTheMissingSources(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, `{kind: m_of_n, m: 3, tolerance: {value: "0.1", unit: mw}}`, "none")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-time.Minute).Truncate(time.Second)
	until := at.AddDate(0, 0, 1).UTC().Format(time.RFC3339)
	reportBy(b, "usgs", "6.4", at, 1)
	require.Equal(t, "The claim waits for the report of emsc, jma until "+until+".", summaries(b, b.OnlyClaim(policy).ID)[2])
	b = modeltest.New(t)
	policy = bindMeasured(b, 1001, `{kind: m_of_n, m: 3, tolerance: {value: "0.1", unit: mw}}`, "none")
	b.AdvanceClock(time.Hour)
	at = b.Now().Add(-time.Minute).Truncate(time.Second)
	reportBy(b, "usgs", "5.4", at, 1)
	reportBy(b, "emsc", "5.6", at.Add(time.Second), 1)
	require.Empty(t, b.Claims(policy))
	reportBy(b, "jma", "6.1", at, 1)
	require.Contains(t, summaries(b, b.OnlyClaim(policy).ID)[2], ": the sources do not agree.")
}

// An operator determines by evidence when the sources gave no result, and says which.
func TestOperatorDeterminesByEvidence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, twoAgree, "operator")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-time.Minute)
	reportBy(b, "emsc", "6.6", at, 1)
	sweepAt(b, at.Add(24*time.Hour+time.Minute))
	claim := b.OnlyClaim(policy)
	require.NoError(t, b.Service.Measured.Attach(t.Context(), b.Acme, claim))
	require.Equal(t, claim.Decision.NextReviewAt, claim.MeasurementState.DecisionDueAt)
	decide := adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved, Amount: &wire.Money{Amount: 3_000_000, Currency: "USD"}}
	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, decide)
	require.Equal(t, "/message", modeltest.DomainError(t, err).Fields[0].Pointer)
	decide.Message = new("The accelerometer of the city hall recorded it: https://example.org/record.")
	decided, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, decide)
	require.NoError(t, err)
	require.Equal(t, int64(3_000_000), decided.Amount.Amount)
	reportBy(b, "emsc", "7.1", at, 2)
	require.Equal(t, int64(8_000_000), b.OnlyClaim(policy).Amount.Amount, "the revision adds what it owes beyond the determination of 5,000,000")
}

// A report after the decision is late: it changes nothing, whatever it says.
func TestLateSourceChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, "{kind: best_of}", "operator")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-time.Minute)
	reportBy(b, "jma", "5.9", at, 1)
	require.Empty(t, b.Claims(policy), "no source met the trigger yet")
	reportBy(b, "usgs", "6.4", at, 1)
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	sweepAt(b, at.Add(24*time.Hour+time.Minute))
	requireClaim(t, b, policy, "approved", "6.4", 2_000_000, "in time")
	before := b.OnlyClaim(policy)
	reportBy(b, "emsc", "7.5", at, 1)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, before, b.OnlyClaim(policy))

	claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "emsc", "emsc-1"))
	require.NoError(t, err)
	require.False(t, created, "it is the same event")
	require.Equal(t, before.ID, claim.ID)
}

// A small shock just after the earthquake is another event, though it is closer in time than
// the source's own report of the earthquake.
func TestReportsOfOneEarthquakeAreOfSimilarSize(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, twoAgree, "operator")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-10 * time.Minute)
	reportBy(b, "usgs", "6.6", at, 1)
	for id, shock := range map[string]string{"a": "4.5", "b": "4.6"} {
		in := modeltest.Quake("emsc-"+id, at.Add(time.Second), modeltest.Epicentre, shock)
		in.Source, in.Revision = "emsc", new(int64(1))
		if id == "b" { // within the tolerance, but of another source
			in.Source = "jma"
		}
		b.Observe(in)
		b.RunJobs()
	}
	reported := func() (all []string) {
		for _, s := range b.OnlyClaim(policy).Determination.Measurement.Sources {
			all = append(all, s.Source+" "+s.Index.Value)
		}
		return all
	}
	require.Equal(t, []string{"usgs 6.6", "jma 4.6"}, reported())
	reportBy(b, "emsc", "6.4", at, 1)
	require.Equal(t, []string{"usgs 6.6", "emsc 6.4", "jma 4.6"}, reported())
	requireClaim(t, b, policy, "approved", "6.6", 5_000_000, "two of three agree")
}

// An earthquake too far away or too late is another event, also under the same name.
func TestOnlyCloseReportsAreOneEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, twoAgree, "operator")
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-10 * time.Minute)
	reportBy(b, "usgs", "6.6", at, 1)
	other := modeltest.Quake("usgs-1", at.Add(2*time.Minute), modeltest.Epicentre, "6.6")
	other.Source = "emsc"
	b.Observe(other)
	b.RunJobs()
	for _, claim := range b.Claims(policy) {
		require.Equal(t, "deferred", claim.Status, "each event has one report")
	}
	reportBy(b, "jma", "6.5", at, 1)
	require.Equal(t, "deferred", b.Claims(policy)[0].Status, "the third source is waited for")
	reportBy(b, "emsc", "6.4", at, 1)
	require.Equal(t, "approved", b.Claims(policy)[0].Status)
}

func TestWaitingClaimsAreDecidedAgainBySlices(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Service.Adjudication.SetSliceSize(2)
	policies := []*wire.Policy{bindMeasured(b, 1001, twoAgree, "operator"), b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("quake-circle", nil)}
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-10 * time.Minute)
	reportBy(b, "usgs", "6.4", at, 1)
	reportBy(b, "emsc", "6.4", at, 1)
	var sizes []int
	require.NoError(t, b.Service.DB.NewRaw("select json_array_length(args->'policies') from modeltest_jobs where kind = 'evaluate_policies' order by ordinal").Scan(t.Context(), &sizes))
	require.Equal(t, []int{2, 1}, sizes)
	reportBy(b, "jma", "6.5", at, 1)
	for _, policy := range policies {
		require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	}
}
