package devpg

import (
	"os"
	"path/filepath"
	"time"
)

const (
	memoryFolder = "/dev/shm" // a file system in memory on Linux
	leastMemory  = 4 << 30    // bytes that must be free to keep data there
	// Servers outside memory have another pattern: their folders may have no lock.
	memoryPattern = "parapet-memory-"
)

// makeMemoryDir creates a temporary folder in memory that the account can enter. made is
// false if there is no such file system or it has too little room. Tests create and drop
// thousands of files a minute, on which ext4 can spend a third of the machine's time: without
// a journal, it searches for a free inode among all those that were freed in the last minutes.
func makeMemoryDir(owner serverUser) (dir string, made bool) {
	removeAbandoned(memoryFolder)
	if freeMemory(memoryFolder) < leastMemory || owner.checkAccess(memoryFolder) != nil {
		return "", false
	}
	dir, err := owner.makeDir(memoryFolder, memoryPattern)
	return dir, err == nil
}

// removeAbandoned removes the temporary folders of processes that were killed. They would
// otherwise stay in memory until the machine restarts.
func removeAbandoned(base string) {
	found, _ := filepath.Glob(filepath.Join(base, memoryPattern+"*")) // the pattern is correct
	for _, dir := range found {
		data := filepath.Join(dir, "data")
		info, err := os.Lstat(data + ".lock")
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < time.Minute {
			continue // its process is about to lock it, or it is not a server's
		}
		lock, err := lockDataDir(data)
		if err != nil {
			continue // in use, or of another account
		}
		if server, err := readPostmaster(data); err == nil && !server.isRunning(data) {
			_ = os.RemoveAll(dir)
		}
		_ = unlockDataDir(lock)
	}
}
