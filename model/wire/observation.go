package wire

import (
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// Measure is a measured value with its unit.
type Measure = hazard.Measure

// ObservationInput is one observation of a source. A storm's fixes share the storm's
// source_event_id and differ in occurred_at; a station's days differ in station and
// day.
type ObservationInput struct {
	Source        string             `json:"source"`
	SourceEventID string             `json:"source_event_id"`
	Kind          hazard.Kind        `json:"kind"`
	OccurredAt    time.Time          `json:"occurred_at,omitzero"` // required unless the stage is retracted
	Stage         trigger.Stage      `json:"stage"`
	Revision      *int64             `json:"revision,omitzero"` // grows with each change at the source
	Location      *hazard.Point      `json:"location,omitzero"` // earthquake, storm_fix
	Station       string             `json:"station,omitzero"`  // station_day
	Measures      map[string]Measure `json:"measures,omitzero"` // required unless the stage is retracted
	// Aliases are other ids the source uses for the same event; they lead to
	// one occurrence.
	Aliases []string `json:"aliases,omitzero"`
	// ReplayedFrom is the original time of a historical observation that was
	// re-dated for a rehearsal.
	ReplayedFrom *time.Time `json:"replayed_from,omitzero"`
	// Record is the source's record of the values; nil for observations that were posted.
	Record *hazard.Record `json:"-"`
}

// Observation is one measurement in the source's present version.
type Observation struct {
	Header
	ObservationInput
	OccurrenceID *string `json:"occurrence_id"` // null for a day at a station, which belongs to no single occurrence
}

// ObservationRevision is an observation as it was after one report of its source. Version
// is the number of the report.
type ObservationRevision struct {
	Observation
	RecordedAt time.Time `json:"recorded_at"`
	Changed    []string  `json:"changed"` // JSON pointers of the members that differ from the report before
}

// ObservationResult is the result for one observation of a batch.
type ObservationResult struct {
	Index  int          `json:"index"`  // position in the request
	Result string       `json:"result"` // created, revised, unchanged, rejected
	ID     *string      `json:"id"`     // null when rejected
	Errors []FieldError `json:"errors"`
}

// FieldError is one invalid member of a request.
type FieldError struct {
	Pointer string `json:"pointer"` // RFC 6901, into the request body
	Code    string `json:"code"`
	Detail  string `json:"detail"` // what is valid
}
