//go:build !linux

package devpg

import "syscall"

// dieWithParent does nothing: only Linux can signal a parent's death. The next start
// finds a server left over and states how to stop it.
func dieWithParent(*syscall.SysProcAttr) {}

// freeMemory returns 0: there is no known file system in memory.
func freeMemory(string) uint64 { return 0 }
