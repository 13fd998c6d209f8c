// Package pricing computes a premium from a cover and the shipped history. Any reader of
// the answer alone can recompute it.
//
// It makes two passes over history: a replay (replay.go) lists the events that would have
// paid at the place itself, and a weighing (weigh_events.go) computes what each event
// counts in the price when the place is displaced. formula.go turns the weights into the
// lines of a Price; Basis records what it was computed from. The package is pure: no
// states, no locks. Start reading at pricing.go, then price.go.
package pricing
