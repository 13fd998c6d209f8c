package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// lowerBound returns the lower bound of the one-sided 95 % confidence interval of the
// median: the largest sorted value whose rank k satisfies P(Binomial(n, ½) < k) ≤ 5 %
// (Conover, Practical Nonparametric Statistics, section 3.2). It assumes no distribution.
// For fewer than five values there is no such bound and it returns 0.
func lowerBound(sorted []float64) float64 {
	n := float64(len(sorted))
	rank, below, ways := 0, 0.0, 1.0
	for k := range sorted {
		below += ways * math.Pow(0.5, n) // P(Binomial ≤ k)
		if below > 0.05 {
			break
		}
		rank = k + 1
		ways *= (n - float64(k)) / float64(k+1)
	}
	if rank == 0 {
		return 0
	}
	return sorted[rank-1]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// report prints a line for each figure and reports whether every bound is at least least.
func report(w io.Writer, results map[figure]*samples, least float64) bool {
	ok := true
	fmt.Fprintf(w, "%-64s %-14s %12s %12s %7s %7s\n", "benchmark", "unit", "before", "after", "ratio", "bound")
	for _, f := range slices.SortedFunc(maps.Keys(results), figure.compare) {
		s := results[f]
		ratios := s.ratios(f.higherIsBetter())
		if len(ratios) == 0 {
			continue
		}
		bound, missed := lowerBound(ratios), ""
		if bound < least {
			ok, missed = false, "  below"
		}
		fmt.Fprintf(w, "%-64s %-14s %12.5g %12.5g %7.3f %7.3f%s\n", f.pkg+" "+f.name, f.unit, median(s[0]), median(s[1]), median(ratios), bound, missed)
	}
	return ok
}
