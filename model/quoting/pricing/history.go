package pricing

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// historyMethods are the steps of a price that depend on the form of the history.
type historyMethods struct {
	// checkPriceable returns an *UnpriceableError if the data cannot answer the terms.
	checkPriceable func(*trigger.Cover, *hazard.History) error
	dataset        func(*trigger.Cover, *hazard.History) dataset
	weigh          func(*eventWeigher, *hazard.History)
	replay         func(*analysis, *hazard.History)
	// dimensions is how often the ratio of the place to the smoothed place counts in the
	// prior: 2 for points, which hit an area, 1 for tracks, which cross a width.
	dimensions int
}

var methodsByForm = map[hazard.Form]*historyMethods{
	hazard.QuakeForm: {
		checkPriceable: checkMagnitudes,
		dataset: func(_ *trigger.Cover, h *hazard.History) dataset {
			return dataset{h.QuakeData(), h.QuakeData().Years()}
		},
		weigh:      (*eventWeigher).weighQuakes,
		replay:     func(a *analysis, h *hazard.History) { a.replay.replayQuakes(h) },
		dimensions: 2,
	},
	hazard.TrackForm: {
		checkPriceable: checkBasin,
		dataset: func(c *trigger.Cover, h *hazard.History) dataset {
			return dataset{stormData(c, h), stormData(c, h).Years()}
		},
		weigh:      (*eventWeigher).weighStorms,
		replay:     func(a *analysis, h *hazard.History) { a.replay.replayStorms(h) },
		dimensions: 1,
	},
	hazard.DailyForm: {
		checkPriceable: checkStationPriceable,
		dataset:        stationDataset,
		weigh:          (*eventWeigher).weighStation,
		replay:         func(a *analysis, h *hazard.History) { a.replay.replayStation(&a.weigher, h) },
	},
}

// stormData returns the data set of the index that the cover measures.
func stormData(c *trigger.Cover, h *hazard.History) hazard.Dataset {
	if c.Trigger.Index == trigger.CentralPressure {
		return h.PressureData()
	}
	return h.StormData()
}

// methodsFor returns the methods for the cover's peril. CheckPriceable must accept the
// cover.
func methodsFor(c *trigger.Cover) *historyMethods { return methodsByForm[c.Trigger.Form()] }

func stationDataset(c *trigger.Cover, h *hazard.History) dataset {
	data := dataset{Dataset: h.RainData()}
	if years := loadStation(c, h).years; len(years) > 0 {
		data.years = len(years)
		data.FirstYear, data.LastYear = years[0], years[len(years)-1]
	}
	return data
}

// replayHistory evaluates the whole history of the cover's peril at the place.
func (a *analysis) replayHistory(h *hazard.History) {
	methodsFor(&a.replay.cover).replay(a, h)
	a.replay.paidEvents = sortPastEvents(a.replay.paidEvents)
}

// weighHistory weighs the whole history of the cover's peril. CheckPriceable must
// accept the cover.
func weighHistory(c trigger.Cover, smoothing decimal.Decimal, h *hazard.History, s *seasonWindow) *analysis {
	methods := methodsFor(&c)
	a := &analysis{data: methods.dataset(&c, h)}
	a.replay = historyReplay{cover: c, source: a.data.Source, season: s, paidEvents: []PastEvent{}}
	a.weigher = eventWeigher{cover: c, season: s, smoothing: smoothing.InexactFloat64(), events: []WeighedEvent{}}
	methods.weigh(&a.weigher, h)
	return a
}

func checkMagnitudes(c *trigger.Cover, h *hazard.History) error {
	if lowest, least := c.Payout.LowestThreshold(), h.QuakeData().MinimumMagnitude; lowest.LessThan(least) {
		return &UnpriceableError{"steps", fmt.Sprintf("must not begin below %s: the price data records no earthquake below it", least)}
	}
	return nil
}

func checkBasin(c *trigger.Cover, h *hazard.History) error {
	basin := stormData(c, h).Basin
	switch {
	case basin == nil:
		return nil
	case c.Place.Kind == trigger.InBox && !basin.ContainsBox(c.Place.Box()):
		return &UnpriceableError{"box", "must have its centre and all corners in the basin of the track data, " + basin.Name}
	case c.Place.Kind == trigger.Circle && !basin.Contains(c.Place.Center()):
		return &UnpriceableError{"location", "must lie in the basin of the track data, " + basin.Name}
	}
	return nil
}

func checkStationPriceable(c *trigger.Cover, h *hazard.History) error {
	if years := len(loadStation(c, h).years); years < hazard.MinimumStationYears {
		priced := h.PricedStations(trigger.IsMeasured(c.Trigger.Definition()))
		return &UnpriceableError{"station", fmt.Sprintf("must have at least %d whole years of price data: %s; %q has %d",
			hazard.MinimumStationYears, strings.Join(priced, ", "), c.Place.Station, years)}
	}
	return nil
}
