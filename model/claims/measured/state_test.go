package measured_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	registered "parapet/model/hazard/sources"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// stateOf returns the measurement state of the only claim of a policy.
func stateOf(t *testing.T, b *modeltest.Bundle, policy *wire.Policy) (*wire.Claim, *wire.MeasurementState) {
	t.Helper()
	claim := b.OnlyClaim(policy)
	require.NoError(t, b.Service.Measured.Attach(t.Context(), b.Acme, claim))
	return claim, claim.MeasurementState
}

// source returns the state of a source as text.
func source(s wire.SourceState) string {
	text := s.Source + " " + s.State
	if s.Index != nil {
		text += " " + s.Index.Value
	}
	return text
}

func sources(state *wire.MeasurementState) (all []string) {
	for _, s := range state.Sources {
		all = append(all, source(s))
	}
	return all
}

func TestStateOfOneSource(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	_, state := stateOf(t, b, policy)
	require.Equal(t, []string{"usgs waiting 6.4"}, sources(state))
	require.Nil(t, state.SelectedSource)
	require.Equal(t, report.OccurredAt.AddDate(0, 0, 14), *state.DecisionDueAt)
	require.Equal(t, state.DecisionDueAt, state.PayoutDueAt)
	require.Equal(t, report.OccurredAt.AddDate(3, 0, 0), state.LongStopAt)
	require.Nil(t, state.Challenge)

	modeltest.ReportFinal(b, report, "6.6")
	claim, state := stateOf(t, b, policy)
	require.Equal(t, []string{"usgs reported 6.6"}, sources(state))
	require.Equal(t, claim.Determination.Amount, *state.Sources[0].Amount)
	require.Equal(t, "usgs", *state.SelectedSource)
	require.Nil(t, state.DecisionDueAt)
	require.Equal(t, claim.Decision.DecidedAt, *state.PayoutDueAt)

	other := modeltest.Quake("gfz1", report.OccurredAt, modeltest.Epicentre, "7.2")
	other.Source = "gfz"
	b.Observe(other)
	b.RunJobs()
	_, state = stateOf(t, b, policy)
	require.Equal(t, []string{"usgs reported 6.6", "gfz not_applicable 7.2"}, sources(state))
	require.Equal(t, int64(10_000_000), state.Sources[1].Amount.Amount, "what it would have paid")

	hidden, err := b.Service.Measured.States(t.Context(), b.Globex, []string{claim.ID})
	require.NoError(t, err)
	require.Empty(t, hidden, "another partner's claim")
	approval := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(100))
	require.NoError(t, b.Service.Measured.Attach(t.Context(), b.Acme, approval))
	require.Nil(t, approval.MeasurementState)
}

// waitingFor returns how many policies wait for sources.
func waitingFor(t *testing.T, b *modeltest.Bundle, names ...string) map[string]int64 {
	t.Helper()
	waiting := map[string]int64{}
	for _, name := range names {
		_, err := b.Service.Sources.Register(t.Context(), b.Operator, registered.Request{Name: name, Perils: []hazard.Peril{trigger.Earthquake}})
		require.NoError(t, err)
		found, err := b.Service.Sources.Get(t.Context(), b.Acme, name)
		require.NoError(t, err)
		if found.PoliciesWaiting > 0 {
			waiting[name] = found.PoliciesWaiting
		}
	}
	return waiting
}

const bestOfThree = `measurement:
  sources:
    - {source: usgs, stage: final}
    - {source: emsc, stage: final}
    - {source: jma, stage: final}
  rule: {kind: best_of}
  wait: P1D
  fallback: operator
  long_stop: P10D
  challenge_window: P30D

`

func TestStateOfSeveralSources(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PublishMeasured("quake-circle", bestOfThree, 1001)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(time.Hour)
	at := b.Now().Add(-time.Minute)
	report := func(name, magnitude string) {
		in := modeltest.Quake(name+"-1", at, modeltest.Epicentre, magnitude)
		in.Source = name
		b.Observe(in)
		b.RunJobs()
	}
	report("emsc", "6.4")
	_, state := stateOf(t, b, policy)
	require.Equal(t, []string{"usgs waiting", "emsc reported 6.4", "jma waiting"}, sources(state))
	require.Equal(t, map[string]int64{"usgs": 1, "jma": 1}, waitingFor(t, b, "usgs", "emsc", "jma"))
	require.Nil(t, state.SelectedSource)
	require.WithinDuration(t, at.AddDate(0, 0, 1), *state.DecisionDueAt, 0)
	require.WithinDuration(t, at.AddDate(0, 0, 10), state.LongStopAt, 0)
	report("usgs", "6.6")
	b.AdvanceClock(24 * time.Hour)
	b.Sweep()
	b.RunJobs()
	claim, state := stateOf(t, b, policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, []string{"usgs reported 6.6", "emsc reported 6.4", "jma late"}, sources(state))
	require.Equal(t, "usgs", *state.SelectedSource)
	report("jma", "7.4")
	_, state = stateOf(t, b, policy)
	require.Equal(t, []string{"usgs reported 6.6", "emsc reported 6.4", "jma late 7.4"}, sources(state))
	require.Equal(t, "usgs", *state.SelectedSource)
}
