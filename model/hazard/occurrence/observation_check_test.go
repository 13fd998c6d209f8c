package occurrence_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// checkedAt is the business time of the checks that need no database.
var checkedAt = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// check returns what an observation is rejected for, each as pointer and code.
func check(in wire.ObservationInput, unread ...apperr.FieldError) (faults []string) {
	for _, fault := range occurrence.CheckObservation(modeltest.Source(), &in, checkedAt, unread) {
		faults = append(faults, fault.Pointer+" "+fault.Code)
	}
	return faults
}

func measures(nameValueUnit ...string) map[string]wire.Measure {
	given := map[string]wire.Measure{}
	for i := 0; i < len(nameValueUnit); i += 3 {
		given[nameValueUnit[i]] = wire.Measure{Value: nameValueUnit[i+1], Unit: nameValueUnit[i+2]}
	}
	return given
}

func changed(in wire.ObservationInput, change func(*wire.ObservationInput)) wire.ObservationInput {
	change(&in)
	return in
}

// samples returns a valid observation of each kind.
func samples() (quake, fix, day wire.ObservationInput) {
	return modeltest.Quake("us1", checkedAt, modeltest.Epicentre, "6.4"), modeltest.Fix("AL01", checkedAt, modeltest.Miami, "100"),
		modeltest.StationDay("Seattle", checkedAt.Truncate(24*time.Hour), "12.5")
}

func TestBoundsOfMeasuresAreInclusive(t *testing.T) {
	t.Parallel()
	quake, fix, day := samples()
	for _, tc := range []struct {
		in                   wire.ObservationInput
		measure, unit        string
		below, low, high, up string
	}{
		{quake, "magnitude", "mw", "-5.000000001", "-5", "11", "11.000000001"},
		{quake, "depth", "km", "-20.1", "-20", "1000", "1000.1"},
		{fix, "wind", "kn", "-0.1", "0", "300", "300.1"},
		{fix, "pressure", "hPa", "799.9", "800", "1100", "1100.1"},
		{day, "precipitation", "mm", "-0.1", "0", "3000", "3000.1"},
		{day, "temperature_max", "degC", "-100.1", "-100", "70", "70.1"},
		{day, "temperature_min", "degC", "-100.1", "-100", "70", "70.1"},
		{day, "wind", "m/s", "-0.1", "0", "150", "150.1"},
	} {
		for value, accepted := range map[string]bool{tc.below: false, tc.low: true, tc.high: true, tc.up: false} {
			in := changed(tc.in, func(in *wire.ObservationInput) {
				in.Measures = measures("magnitude", "5", "mw")
				if in.Kind != hazard.Earthquake {
					in.Measures = measures()
				}
				in.Measures[tc.measure] = wire.Measure{Value: value, Unit: tc.unit}
			})
			name := fmt.Sprintf("%s %s %s", in.Kind, tc.measure, value)
			if accepted {
				require.Empty(t, check(in), name)
			} else {
				require.Equal(t, []string{"/measures/" + tc.measure + "/value value"}, check(in), name)
			}
		}
	}
}

func TestValueOfAMeasureIsADecimalOfAtMostNineDigits(t *testing.T) {
	t.Parallel()
	_, _, day := samples()
	for value, accepted := range map[string]bool{
		"0": true, "-0": true, "007": true, "12.500000000": true, "000000001": true,
		"": false, "+1": false, ".5": false, "5.": false, "1e2": false, "0x1": false, " 1": false, "1 ": false, "1,5": false, "NaN": false, "١": false,
		"1.0000000001": false, "0000000001": false,
	} {
		day.Measures = measures("precipitation", value, "mm")
		if accepted {
			require.Empty(t, check(day), value)
		} else {
			require.Equal(t, []string{"/measures/precipitation/value format"}, check(day), value)
		}
	}
}

func TestMeasuresThatEachKindNeeds(t *testing.T) {
	t.Parallel()
	quake, fix, day := samples()
	for name, tc := range map[string]struct {
		in     wire.ObservationInput
		given  map[string]wire.Measure
		faults []string
	}{
		"a quake without any":       {quake, nil, []string{"/measures required", "/measures/magnitude required"}},
		"a quake with none":         {quake, measures(), []string{"/measures required", "/measures/magnitude required"}},
		"a quake's depth alone":     {quake, measures("depth", "10", "km"), []string{"/measures/magnitude required"}},
		"a fix without any":         {fix, nil, []string{"/measures required"}},
		"a fix with none":           {fix, measures(), []string{"/measures required"}},
		"a fix's pressure alone":    {fix, measures("pressure", "950", "hPa"), nil},
		"a fix's rain":              {fix, measures("precipitation", "5", "mm"), []string{"/measures/precipitation unknown"}},
		"a fix's wind in m/s":       {fix, measures("wind", "50", "m/s"), []string{"/measures/wind/unit enum"}},
		"a day with none":           {day, measures(), []string{"/measures required"}},
		"a day's wind alone":        {day, measures("wind", "50", "m/s"), nil},
		"a day's wind in kn":        {day, measures("wind", "50", "kn"), []string{"/measures/wind/unit enum"}},
		"unit and value are wrong":  {day, measures("wind", "x", "kn"), []string{"/measures/wind/unit enum", "/measures/wind/value format"}},
		"a name that needs escapes": {day, measures("wind", "5", "m/s", "a/b~c", "1", "mm"), []string{"/measures/a~1b~0c unknown"}},
	} {
		tc.in.Measures = tc.given
		require.Equal(t, tc.faults, check(tc.in), name)
	}
}

func TestPlaceThatEachKindNeeds(t *testing.T) {
	t.Parallel()
	quake, fix, day := samples()
	at := func(latitude, longitude float64) func(*wire.ObservationInput) {
		return func(in *wire.ObservationInput) {
			in.Location = &hazard.Point{Latitude: latitude, Longitude: longitude}
		}
	}
	nowhere := func(in *wire.ObservationInput) { in.Location = nil }
	named := func(station string) func(*wire.ObservationInput) {
		return func(in *wire.ObservationInput) { in.Station = station }
	}
	for name, tc := range map[string]struct {
		in     wire.ObservationInput
		place  func(*wire.ObservationInput)
		faults []string
	}{
		"north-east corner":    {quake, at(90, 180), nil},
		"south-west corner":    {fix, at(-90, -180), nil},
		"beyond north-east":    {fix, at(90.0001, 180.0001), []string{"/location/latitude value", "/location/longitude value"}},
		"beyond south-west":    {quake, at(-90.0001, -180.0001), []string{"/location/latitude value", "/location/longitude value"}},
		"a fix without one":    {fix, nowhere, []string{"/location required"}},
		"a fix at a station":   {fix, named("Seattle"), []string{"/station not_allowed"}},
		"a day without one":    {day, named(""), []string{"/station required"}},
		"a day with a point":   {day, at(10, 10), []string{"/location not_allowed"}},
		"a day's wrong point":  {day, at(91, 10), []string{"/location not_allowed", "/location/latitude value"}},
		"the longest station":  {day, named(strings.Repeat("é", 128)), nil},
		"a longer station":     {day, named(strings.Repeat("é", 129)), []string{"/station required"}},
		"an unknown kind's":    {changed(quake, func(in *wire.ObservationInput) { in.Kind = "flood" }), nowhere, []string{"/kind enum"}},
		"an unknown kind's 91": {changed(quake, func(in *wire.ObservationInput) { in.Kind = "flood" }), at(91, 0), []string{"/kind enum", "/location/latitude value"}},
	} {
		tc.place(&tc.in)
		require.Equal(t, tc.faults, check(tc.in), name)
	}
}

func TestNamesRevisionsAndTimesOfAnObservation(t *testing.T) {
	t.Parallel()
	quake, _, _ := samples()
	twenty := strings.Split(strings.Repeat("x", 20), "")
	for name, tc := range map[string]struct {
		change func(*wire.ObservationInput)
		faults []string
	}{
		"revision 0":              {func(in *wire.ObservationInput) { in.Revision = new(int64(0)) }, nil},
		"revision below 0":        {func(in *wire.ObservationInput) { in.Revision = new(int64(-1)) }, []string{"/revision minimum"}},
		"the longest source":      {func(in *wire.ObservationInput) { in.Source = "0" + strings.Repeat("a", 62) }, nil},
		"a longer source":         {func(in *wire.ObservationInput) { in.Source = strings.Repeat("a", 64) }, []string{"/source pattern"}},
		"every sign of a source":  {func(in *wire.ObservationInput) { in.Source = "a.b_c-9" }, nil},
		"a source of a hyphen":    {func(in *wire.ObservationInput) { in.Source = "-usgs" }, []string{"/source pattern"}},
		"a source of two lines":   {func(in *wire.ObservationInput) { in.Source = "usgs\n" }, []string{"/source pattern"}},
		"the longest id":          {func(in *wire.ObservationInput) { in.SourceEventID = strings.Repeat("é", 128) }, nil},
		"a longer id":             {func(in *wire.ObservationInput) { in.SourceEventID = strings.Repeat("é", 129) }, []string{"/source_event_id length"}},
		"twenty aliases":          {func(in *wire.ObservationInput) { in.Aliases = twenty }, nil},
		"one alias more":          {func(in *wire.ObservationInput) { in.Aliases = append(twenty[:20:20], "y") }, []string{"/aliases length"}},
		"an empty 21st alias":     {func(in *wire.ObservationInput) { in.Aliases = append(twenty[:20:20], "") }, []string{"/aliases length"}},
		"an empty alias":          {func(in *wire.ObservationInput) { in.Aliases = []string{"", "x"} }, []string{"/aliases/0 length"}},
		"this instant":            {func(in *wire.ObservationInput) { in.OccurredAt = checkedAt }, nil},
		"a moment later":          {func(in *wire.ObservationInput) { in.OccurredAt = checkedAt.Add(time.Nanosecond) }, []string{"/occurred_at future"}},
		"the first accepted year": {func(in *wire.ObservationInput) { in.OccurredAt = time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC) }, nil},
		"the year before":         {func(in *wire.ObservationInput) { in.OccurredAt = time.Date(1799, 12, 31, 23, 59, 59, 0, time.UTC) }, []string{"/occurred_at value"}},
		"preliminary":             {func(in *wire.ObservationInput) { in.Stage = trigger.Preliminary }, nil},
		"no stage":                {func(in *wire.ObservationInput) { in.Stage = "" }, []string{"/stage enum"}},
	} {
		in := quake
		tc.change(&in)
		require.Equal(t, tc.faults, check(in), name)
	}
}

func TestWhatARetractionMustName(t *testing.T) {
	t.Parallel()
	bare := func(kind hazard.Kind) wire.ObservationInput {
		return wire.ObservationInput{Source: "usgs", SourceEventID: "x", Kind: kind, Stage: trigger.Retracted}
	}
	at := func(in *wire.ObservationInput) { in.OccurredAt = checkedAt }
	require.Empty(t, check(bare(hazard.Earthquake)), "the id of a quake is enough")
	require.Equal(t, []string{"/occurred_at required"}, check(bare(hazard.StormFix)))
	require.Empty(t, check(changed(bare(hazard.StormFix), at)))
	require.Equal(t, []string{"/station required"}, check(bare(hazard.StationDay)))
	require.Equal(t, []string{"/station required"}, check(changed(bare(hazard.StationDay), at)))
	station := func(in *wire.ObservationInput) { in.Station = "Seattle" }
	require.Equal(t, []string{"/station required"}, check(changed(bare(hazard.StationDay), station)))
	require.Empty(t, check(changed(changed(bare(hazard.StationDay), at), station)))
	wrong := changed(bare(hazard.Earthquake), func(in *wire.ObservationInput) {
		in.Location, in.Measures, in.OccurredAt = &hazard.Point{Latitude: 99}, measures("colour", "red", ""), time.Date(5, 1, 1, 0, 0, 0, 0, time.UTC)
	})
	require.Empty(t, check(wrong), "its place and values are not used")
}

func TestMembersThatWereNotParsedAreNotCheckedAgain(t *testing.T) {
	t.Parallel()
	quake, _, _ := samples()
	quake.OccurredAt, quake.Measures["magnitude"], quake.Revision = time.Time{}, wire.Measure{}, new(int64(-1))
	faults := check(quake, apperr.NewFieldError("/occurred_at", "type", "Use a string."), apperr.NewFieldError("/measures", "type", "Use an object."))
	require.Equal(t, []string{"/measures type", "/occurred_at type", "/revision minimum"}, faults)
}

func TestErrorsOfOneObservationAreSortedAndBounded(t *testing.T) {
	t.Parallel()
	quake, _, _ := samples()
	quake.Measures = measures()
	for i := range 3 * apperr.MaxFieldErrors {
		quake.Measures["m"+strconv.Itoa(1000+i)] = wire.Measure{Value: "1", Unit: "km"}
	}
	faults := check(quake)
	require.Len(t, faults, apperr.MaxFieldErrors)
	require.IsIncreasing(t, faults)
	require.Equal(t, "/measures/m1000 unknown", faults[0], "the first ones by pointer")
}

func TestSourceTokenObservesForItsOwnSourcesOnly(t *testing.T) {
	t.Parallel()
	quake, _, _ := samples()
	token := modeltest.Source()
	token.AnySource, token.Sources = false, []string{"emsc", "nhc"}
	detail := func(a actor.Actor, source string) string {
		quake.Source = source
		faults := occurrence.CheckObservation(a, &quake, checkedAt, nil)
		if len(faults) == 0 {
			return ""
		}
		require.Len(t, faults, 1)
		require.Equal(t, "/source", faults[0].Pointer)
		return faults[0].Detail
	}
	require.Contains(t, detail(token, "usgs"), "This token may post for emsc, nhc only.")
	require.Empty(t, detail(token, "nhc"))
	require.Contains(t, detail(token, "NHC"), "lower-case", "a name that no source has is reported as such alone")
	token.Sources = nil
	require.Contains(t, detail(token, "nhc"), "no claim named source")
	token.AnySource = true
	require.Empty(t, detail(token, "nhc"))
	partner := modeltest.Partner("acme")
	require.Empty(t, detail(partner, "nhc"), "partners rehearse every source")
}
