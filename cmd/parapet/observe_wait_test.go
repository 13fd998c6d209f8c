package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestObserveWaitsUntilEventsAreDecided(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 10_000_000, "currency": "EUR"}})
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.RunJobs()
	modeltest.ObserveQuake(b, "earlier", "6.4", "final")
	b.AdvanceClock(24 * time.Hour)
	began := modeltest.Must(b.Service.Progress.Now(t.Context()))
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.4"), modeltest.Quake("us2", b.Now().Add(-2*time.Hour), modeltest.Epicentre, "6.4"))
	out := new(notifyingWriter)
	out.wrote = func() { out.wrote = nil; b.RunJobs() }
	require.NoError(t, waitForDecisions(t.Context(), b.Service.Progress, began, nil, out))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, "events decided 0 of 2, policies decided 0 of 0, claims 0", lines[0])
	require.Equal(t, `events decided 2 of 2, policies decided 6 of 6, claims 6
  partner  currency  candidates  claims     owed  pending  blocked  released
     acme       EUR           2       2  4000000        0  4000000         0
     acme       USD           2       2  4000000        0        0   4000000
   globex       USD           2       2  4000000        0  4000000         0
amounts in minor units
`, strings.Join(lines[1:], "\n"))
}

// A file that was recorded before, for example by a command that was interrupted, shows the
// same sums.
func TestObserveWaitsForReadingsThatWereRecordedBefore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	b.RunJobs()
	reading := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	b.Observe(reading)
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{reading}, false)
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultUnchanged, results[0].Result)
	b.AdvanceClock(time.Hour)
	out := new(notifyingWriter)
	out.wrote = func() { out.wrote = nil; b.RunJobs() }
	require.NoError(t, waitForDecisions(t.Context(), b.Service.Progress, b.Now(), []string{*results[0].ID}, out))
	require.Contains(t, out.String(), "events decided 0 of 1")
	require.Contains(t, out.String(), "events decided 1 of 1, policies decided 1 of 1, claims 1")
}

// A day at a station belongs to no single occurrence.
func TestObserveWaitsForDaysThatWereRecordedBefore(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	b.AdvanceClock(60 * 24 * time.Hour)
	days := modeltest.RainSpell(policy, modeltest.FirstWholeDay(policy.EffectiveAt), "60", "50", "40")
	b.Observe(days...)
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, days[1:2], false)
	require.NoError(t, err)
	b.RunJobs()
	b.AdvanceClock(time.Hour)
	var out strings.Builder
	require.NoError(t, waitForDecisions(t.Context(), b.Service.Progress, b.Now(), []string{*results[0].ID}, &out))
	require.Contains(t, out.String(), "claims 1")
}

// notifyingWriter calls wrote after a write.
type notifyingWriter struct {
	strings.Builder

	wrote func()
}

func (w *notifyingWriter) Write(text []byte) (int, error) {
	n, err := w.Builder.Write(text)
	if w.wrote != nil {
		w.wrote()
	}
	return n, err
}

func TestObserveWithoutAffectedPolicySaysSo(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	var out strings.Builder
	require.NoError(t, waitForDecisions(t.Context(), b.Service.Progress, b.Now(), nil, &out))
	require.Equal(t, "events decided 0 of 0, policies decided 0 of 0, claims 0\nno policy is affected\n", out.String())
	_, err := b.Service.Progress.ChangedSince(t.Context(), actor.Actor{Kind: actor.KindPartner, Partner: "acme"}, b.Now(), nil)
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestProgressOfSeveralEventsAddsUp(t *testing.T) {
	t.Parallel()
	usd := func(amount int64) wire.Money { return wire.Money{Amount: amount, Currency: "USD"} }
	line := func(n int64) wire.ProgressLine {
		return wire.ProgressLine{
			Partner: "acme", Currency: "USD", Candidates: n, Decided: 2 * n, ClaimsOpened: 3 * n,
			Owed: usd(4 * n), Pending: usd(5 * n), Blocked: usd(6 * n), Released: usd(7 * n),
		}
	}
	total := addUp(map[string]*wire.OccurrenceProgress{"a": {Lines: []wire.ProgressLine{line(1)}}, "b": {Lines: []wire.ProgressLine{line(10)}}})
	require.Equal(t, map[[2]string]wire.ProgressLine{{"acme", "USD"}: line(11)}, total.lines)
}

func TestBarIsFullOnlyWhenEveryEventIsDecided(t *testing.T) {
	t.Parallel()
	for want, total := range map[int]progressTotal{
		0: {waiting: 1}, barWidth / 2: {waiting: 1, candidates: 10, decided: 5}, barWidth - 1: {waiting: 1, candidates: 10, decided: 10}, barWidth: {},
	} {
		require.Equal(t, "["+strings.Repeat("#", want)+strings.Repeat(".", barWidth-want)+"]", total.bar())
	}
}
