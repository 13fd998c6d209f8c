package adjudication_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// jamaica is a box around Jamaica.
var jamaica = modeltest.Context{"box": map[string]float64{"west": -78.4, "south": 17.7, "east": -76.1, "north": 18.6}}

// melissaFix is a fix of Melissa of 2025 with its central pressure in millibar, at so many
// hours before now.
func melissaFix(b *modeltest.Bundle, hours float64, latitude, longitude float64, pressure string) wire.ObservationInput {
	fix := modeltest.Fix("AL132025", b.Now().Add(-time.Duration(hours*float64(time.Hour))), hazard.Point{Latitude: latitude, Longitude: longitude}, "160")
	fix.Measures["pressure"] = wire.Measure{Value: pressure, Unit: "hPa"}
	return fix
}

func TestStormOverBoxPaysByItsCentralPressure(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-pressure", jamaica)
	place := policy.Cover.Place
	require.Equal(t, trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{West: -78.4, South: 17.7, East: -76.1, North: 18.6}}, place)
	half := b.QuoteAndBind("cyclone-pressure", modeltest.Context{"box": map[string]float64{"west": -78.4, "south": 18.3, "east": -76.1, "north": 18.7}})
	away := b.QuoteAndBind("cyclone-pressure", modeltest.Context{"box": map[string]float64{"west": -82, "south": 17.7, "east": -79, "north": 18.6}})
	b.AdvanceClock(3 * modeltest.Day)
	b.Observe(melissaFix(b, 24, 17.5, -78.1, "892"), melissaFix(b, 18.6, 18.1, -78, "897"), melissaFix(b, 18, 18.2, -78, "910"))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, wire.Measure{Value: "892", Unit: "mb"}, *claim.Determination.Index, "the lower end of the segment from the south, which reaches the box")
	require.Equal(t, policy.Cover.Limit, *claim.Amount)
	require.Len(t, claim.Payouts, 1)
	require.Equal(t, policy.Cover.Limit, claim.Payouts[0].Amount)
	require.Empty(t, b.Claims(half), "the track ends south of it")
	b.Observe(melissaFix(b, 12, 18.8, -77.1, "925"))
	b.RunJobs()
	require.Equal(t, "910", b.OnlyClaim(half).Determination.Index.Value)
	require.Empty(t, b.Claims(away))
}

func TestExplanationSaysHowFarOutsideOfTheBoxAStormPassed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-pressure", jamaica)
	b.AdvanceClock(3 * modeltest.Day)
	fix := melissaFix(b, 1, 19.6, -77, "900")
	b.Observe(fix)
	b.RunJobs()
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, fix.Source, fix.SourceEventID))
	refused := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeTriggerNotMet, refused.Code)
	require.Contains(t, refused.Detail, "it happened 111.20 km outside the insured box")
	require.Equal(t, &wire.Measure{Value: "111.20", Unit: "km"}, refused.Extra["missed_by"])
}

// A policy on the other side of the antimeridian is found by its borders in any turn. No
// shipped data prices such a box, so the test moves one.
func TestStormAcrossTheAntimeridianFindsTheBox(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-pressure", jamaica)
	place := trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{West: 179.5, South: -18, East: -179.5, North: -16}}
	footprint, _ := trigger.Footprint(place)
	text, err := json.Marshal(place)
	require.NoError(t, err)
	_, err = b.DB.Pool.Exec(t.Context(), "update policies set cover = jsonb_set(cover::jsonb, '{place}', $1::jsonb)::json, footprint = $2::text::box",
		string(text), capacity.PgBox(footprint))
	require.NoError(t, err)
	b.AdvanceClock(3 * modeltest.Day)
	b.Observe(melissaFix(b, 12, -17, 179, "925"), melissaFix(b, 6, -17, -179.9, "930"))
	b.RunJobs()
	require.Equal(t, "925", b.OnlyClaim(policy).Determination.Index.Value)
}
