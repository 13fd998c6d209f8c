package claims

import (
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// These are the data of the timeline entries that a large event writes for each claim: a
// struct is encoded in half the time of a map. The members are in the order of their names,
// as in the data of all entries.
type (
	// ObservedData is the data of the entry for the observed event, the first one.
	ObservedData struct {
		DistanceKM    *float64              `json:"distance_km"`
		Index         *wire.Measure         `json:"index"`
		Occurrence    *wire.OccurrenceBrief `json:"occurrence"`
		SourceVersion string                `json:"source_version"`
		Stage         trigger.Stage         `json:"stage"`
	}
	// DeterminationData is the data of the entry for a claim that was opened or determined
	// again.
	DeterminationData struct {
		Determination *wire.Determination `json:"determination"`
	}
	// DecisionData is the data of the entry for a decision.
	DecisionData struct {
		Amount   *wire.Money    `json:"amount"`
		Decision *wire.Decision `json:"decision"`
	}
	// IncreaseData is the data of the entry for a claim that is owed more, because the
	// occurrence grew or the source revised it.
	IncreaseData struct {
		Amount        *wire.Money         `json:"amount"`
		Determination *wire.Determination `json:"determination"`
	}
)
