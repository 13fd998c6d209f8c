//go:build unix

package pricing_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
	"parapet/model/quoting/product"
)

// BenchmarkQuakeCircle prices a circle with many past earthquakes,
// BenchmarkCycloneCircle the wind at Miami.
func BenchmarkQuakeCircle(b *testing.B) { benchmarkCover(b, quakeCover(23.98, 121.61)) }

func BenchmarkCycloneCircle(b *testing.B) { benchmarkCover(b, cycloneCover()) }

func benchmarkCover(b *testing.B, c trigger.Cover) {
	b.Helper()
	h := hazard.Shipped()
	measure(b, func() error {
		_, _, _, err := pricing.Burn(c, loadings(), h, asOf)
		return err
	})
}

// BenchmarkDefault quotes each product with its defaults.
func BenchmarkDefault(b *testing.B) {
	for _, p := range product.Shipped() {
		b.Run(p.Key(), func(b *testing.B) { benchmarkContext(b, p, `{"partner":"acme"}`, false) })
	}
}

// BenchmarkRefusal finds cover that would be sold where the requested cover is too
// expensive.
func BenchmarkRefusal(b *testing.B) {
	for name, context := range map[string][2]string{
		"quakes":    {"quake-circle", `{"partner":"acme","location":{"latitude":-15,"longitude":167.5},"radius_km":200}`},
		"storms":    {"cyclone-circle", `{"partner":"acme","location":{"latitude":30,"longitude":-76},"radius_km":300}`},
		"rain":      {"rain-excess", `{"partner":"acme","attach":"50","exhaust":"90"}`},
		"dry place": {"rain-deficit", `{"partner":"acme","station":"Merced","calendar":"dekad"}`},
	} {
		for _, p := range product.Shipped() {
			if p.Key() == context[0] {
				b.Run(name, func(b *testing.B) { benchmarkContext(b, p, context[1], true) })
			}
		}
	}
}

func benchmarkContext(b *testing.B, p *product.Product, context string, refused bool) {
	b.Helper()
	h := hazard.Shipped()
	measure(b, func() error {
		_, err := p.Price([]byte(context), asOf, h)
		dear := (*pricing.UninsurableError)(nil)
		switch {
		case !refused:
			return err
		case errors.As(err, &dear):
			return nil
		}
		return errors.New("the cover is sold")
	})
}

// measure also reports processor time: wall-clock time depends on other load.
func measure(b *testing.B, price func() error) {
	b.Helper()
	require.NoError(b, price(), "the first finds the occurrences at a station")
	b.ReportAllocs()
	began := cpuTime(b)
	for b.Loop() {
		if err := price(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-began)/float64(b.N), "cpu-ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
