// Package rules contains the private rules that decide claims. Only model can import it:
// partners see outcomes and public reason codes, never the rules.
//
// Decide is a pure function from Facts to a Decision: approve, defer or decline. Package
// claims/adjudication computes the facts and applies the decision. No states, no locks.
// Start reading at Decide.
package rules
