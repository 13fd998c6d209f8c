package main

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// The garbage collector runs when the heap has grown by gcHeadroom, and by at least
// minGCPercent and at most maxGCPercent of what lives. A fixed percentage suits only one
// size: at rest about 10 MB live, and Go's default of 100 collects after every few
// responses (a dashboard query takes 6.3 ms of processor time with 100, 5.5 ms with 400);
// with thousands of subscribers or during a storm hundreds of MB live, stacks included,
// and 400 would let the process grow to five times that. GOGC replaces all of it.
const (
	gcHeadroom   = 128 << 20
	minGCPercent = 25
	maxGCPercent = 400
)

// gcInputs are the sizes in bytes of which the percentage is a share.
var gcInputs = []string{"/gc/heap/live:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes"}

// tuneGC sets the percentage now and after each collection, unless GOGC is set.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	tuner := &gcTuner{}
	for _, name := range gcInputs {
		tuner.samples = append(tuner.samples, runtimemetrics.Sample{Name: name})
	}
	tuner.adjust()
	tuner.adjustAfterGC()
}

// gcTuner is used by one goroutine at a time: the one of finalizers.
type gcTuner struct {
	samples []runtimemetrics.Sample
	percent int
}

// adjustAfterGC runs adjust after each collection, by a finalizer that each collection
// queues.
func (g *gcTuner) adjustAfterGC() {
	runtime.SetFinalizer(&gcMark{tuner: g}, func(mark *gcMark) {
		mark.tuner.adjust()
		mark.tuner.adjustAfterGC()
	})
}

// gcMark is unreachable, so that the next collection finds it.
type gcMark struct{ tuner *gcTuner }

// adjust sets the percentage by what lives. Setting it stops the process for some 10 µs,
// so small changes are left out.
func (g *gcTuner) adjust() {
	runtimemetrics.Read(g.samples)
	var live uint64
	for _, sample := range g.samples {
		live += sample.Value.Uint64()
	}
	percent := gcPercentFor(live)
	if difference := percent - g.percent; difference*10 > g.percent || -difference*10 > g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

// gcPercentFor returns the percentage for a number of live bytes.
func gcPercentFor(live uint64) int {
	return int(min(maxGCPercent, max(minGCPercent, gcHeadroom*100/max(1, live))))
}
