package pacing

import "runtime"

// YieldEvery lets other goroutines run when i, which counts the items of a long computation,
// is a multiple of n. Callers choose n so that n items take about a millisecond.
//
// The Go runtime polls the network when a goroutine waits. The goroutine that a response of
// Postgres wakes runs on the thread that polled, and no other thread polls until it
// waits, wakes another goroutine, or has run for ten milliseconds, even while a processor is
// idle (findRunnable in https://go.dev/src/runtime/proc.go). A slice of an event computes for 5 to
// 40 ms, and requests were not read meanwhile. BenchmarkYield measures it.
func YieldEvery(n, i int) {
	if i%n == 0 {
		runtime.Gosched()
	}
}
