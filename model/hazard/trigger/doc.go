// Package trigger determines whether an occurrence meets the terms of a cover, and how
// much is owed. Evaluate is one pure function of Cover and Occurrence, so that any reader
// of both can recompute every Determination. A quote prices the history with the same
// function that decides claims.
//
// Each peril is one value of PerilRules (peril.go) in a file of its own, such as
// windstorm.go: a new peril begins with such a file. Each kind of observation has a value
// of hazard.KindRules.
//
// A cover has a Trigger (index and threshold), a Place and a Payout (a lump sum, steps, a
// line or ticks). The package has no states and takes no locks. Start reading at
// terms.go, then evaluate.go.
package trigger
