// Package candidates finds the policies that an occurrence may affect, by their boxes, their
// stations and their claims. Package adjudication decides them.
//
// It changes nothing: no states, no locks. Start reading at candidates.go.
package candidates
