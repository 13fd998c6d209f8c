// Package measured computes what the sources of a policy's terms report of an event, and
// shows it on claims. Package hazard/measurement has the rules that select a source, and
// package adjudication decides by them.
//
// It changes nothing: no states, no locks. Start reading at reading.go.
package measured
