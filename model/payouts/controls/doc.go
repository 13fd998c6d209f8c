// Package controls stops releases and checks that the records agree with one another.
//
// A stop (StopRow) prevents every send until an operator resumes. The preparation of an
// order and every send (SendPermit) hold an advisory lock in shared mode. A stop commits
// its row and then waits until the earlier holders have ended; it takes neither lock.
//
// The invariants are views that list violations; CheckInvariants reads them, and a
// violation stops releases. An open restore prevents resumption. Start reading at
// release_permit.go and invariant_check.go.
package controls
