//go:build !linux

package dbconn

import "syscall"

// boundUnacknowledged does nothing: other systems have no such option, and keepalive is
// the only bound.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }
