// Package measurement applies the measurement of a cover: from what each source alone
// determined to the one determination that counts. A rule selects and never blends, so
// every decision is a determination that the trigger function gave for one source.
//
// How a claim is decided by several sources:
//
//   - Each source has its own occurrence. The trigger function evaluates each of them alone.
//     A reading counts when it has reached the stage that the terms name for its source.
//   - Occurrences of different sources are one event when they are as close in time and place
//     as the rules of their kind (hazard.DuplicateRules) say, or when an operator says so.
//   - A claim opens when a named source's reading meets the trigger. Select says whether the
//     rule decides now, waits until a due time, leaves the decision to an operator, or ended
//     at the long stop. The due time is a column of the claim that the sweep reads.
//   - A decision keeps the sources that it used. Readings of other sources are late from then
//     on. Revisions of the used sources may add a part until the long stop and reduce nothing.
//
// The result depends on what was reported when, relative to the deadlines, and never on the
// order of arrival. The package is pure: no clock, no states, no locks. Start reading at
// select.go.
package measurement
