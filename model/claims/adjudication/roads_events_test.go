package adjudication_test

import (
	"fmt"
	"strconv"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// hazardStep is what a source reports at once, and how much later than the step before.
type hazardStep struct {
	peril    string
	after    time.Duration
	readings []wire.ObservationInput
}

// events returns the steps of n random events of each kind. The steps of one event keep
// their order; those of different events alternate.
func (g *generator) events(n int) (steps []hazardStep) {
	var running [][]hazardStep
	for i := range n {
		running = append(running, g.quake(i, false), g.quake(i, true), g.spell(i), g.dryMonth(i), g.hotSeason(i))
		running = append(running, g.agencies(i)...)
	}
	for len(running) > 0 {
		at := g.IntN(len(running))
		steps = append(steps, running[at][0])
		if running[at] = running[at][1:]; len(running[at]) == 0 {
			running = append(running[:at], running[at+1:]...)
		}
	}
	// Storms come last: each fix is half an hour old, and the clock moves to it.
	for i := range n {
		steps = append(steps, g.storm(i)...)
	}
	return steps
}

// stages returns the stages of the versions of an event: preliminary ones, and the last
// one usually final.
func (g *generator) stages() []trigger.Stage {
	return pick(g, []trigger.Stage{trigger.Final}, []trigger.Stage{trigger.Preliminary, trigger.Final},
		[]trigger.Stage{trigger.Preliminary, trigger.Preliminary, trigger.Final}, []trigger.Stage{trigger.Preliminary, trigger.Final, trigger.Final},
		[]trigger.Stage{trigger.Preliminary})
}

// quake returns the versions of an earthquake. A twin is reported under two ids, half a
// minute apart.
func (g *generator) quake(i int, twin bool) (steps []hazardStep) {
	at := g.now.Add(-time.Duration(1+g.IntN(150*24))*time.Hour - 30*time.Minute)
	where := hazard.Point{Latitude: g.near(modeltest.Epicentre.Latitude, 0.2), Longitude: g.near(modeltest.Epicentre.Longitude, 0.2)}
	id := fmt.Sprintf("quake%d%t", i, twin)
	reading := func(id string, at time.Time, stage trigger.Stage) hazardStep {
		in := modeltest.Quake(id, at, where, pick(g, "5.9", "6.0", "6.3", "6.5", "6.8", "7.1"))
		in.Stage, in.Measures["depth"] = stage, wire.Measure{Value: g.decimal(5, 60), Unit: "km"}
		return hazardStep{peril: "earthquake", readings: []wire.ObservationInput{in}}
	}
	stages := g.stages()
	for _, stage := range stages {
		steps = append(steps, reading(id, at, stage))
		if twin {
			steps = append(steps, reading(id+"b", at.Add(30*time.Second), stage))
		}
	}
	if g.IntN(3) == 0 {
		steps = append(steps, hazardStep{peril: "earthquake", readings: []wire.ObservationInput{modeltest.NewRetraction(id)}})
	}
	return steps
}

// agencies returns the reports of several sources about one earthquake, each with its own
// id, time, place and magnitude. One of them is sometimes missing. No other earthquake is
// within the minute in which sources may disagree: of two such events, which one a report
// belongs to depends on the report that is decided.
func (g *generator) agencies(i int) (reports [][]hazardStep) {
	at := g.now.Add(-time.Duration(1+20*i+g.IntN(20)) * time.Hour)
	for n, source := range []string{"usgs", "emsc", "jma"} {
		if g.IntN(5) == 0 {
			continue
		}
		where := hazard.Point{Latitude: g.near(modeltest.Epicentre.Latitude, 0.1), Longitude: g.near(modeltest.Epicentre.Longitude, 0.1)}
		var steps []hazardStep
		for _, stage := range g.stages() {
			in := modeltest.Quake(fmt.Sprintf("agencies%d%s", i, source), at.Add(time.Duration(n)*2*time.Second), where, pick(g, "5.9", "6.1", "6.3", "6.4", "6.8", "7.1"))
			in.Source, in.Stage = source, stage
			steps = append(steps, hazardStep{peril: "earthquake", readings: []wire.ObservationInput{in}})
		}
		reports = append(reports, steps)
	}
	return reports
}

// storm returns the fixes of a storm past Miami, which moves the clock. Some fixes are
// preliminary first.
func (g *generator) storm(i int) (steps []hazardStep) {
	wait := 2 * modeltest.Day
	latitude, longitude := g.near(24.6, 0.4), g.near(-79.4, 0.4)
	for range 3 + g.IntN(3) {
		g.now = g.now.Add(wait)
		fix := modeltest.Fix(fmt.Sprintf("AL%02d", i+1), g.now.Add(-30*time.Minute), hazard.Point{Latitude: latitude, Longitude: longitude}, g.decimal(50, 145))
		fix.Measures["pressure"] = wire.Measure{Value: g.decimal(890, 960), Unit: "hPa"}
		after := wait
		wait = modeltest.FixInterval
		if g.IntN(3) == 0 {
			early := fix
			early.Stage = trigger.Preliminary
			steps = append(steps, hazardStep{"windstorm", after, []wire.ObservationInput{early}})
			after = 0
		}
		steps = append(steps, hazardStep{"windstorm", after, []wire.ObservationInput{fix}})
		latitude, longitude = latitude+g.near(0.4, 0.3), longitude-g.near(0.4, 0.3)
	}
	return steps
}

// stationDays are the reports of consecutive days at a station.
func stationDays(station string, first time.Time, stage trigger.Stage, values ...string) (in []wire.ObservationInput) {
	for i, value := range values {
		day := modeltest.StationDay(station, first.AddDate(0, 0, i), value)
		day.Stage = stage
		in = append(in, day)
	}
	return in
}

// spell returns a wet spell with the dry days that end it, some of them reported twice.
func (g *generator) spell(i int) (steps []hazardStep) {
	first := modeltest.FirstWholeDay(g.now).AddDate(0, 0, -80-40*i-g.IntN(20))
	station := pick(g, "Milwaukee", "Merced")
	for _, stage := range g.stages() {
		values := make([]string, 2+g.IntN(4))
		for d := range values {
			values[d] = g.decimal(20, 110)
		}
		for len(values) < 8 {
			values = append(values, "0")
		}
		steps = append(steps, hazardStep{peril: "rainfall", readings: stationDays(station, first, stage, values...)})
	}
	return steps
}

// dryMonth returns a month with little rain, day by day as it is settled.
func (g *generator) dryMonth(i int) (steps []hazardStep) {
	first := time.Date(g.now.Year(), g.now.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, -5-i, 0)
	var values []string
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		values = append(values, pick(g, "0", "0", "0", "0", "0.4"))
	}
	station := pick(g, "Milwaukee", "Merced")
	for _, stage := range g.stages() {
		days := stationDays(station, first, stage, values...)
		if stage == trigger.Preliminary && g.IntN(2) == 0 {
			days = append(days[:10], days[11:]...) // a missing day
		}
		steps = append(steps, hazardStep{peril: "rainfall", readings: days})
	}
	return steps
}

// hotSeason returns hot days one after another: a count that grows.
func (g *generator) hotSeason(i int) (steps []hazardStep) {
	first := g.season().AddDate(0, 0, 12)
	if first.After(g.now) { // the covers began in the season before
		first = first.AddDate(-1, 0, 0)
	}
	station := pick(g, "Milwaukee", "Merced")
	for day := range 6 {
		in := modeltest.StationDay(station, first.AddDate(0, 0, 2*day+i%2), "0")
		in.Measures = map[string]wire.Measure{"temperature_max": {Value: strconv.Itoa(30 + g.IntN(8)), Unit: "degC"}}
		for _, stage := range g.stages() {
			in.Stage = stage
			steps = append(steps, hazardStep{peril: "temperature", readings: []wire.ObservationInput{in}})
		}
	}
	return steps
}
