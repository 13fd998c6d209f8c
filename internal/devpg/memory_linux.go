package devpg

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
)

// freeMemory returns how many bytes can be written to a file system in memory: its free
// space, or the memory that the machine can spare. It is 0 if that is unknown.
func freeMemory(folder string) uint64 {
	var stat syscall.Statfs_t
	file, err := os.Open("/proc/meminfo")
	if err != nil || syscall.Statfs(folder, &stat) != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kilobytes uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kilobytes); n == 1 {
			return min(stat.Bavail*uint64(stat.Bsize), kilobytes<<10)
		}
	}
	return 0
}
