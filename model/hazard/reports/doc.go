// Package reports finds the reports of several sources that are one event: occurrences that
// are close in time, place and size, unless an operator decided otherwise. The readings stay with
// their occurrences.
//
// It has no states and takes no locks. Start reading at reports.go and relation.go.
package reports
