package trigger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

// The first fixes of the storms of this test: on both sides of Central America.
var (
	inCaribbean = hazard.Point{Latitude: 15, Longitude: -75}
	inPacific   = hazard.Point{Latitude: 12, Longitude: -95}
)

// basinStorm returns a storm that begins at a place and is at another one 36 hours later.
func basinStorm(id string, first, then hazard.Point) *hazard.Storm {
	storm := fixesAt([]hazard.Point{first, {}, {}, {}, {}, {}, then}, 930, 0, 0, 0, 0, 0, 910)
	storm.ID, storm.Fixes = id, []hazard.Fix{storm.Fixes[0], storm.Fixes[6]}
	for i := range storm.Fixes {
		storm.Fixes[i].WindKN = new(mustDecimal("140"))
	}
	return &storm
}

func TestCoverPaysForStormsOfItsBasin(t *testing.T) {
	t.Parallel()
	circle := stormCover()
	for name, tc := range map[string]struct {
		id    string
		first hazard.Point
		pays  bool
	}{
		"Atlantic":                           {"AL092026", inCaribbean, true},
		"Atlantic, begins in the Pacific":    {"AL092026", inPacific, true},
		"Atlantic in small letters":          {"al092026", inPacific, true},
		"Atlantic, replayed":                 {"AL092026-0a1b2c3d", inPacific, true},
		"Eastern Pacific":                    {"EP992026", inPacific, false},
		"Eastern Pacific in small letters":   {"ep992026", inCaribbean, false},
		"Eastern Pacific, in the Atlantic":   {"EP992026", inCaribbean, false},
		"Eastern Pacific, replayed":          {"EP992026-0a1b2c3d", inCaribbean, false},
		"Central Pacific":                    {"CP012026", inCaribbean, false},
		"Western Pacific":                    {"WP992026", inCaribbean, false},
		"Southern Hemisphere":                {"SH012026", inCaribbean, false},
		"unknown letters":                    {"XX012026", inCaribbean, true},
		"no id":                              {"", inCaribbean, true},
		"no id, begins in the Pacific":       {"", inPacific, false},
		"another id":                         {"storm-x", inCaribbean, true},
		"another id, begins in the Pacific":  {"storm-x", inPacific, false},
		"one digit less":                     {"EP99202", inCaribbean, true},
		"one digit more":                     {"EP9920260", inCaribbean, true},
		"one digit less, from the Pacific":   {"AL99202", inPacific, false},
		"a space before, from the Pacific":   {" AL992026", inPacific, false},
		"a hyphen inside, from the Pacific":  {"AL-992026", inPacific, false},
		"the letters only, from the Pacific": {"AL", inPacific, false},
	} {
		for place, cover := range map[string]Cover{"circle": circle, "box": boxCover(-86, 30, -84, 31)} {
			storm := basinStorm(tc.id, tc.first, circle.Place.Center())
			of := Occurrence{Source: "nhc", SourceEventID: tc.id, Storm: storm, Stage: Final}
			year := Period{utcDate(2026, 1, 1), utcDate(2027, 1, 1)}
			for _, evaluate := range []func(Cover) Determination{
				func(c Cover) Determination { return Evaluate(c, year, year.From, of) },
				func(c Cover) Determination { return EvaluateReport(c, year, year.From, of) },
			} {
				d := evaluate(cover)
				require.Equal(t, tc.pays, d.Met, "%s, %s", name, place)
				if tc.pays {
					require.Equal(t, ThresholdMet, d.Reason)
					continue
				}
				require.Equal(t, OutsidePlace, d.Reason, "%s, %s", name, place)
				require.Nil(t, d.Index, "nothing that counts was measured")
				require.Zero(t, d.Amount)
				require.True(t, d.Factor.IsZero() && d.Missed.IsZero())
				require.InDelta(t, 0, *d.DistanceKM, 60, "how close it came is known")
				require.Equal(t, Final, d.Stage)
			}
			require.True(t, EvaluateReportOfAnyBasin(cover, year, year.From, of).Met, "version 1 pays: %s, %s", name, place)
		}
	}
}

func TestFirstFixIsTheEarliest(t *testing.T) {
	t.Parallel()
	miami := stormCover().Place.Center()
	alone := fixesAt([]hazard.Point{miami}, 900)
	alone.ID, alone.Fixes[0].WindKN = "", new(mustDecimal("140"))
	require.True(t, evaluateIn2026(stormCover(), alone).Met, "one fix at the place")

	storm := basinStorm("storm-x", inPacific, miami)
	storm.Fixes[0], storm.Fixes[1] = storm.Fixes[1], storm.Fixes[0]
	require.False(t, evaluateIn2026(stormCover(), *storm).Met, "in any order")
	require.True(t, Cover{Trigger: stormCover().Trigger}.IsOtherBasin(Occurrence{Storm: storm}))
	require.False(t, quakeCover().IsOtherBasin(Occurrence{Storm: storm}), "another peril")
	require.False(t, stormCover().IsOtherBasin(Occurrence{Storm: &hazard.Storm{}}), "no fix is known")
	require.False(t, stormCover().IsOtherBasin(Occurrence{Quake: new(hualienQuake())}))
}

// A source that the terms do not name has no say, whatever the basin and the version.
func TestUnnamedSourceOfAnotherBasin(t *testing.T) {
	t.Parallel()
	cover := stormCover()
	cover.Measurement = &Measurement{Sources: []MeasurementSource{{Source: "nhc", Stage: Final}}}
	year := Period{utcDate(2026, 1, 1), utcDate(2027, 1, 1)}
	of := Occurrence{Source: "jma", Storm: basinStorm("WP012026", inPacific, cover.Place.Center())}
	require.Equal(t, SourceNotNamed, EvaluateReport(cover, year, year.From, of).Reason)
	d := EvaluateReportOfAnyBasin(cover, year, year.From, of)
	require.Equal(t, SourceNotNamed, d.Reason)
	require.False(t, d.Met)
}

// No storm of the price data is of another basin, so that the rule changes no price.
func TestHistoryHasStormsOfItsBasinOnly(t *testing.T) {
	t.Parallel()
	storms := hazard.Shipped().Storms()
	require.Len(t, storms, 2_004)
	for i := range storms {
		require.False(t, stormCover().IsOtherBasin(Occurrence{Storm: &storms[i]}), storms[i].ID)
	}
}
