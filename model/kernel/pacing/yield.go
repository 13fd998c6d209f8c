package pacing

import "runtime"

// YieldEvery lets other goroutines run after every n items of a long computation, never before
// the first; i is the index of the present item. Callers choose n so that n items take about a
// millisecond.
//
// The Go runtime polls the network when a goroutine waits. The goroutine that a response of
// Postgres wakes runs on the thread that polled, and no other thread polls until it
// waits, wakes another goroutine, or has run for ten milliseconds, even while a processor is
// idle (findRunnable in https://go.dev/src/runtime/proc.go). A slice of an event computes for 5 to
// 40 ms, and requests were not read meanwhile. BenchmarkYield measures it.
func YieldEvery(n, i int) {
	if i%n == n-1 {
		runtime.Gosched()
	}
}
