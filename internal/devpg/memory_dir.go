package devpg

import (
	"os"
	"path/filepath"
	"time"
)

const (
	memoryFolder = "/dev/shm" // a file system in memory on Linux
	leastMemory  = 2 << 30    // bytes that must be free to keep data there
	tempPattern  = "parapet-pg-"
)

// makeMemoryDir creates a temporary folder in memory that the account can enter. made is
// false if there is no such file system or it has too little room. Tests create and drop
// thousands of files a minute, on which ext4 can spend a third of the machine's time: without
// a journal, it searches for a free inode among all those that were freed in the last minutes.
func makeMemoryDir(owner serverUser) (dir string, made bool) {
	if freeMemory(memoryFolder) < leastMemory || owner.checkAccess(memoryFolder) != nil {
		return "", false
	}
	removeAbandoned(memoryFolder)
	dir, err := os.MkdirTemp(memoryFolder, tempPattern)
	if err != nil {
		return "", false
	}
	if owner.makePrivate(dir) != nil {
		_ = os.RemoveAll(dir)
		return "", false
	}
	return dir, true
}

// removeAbandoned removes the temporary folders of processes that were killed. They would
// otherwise stay in memory until the machine restarts.
func removeAbandoned(base string) {
	found, _ := filepath.Glob(filepath.Join(base, tempPattern+"*")) // the pattern is correct
	for _, dir := range found {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // its process may be about to lock it
			continue
		}
		lock, err := lockDataDir(filepath.Join(dir, "data"))
		if err != nil {
			continue // in use, or of another account
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
