//go:build !linux

package devpg

import "syscall"

// dieWithParent does nothing: only Linux can tell a child of its parent's death.
// A server left over is met by the next start, which says how to stop it.
func dieWithParent(*syscall.SysProcAttr) {}
