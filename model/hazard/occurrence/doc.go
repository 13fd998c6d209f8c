// Package occurrence records observations and links them to occurrences.
//
// An observation (ObservationRow) is preliminary, final or retracted and has revisions.
// Observations of one event, from one or several sources, belong to one occurrence
// (OccurrenceRow); the latest observation of each source counts. Two occurrences that
// turn out to be one event are merged: one refers to the other. A retraction withdraws an
// observation.
//
// Ingestion takes an advisory lock for each source, in the order of their names, so that
// two first reports of an event make one occurrence. Start reading at observation.go,
// then ingestion.go and occurrence_link.go.
package occurrence
