// Package controls stops releases and checks that the records agree with one another.
//
// A stop of releases holds all payouts back until an operator resumes. A worker sends an
// order only under a permit (BeginSend), an advisory lock in shared mode; a stop takes it
// exclusively, so that it returns only when nothing is being sent. The invariants are views
// that list violations; a violation stops releases. An open restore holds all payouts back.
//
// Start reading at release_permit.go and invariant_check.go.
package controls
