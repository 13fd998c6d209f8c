// Package underwriting binds quotes into policies and ends policies.
//
// A policy is active, exhausted, expired, cancelled or archived. A bind takes store.BindLock (shared)
// before it reads events, so that matching sees the policy or the policy sees the event;
// then it locks its quote and the capacity of its place. Cancelling returns the premium of
// the days that are left.
//
// Start reading at policy.go.
package underwriting
