package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// pacific is off Guatemala, outside the Atlantic.
var pacific = hazard.Point{Latitude: 12, Longitude: -95}

// crossingStorm reports a storm that begins in the Pacific and reaches Miami a day later.
func crossingStorm(b *modeltest.Bundle, id string) []wire.ObservationInput {
	fixes := []wire.ObservationInput{modeltest.Fix(id, b.Now().Add(-24*time.Hour), pacific, "40"), modeltest.Fix(id, b.Now(), modeltest.Miami, "140")}
	fixes[1].Measures["pressure"] = wire.Measure{Value: "890", Unit: "hPa"}
	return fixes
}

// A storm of another basin opens no claim, neither by itself nor on request, at any place.
func TestStormOfAnotherBasinOpensNoClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := []*wire.Policy{
		b.QuoteAndBind("cyclone-circle", nil),
		b.QuoteAndBind("cyclone-pressure", modeltest.Context{"box": map[string]float64{"west": -81, "south": 25, "east": -79, "north": 27}}),
	}
	b.AdvanceClock(2 * modeltest.Day)
	for id, why := range map[string]string{
		"EP992027": "the storm EP992027 is of the basin EP; the policy covers storms of the basin AL, the North Atlantic",
		"WP992027": "the storm WP992027 is of the basin WP;",
		"ep982027": "the storm ep982027 is of the basin EP;",
		"storm-x":  "the storm began in another basin, at latitude 12 and longitude -95; the policy covers storms of the basin AL, the North Atlantic",
	} {
		b.Observe(crossingStorm(b, id)...)
		b.RunJobs()
		for _, policy := range policies {
			require.Empty(t, b.Claims(policy), id)
			_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "nhc", id))
			refused := modeltest.DomainError(t, err)
			require.Equal(t, apperr.CodeTriggerNotMet, refused.Code)
			require.Equal(t, "outside_place", refused.Extra["reason"])
			require.Nil(t, refused.Extra["missed_by"])
			require.Contains(t, refused.Detail, "The trigger is not met: "+why)
		}
	}
	b.Observe(crossingStorm(b, "AL992027")...)
	b.RunJobs()
	for _, policy := range policies {
		require.Equal(t, "AL992027", b.OnlyClaim(policy).Occurrence.SourceEventID, "its id is of the Atlantic")
	}
}

// Of the ids of one storm that of the occurrence counts: the one that was reported first.
func TestFirstIDOfAStormSaysItsBasin(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	b.AdvanceClock(2 * modeltest.Day)
	for first, second := range map[string]string{"EP012027": "AL012027", "AL022027": "EP022027"} {
		reports := crossingStorm(b, first)
		b.Observe(reports[0])
		reports[1].SourceEventID, reports[1].Aliases = second, []string{first}
		b.Observe(reports[1])
		b.RunJobs()
	}
	require.Equal(t, "AL022027", b.OnlyClaim(policy).Occurrence.SourceEventID)
}

// The first fix of a storm without an id may become known later: then the ordinary rules of
// revisions apply.
func TestEarlierFixMovesAStormToAnotherBasin(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	b.AdvanceClock(2 * modeltest.Day)
	reports := crossingStorm(b, "storm-x")
	reports[1].Stage = trigger.Preliminary
	b.Observe(reports[1])
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	reports[1].Stage = trigger.Final
	b.Observe(reports...)
	b.AdvanceClock(stormOverAfter)
	b.Sweep()
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "declined", claim.Status)
	require.Equal(t, []string{"outside_place"}, claim.Decision.ReasonCodes)
	timeline := b.Timeline(claim.ID)
	require.Contains(t, timeline[len(timeline)-1].Summary, "The claim was declined: the storm began in another basin")
}
