package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// pathWidth is the width of the first column, which is aligned to the left.
const pathWidth = 40

// printTable prints a row for each path that was measured.
func printTable(out io.Writer, benchmarks []benchmark) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "%-*s\tours\tbaseline\tratio\tasked\tp50/p99 ms\tCPU+Postgres µs\tWAL bytes\tallocs\tpeak MiB\t\n", pathWidth, "path")
	for _, p := range paths {
		for _, b := range benchmarks {
			r := p.median(b.rounds)
			ours, measured := r[p.ours]
			if b.name != p.benchmark || !measured {
				continue
			}
			_, _ = fmt.Fprintf(table, "%-*s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", pathWidth, p.name, format(ours), r.format(p.baseline), r.format(p.judged), p.verdict(r),
				r.pair("p50-ms", "p99-ms", "/"), r.pair("CPU-µs/", "Postgres-CPU-µs/", "+"), r.format("WAL-bytes/"), r.format("allocs/"), r.format("peak-MiB"))
		}
	}
	return table.Flush()
}

// median returns the round with the middle of the judged figures; the greater one of the two
// in the middle if their number is even.
func (p path) median(rounds []result) result {
	ordered := slices.SortedFunc(slices.Values(rounds), func(a, b result) int { return cmp.Compare(a[p.judgedUnit()], b[p.judgedUnit()]) })
	return ordered[len(ordered)/2]
}

func (p path) judgedUnit() string { return cmp.Or(p.judged, p.ours) }

// verdict says what is asked of a path, and whether it is missed.
func (p path) verdict(r result) string {
	figure, measured := r[p.judgedUnit()]
	switch missed := " MISSED"; {
	case !measured:
		return ""
	case p.atLeast > 0 && figure >= p.atLeast:
		return "≥ " + format(p.atLeast)
	case p.atLeast > 0:
		return "≥ " + format(p.atLeast) + missed
	case p.atMost > 0 && figure <= p.atMost:
		return "≤ " + format(p.atMost)
	case p.atMost > 0:
		return "≤ " + format(p.atMost) + missed
	default:
		return ""
	}
}

// format formats the figure of a unit; a unit that ends with / matches any operation.
func (r result) format(unit string) string {
	if unit == "" {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if name == unit || strings.HasSuffix(unit, "/") && strings.HasPrefix(name, unit) {
			return format(r[name])
		}
	}
	return ""
}

func (r result) pair(first, second, between string) string {
	a, b := r.format(first), r.format(second)
	if a == "" && b == "" {
		return ""
	}
	return a + between + b
}

// format formats a figure with three digits, and whole from 100 on.
func format(figure float64) string {
	if figure >= 100 || figure <= -100 {
		return strconv.FormatFloat(figure, 'f', 0, 64)
	}
	return strconv.FormatFloat(figure, 'g', 3, 64)
}
