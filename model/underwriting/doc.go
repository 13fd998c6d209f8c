// Package underwriting binds quotes into policies (PolicyRow) and ends policies.
// Cancelling returns the premium of the days that are left.
//
// A policy is active, exhausted, expired, cancelled or archived (policy_status.go).
//
// A bind takes three locks, in this order: store.BindLock in shared mode, before it reads
// the clock, so that matching sees the policy or the policy sees the event; the row of
// its quote; and, if its product has a capacity, the advisory lock of its product,
// currency and cell (package capacity). With an idempotency key it first tries the lock of
// that key. Start reading at policy.go.
package underwriting
