//go:build unix

package pacing_test

import (
	"context"
	"crypto/sha256"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
	"parapet/model/kernel/pacing"
)

// blocks is how many blocks are computed after each answer.
const blocks = 200

// BenchmarkYield measures how late an answer of another process is read while a goroutine
// computes for some ten milliseconds after each answer that it waited for, with YieldEvery
// and without. An idle processor does not help without it.
func BenchmarkYield(b *testing.B) {
	var with, without []time.Duration
	for b.Loop() {
		with = append(with, delays(b, 20)...)
		without = append(without, delays(b, blocks+1)...)
	}
	b.ReportMetric(0, "ns/op") // the sum of both has no meaning
	yielded, kept := meter.Percentile(with, 95), meter.Percentile(without, 95)
	b.ReportMetric(yielded, "p95-ms")
	b.ReportMetric(kept, "without-p95-ms")
	b.ReportMetric(yielded/kept, "of-without")
}

// delays returns how late answers are read. Meanwhile a goroutine computes, and yields after
// every n blocks, of which each takes some 50 µs; never if n is above blocks.
func delays(b *testing.B, n int) (late []time.Duration) {
	b.Helper()
	ask, end := startEcho(b)
	defer end()
	askForWork, endWork := startEcho(b)
	defer endWork()
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		block := make([]byte, 64<<10)
		for {
			select {
			case <-ended:
				return
			default:
				askForWork()
			}
			for i := range blocks {
				pacing.YieldEvery(n, i)
				sha256.Sum256(block)
			}
		}
	}()
	for range 500 {
		began := time.Now()
		<-time.After(time.Millisecond)
		ask()
		late = append(late, time.Since(began)-time.Millisecond)
	}
	close(ended)
	<-stopped
	return late
}

// startEcho starts a process that repeats its input.
func startEcho(b *testing.B) (ask, end func()) {
	b.Helper()
	echo := exec.CommandContext(context.WithoutCancel(b.Context()), "cat")
	in, err := echo.StdinPipe()
	require.NoError(b, err)
	out, err := echo.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, echo.Start())
	text := []byte{'?'}
	ask = func() {
		_, err := in.Write(text)
		if err == nil {
			_, err = io.ReadFull(out, text)
		}
		if err != nil {
			panic(err) // the process ended
		}
	}
	return ask, func() {
		require.NoError(b, in.Close())
		require.NoError(b, echo.Wait())
	}
}
