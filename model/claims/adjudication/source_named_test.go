package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// quakeFrom reports the same earthquake by a source.
func quakeFrom(source, id string, at time.Time) wire.ObservationInput {
	in := modeltest.Quake(id, at, modeltest.Epicentre, "6.6")
	in.Source = source
	return in
}

// An observation of a source that the terms do not name opens, decides and delays nothing,
// whether it comes before or after that of the named source.
func TestUnnamedSourceChangesNothing(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{"first": {"emsc", "usgs"}, "last": {"usgs", "emsc"}} {
		b := modeltest.New(t)
		b.PublishMeasured("quake-circle", modeltest.OneSource("usgs", "final"), 9)
		policy := b.QuoteAndBind("quake-circle", nil)
		require.Equal(t, trigger.TermsHash(policy.Product, policy.ProductVersion, policy.Cover), policy.TermsHash)
		b.AdvanceClock(time.Hour)
		at := b.Now()
		for _, source := range order {
			b.Observe(quakeFrom(source, source+"1", at))
			b.RunJobs()
			if source == "emsc" && name == "first" {
				require.Empty(t, b.Claims(policy))
			}
		}
		claim := b.OnlyClaim(policy)
		require.Equal(t, "approved", claim.Status, name)
		require.Equal(t, "usgs", claim.Occurrence.Source)
		require.Equal(t, []string{"threshold_met"}, claim.Decision.ReasonCodes)

		_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "emsc", "emsc1"))
		e := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeTriggerNotMet, e.Code)
		require.Equal(t, "source_not_named", e.Extra["reason"])
		require.Contains(t, e.Detail, "the policy is decided by usgs, and emsc reported the occurrence")
	}
}

// The stage that the terms name for the source decides, and not that of the trigger.
func TestStageOfTheMeasurementDecides(t *testing.T) {
	t.Parallel()
	for stage, status := range map[string]string{"preliminary": "approved", "final": "deferred"} {
		b := modeltest.New(t)
		b.PublishMeasured("quake-circle", modeltest.OneSource("usgs", stage), 9)
		policy := b.QuoteAndBind("quake-circle", nil)
		b.AdvanceClock(time.Hour)
		modeltest.ObserveQuake(b, "q1", "6.6", trigger.Preliminary)
		b.RunJobs()
		require.Equal(t, status, b.OnlyClaim(policy).Status, stage)
	}
}
