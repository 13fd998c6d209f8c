// Package occurrence records observations and links them to occurrences.
//
// Observations of one event, from one or several sources, belong to one occurrence; the
// latest observation of each source counts. Two occurrences that turn out to be one event
// are merged. A retraction withdraws an observation. Linking takes an advisory lock per
// source, so that two first reports of an event make one occurrence.
//
// Start reading at observation.go, then occurrence_link.go.
package occurrence
