package claims

import (
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// These are data of timeline entries that a large event writes for each claim: a struct is
// encoded in half the time of a map. Members are in the order of their names, as in all
// data of entries.
type (
	// ObservedData is of the first entry, the observed event.
	ObservedData struct {
		DistanceKM    *float64              `json:"distance_km"`
		Index         *wire.Measure         `json:"index"`
		Occurrence    *wire.OccurrenceBrief `json:"occurrence"`
		SourceVersion string                `json:"source_version"`
		Stage         trigger.Stage         `json:"stage"`
	}
	// DeterminationData is of a claim that was opened or determined again.
	DeterminationData struct {
		Determination *wire.Determination `json:"determination"`
	}
	// DecisionData is of a decision.
	DecisionData struct {
		Amount   *wire.Money    `json:"amount"`
		Decision *wire.Decision `json:"decision"`
	}
)
