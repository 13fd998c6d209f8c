package main

import (
	"bytes"
	"testing"
)

func TestLowerBoundIsTheRankOfTheBinomialDistribution(t *testing.T) {
	t.Parallel()
	// P(Binomial(9, ½) ≤ 1) = 2 %, P(… ≤ 2) = 9 %: the second smallest of nine.
	for n, rank := range map[int]int{4: 0, 5: 1, 7: 1, 8: 2, 9: 2, 11: 3, 20: 6} {
		sorted := make([]float64, n)
		for i := range sorted {
			sorted[i] = float64(i + 1)
		}
		if got := lowerBound(sorted); got != float64(rank) {
			t.Errorf("%d values: the bound is the value of rank %v, not %d", n, got, rank)
		}
	}
}

func TestReportSaysWhichFiguresBecameWorse(t *testing.T) {
	t.Parallel()
	results := map[figure]*samples{}
	for turn := range 9 {
		collect(results, bytes.NewBufferString("BenchmarkPay 1 200 ns/op 50 payouts/s 1 of-bare\n"), "jobs", turn, 0, 9)
		collect(results, bytes.NewBufferString("BenchmarkPay 1 100 ns/op 40 payouts/s 2 of-bare\n"), "jobs", turn, 1, 9)
	}
	var out bytes.Buffer
	if report(&out, results, 0.95) {
		t.Error("a rate of 0.8 of before passes")
	}
	for unit, ratio := range map[string]float64{"sec/op": 2, "payouts/s": 0.8, "of-bare": 2} {
		f := figure{"jobs", "Pay", unit}
		if results[f] == nil {
			t.Fatalf("no figure %v in %v", f, results)
		}
		if got := median(results[f].ratios(f.higherIsBetter())); got != ratio {
			t.Errorf("%s: ratio %v, want %v", unit, got, ratio)
		}
	}
	if !report(&out, results, 0.8) {
		t.Error("a rate of 0.8 of before fails a least of 0.8")
	}
}
