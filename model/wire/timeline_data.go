package wire

import "parapet/model/hazard/trigger"

// These are the data of the timeline entries that a large event writes for each claim. The
// members are in the order of their names, as in the data of all entries.
type (
	// ObservedData is the data of the entry for the observed event, the first one.
	ObservedData struct {
		DistanceKM    *float64         `json:"distance_km"`
		Index         *Measure         `json:"index"`
		Occurrence    *OccurrenceBrief `json:"occurrence"`
		SourceVersion string           `json:"source_version"`
		Stage         trigger.Stage    `json:"stage"`
	}
	// DeterminationData is the data of the entry for a claim that was opened or determined
	// again.
	DeterminationData struct {
		Determination *Determination `json:"determination"`
	}
	// DecisionData is the data of the entry for a decision.
	DecisionData struct {
		Amount   *Money    `json:"amount"`
		Decision *Decision `json:"decision"`
	}
	// IncreaseData is the data of the entry for a claim that is owed more, because the
	// occurrence grew or the source revised it.
	IncreaseData struct {
		Amount        *Money         `json:"amount"`
		Determination *Determination `json:"determination"`
	}
	// PayoutData is the data of the entry for an event of a payout.
	PayoutData struct {
		Amount            Money   `json:"amount"`
		BlockedReason     *string `json:"blocked_reason"`
		PayoutID          string  `json:"payout_id"`
		ProviderReference *string `json:"provider_reference"`
		Status            string  `json:"status"`
	}
)
