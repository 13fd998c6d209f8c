// Package scenario answers what if: it evaluates policies against recorded and
// hypothetical occurrences with the code that decides claims. A Scenario is one
// occurrence under evaluation, an Evaluation is its result for one policy. Explain is for
// one policy, Expose for a book, AffectedPolicies for an occurrence.
//
// It reads in a snapshot and changes nothing: no states, no locks. Start reading at
// scenario.go.
package scenario
