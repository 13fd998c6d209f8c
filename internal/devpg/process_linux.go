package devpg

import "syscall"

// dieWithParent has the kernel send a fast shutdown when the parent dies, even
// by SIGKILL. The signal fires when the creating thread ends, so whoever starts
// the server stays on one thread until it has exited.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
