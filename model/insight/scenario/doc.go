// Package scenario answers what if: it evaluates policies against recorded and hypothetical
// occurrences with the code that decides claims, and changes nothing. Explain is for one
// policy, Expose for a book, AffectedPolicies for an occurrence. Start reading at
// scenario.go.
package scenario
