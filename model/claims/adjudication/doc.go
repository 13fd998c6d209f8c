// Package adjudication opens claims for occurrences and decides them.
//
// Evaluate finds the policies that an occurrence may affect and enqueues them in batches;
// EvaluatePolicies locks the policies of a batch, computes the trigger of each and decides:
// approve, defer until the source is final, or decline. possible_duplicate.go has the rule
// that a claim is a duplicate of another one. The rules of the decision are in
// model/internal/rules. Before it reads policies, Evaluate waits for every bind that began
// before the occurrence was recorded (it lists the holders of store.BindLock).
//
// Lock policies by id, then claims by id. Start reading at match.go and adjudication.go.
package adjudication
