package devpg

import "syscall"

// dieWithParent makes the kernel send a fast shutdown when the parent dies, even by
// SIGKILL. The signal fires when the creating thread ends, so the starting goroutine
// stays on one thread until the server has exited.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
