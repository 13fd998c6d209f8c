// Package adjudication opens claims for occurrences and decides them.
//
// Evaluate finds the policies that a version of an occurrence may affect (package candidates,
// match.go) and writes them as slices (matching.go). A worker takes a slice and
// decides it in one transaction (match_slice.go): for each policy it computes the trigger,
// opens a claim and approves, defers or declines it. Decide is the decision of an operator.
// The order of the rules is in rules.Decide of model/internal/rules; decision_facts.go and
// this package supply its facts.
//
// A claim is a duplicate when its policy has an active claim for the same occurrence
// (hasClaimFor, declined) or for another occurrence that may be the same event
// (hasPossibleDuplicate, deferred to an operator). Both are in
// adjudication_duplicates.go; possible_duplicate.go compares times and places of
// occurrences.
//
// Of a policy with a measurement only the named sources count. With several of them,
// measured.go selects the report that decides (package hazard/measurement) and decides like
// for a policy of that source alone; measured_open.go re-evaluates claims that wait when
// another source reports.
//
// A transaction locks its slice, the source of its occurrence, the occurrence FOR SHARE,
// then policies by id, claims and payouts. Evaluate locks matchings by id of occurrence. A
// second pass of Evaluate waits for every bind that was running during the first; for
// that it lists the holders of store.BindLock. Package claims lists the states of a
// claim. Start reading at match.go and adjudication.go.
package adjudication
