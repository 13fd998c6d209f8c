package adjudication_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestSameNameOfDifferentKindsLinksSeparateOccurrences(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, key := range []string{"quake-circle", "cyclone-circle", "rain-excess"} {
		b.PublishMeasured(key, "", 999) // every source decides
	}
	shaken := b.QuoteAndBind("quake-circle", nil)
	blown := b.QuoteAndBind("cyclone-circle", nil)
	flooded := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	day := flooded.EffectiveAt.Truncate(24*time.Hour).AddDate(0, 0, 1)
	b.AdvanceClock(3 * 24 * time.Hour)
	name := flooded.Cover.Place.Station + "/" + day.Format(time.DateOnly)

	at := b.Now()
	quake := modeltest.Quake(name, at, modeltest.Epicentre, "6.4")
	storm := modeltest.Fix(name, at, modeltest.Miami, "70")
	wet := modeltest.StationDay(flooded.Cover.Place.Station, day, "180")
	var dry []wire.ObservationInput
	for _, report := range dryAfter(wet) {
		report.Source = "jma"
		dry = append(dry, report)
	}
	b.AdvanceClock(3 * 24 * time.Hour)
	b.Observe(dry...)
	kinds := []hazard.Kind{hazard.Earthquake, hazard.StormFix, hazard.StationDay}
	for _, batch := range [][]wire.ObservationInput{{quake, storm, wet}, {storm, wet, quake}} {
		for i := range batch {
			batch[i].Source = "jma"
		}
		b.Observe(batch...)
		b.RunJobs()
	}
	require.Equal(t, len(kinds)+len(dry), b.CountRows()["observations"])
	require.Equal(t, len(kinds), b.CountRows()["occurrences"])
	for _, policy := range []*wire.Policy{shaken, blown, flooded} {
		claim := b.OnlyClaim(policy)
		require.Equal(t, "approved", claim.Status)
		require.Equal(t, name, claim.Occurrence.SourceEventID)
		named, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "jma", name))
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, claim.ID, named.ID, "an occurrence of the policy's peril takes precedence")
	}
}

func TestClaimNamingEventOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	storm := modeltest.Fix("us1", b.Now(), modeltest.Epicentre, "140")
	id := b.Observe(storm)[0].ID
	for _, in := range []adjudication.ClaimRequest{modeltest.NewSourceEventClaim(policy, "nhc", "us1"), {PolicyID: policy.ID, ObservationID: id}} {
		_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, in)
		require.Equal(t, apperr.CodeTriggerNotMet, modeltest.DomainError(t, err).Code)
	}
}

func TestBatchesOfManySourcesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, magnitude := range []string{"5.0", "5.1", "5.2", "5.3"} {
				var batch []wire.ObservationInput
				for _, source := range []string{"usgs", "emsc", "jma", "cwb"} {
					for _, id := range []string{"q1", "q2"} {
						report := modeltest.Quake(id, at, modeltest.Epicentre, magnitude)
						report.Source = source
						batch = append(batch, report)
					}
				}
				rand.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
				if _, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, batch, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, 8, b.CountRows()["observations"])
}

func TestSandboxAndRealQuakeAreNotBothPaid(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]bool{"rehearsed first": {true, false}, "rehearsed after": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("quake-circle", nil)
			report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
			for _, sandbox := range order {
				actor := map[bool]actor.Actor{true: b.Acme, false: b.Source}[sandbox]
				_, created, err := b.Service.Occurrences.RecordObservation(t.Context(), actor, report, sandbox)
				require.NoError(t, err)
				require.True(t, created)
				b.RunJobs()
			}
			claims := b.Claims(policy)
			require.Len(t, claims, 2)
			require.Equal(t, "approved", claims[0].Status)
			require.Equal(t, "deferred", claims[1].Status)
			require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
			require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
		})
	}
}
