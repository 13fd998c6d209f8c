//go:build !linux

package dbconn

import "syscall"

// boundUnacknowledged leaves the bound to keepalive: other systems have no such option.
func boundUnacknowledged(string, string, syscall.RawConn) error { return nil }
