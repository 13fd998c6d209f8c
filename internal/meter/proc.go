package meter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc.
const tick = time.Second / 100

// stat is what /proc/PID/stat says of a process; zero for one that has ended.
type stat struct {
	parent int
	own    time.Duration // processor time
	ended  time.Duration // processor time of children that have ended
}

func readStat(pid int) stat {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}
	}
	return parseStat(text)
}

// parseStat parses proc(5): after the name in parentheses, field 4 is the parent, and
// fields 14 to 17 are the user and system time of the process and of its ended children.
func parseStat(text []byte) stat {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return stat{}
	}
	number := func(field int) int {
		n, _ := strconv.Atoi(fields[field-3])
		return n
	}
	return stat{parent: number(4), own: tick * time.Duration(number(14)+number(15)), ended: tick * time.Duration(number(16)+number(17))}
}

// treeCPU returns the processor time of a process and its children, also ended ones.
func treeCPU(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	of := readStat(pid)
	total := of.own + of.ended
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // only a malformed pattern is an error
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err != nil {                // it has ended
			continue
		}
		if child := parseStat(text); child.parent == pid {
			total += child.own
		}
	}
	return total
}

// PeakMemory returns the largest resident memory that a process has had, in MiB.
func PeakMemory(pid int) float64 { return readMemory(pid, "VmHWM:") }

// Memory returns the resident memory of a process, in MiB.
func Memory(pid int) float64 { return readMemory(pid, "VmRSS:") }

func readMemory(pid int, name string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kilobytes, _ := strconv.ParseFloat(fields[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}
