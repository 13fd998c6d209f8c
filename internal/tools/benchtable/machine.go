package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// machine is what the machine has done until an instant.
type machine struct {
	at       time.Time
	load     string        // averages of 1, 5 and 15 minutes
	busy     time.Duration // of all processors, also for other processes
	children time.Duration // of the children of this process that have ended, and of theirs
}

// readMachine reads /proc, which only Linux has.
func readMachine() machine {
	m := machine{at: time.Now()}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		var user, nice, system, idle, wait, irq, softirq int64 // proc(5), in hundredths of a second
		if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &softirq); err == nil {
			m.busy = time.Duration(user+nice+system+irq+softirq) * time.Second / 100
		}
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage) == nil {
		m.children = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return m
}

// describeMachine says what the machine did while the benchmarks ran.
func describeMachine(before, after machine) string {
	took := after.at.Sub(before.at)
	text := fmt.Sprintf("machine: %d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, took.Round(time.Second))
	if after.busy == 0 {
		return text
	}
	others := max(0, after.busy-before.busy-(after.children-before.children))
	return text + fmt.Sprintf("; load averages %s before and %s after; other processes used %.1f cores", before.load, after.load, others.Seconds()/took.Seconds())
}
