// Command compare measures the benchmarks of two revisions of this repository in turns.
// For every figure it prints both medians, the median of the ratios of each turn, and the
// lower bound of its 95 % confidence interval. A ratio above 1 means that the current
// tree is faster. Turns cancel slow changes of the machine: each turn measures both
// revisions, and every other turn begins with the other one.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

func main() {
	base := flag.String("base", "", "revision to compare the current tree with")
	turns := flag.Int("turns", 9, "measurements of each revision")
	bench := flag.String("bench", ".", "regular expression: benchmarks to run")
	benchTime := flag.String("benchtime", "1s", "as of go test")
	least := flag.Float64("least", 0, "fail when the lower bound of a ratio is below it")
	flag.Parse()
	if *base == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "compare: use: compare -base=REVISION [-turns=9] [-bench=REGEXP] [-least=0.95] PACKAGE...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	results, err := measure(ctx, *base, flag.Args(), *turns, []string{"-test.run=^$", "-test.bench=" + *bench, "-test.benchtime=" + *benchTime, "-test.timeout=1h"})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	if !report(os.Stdout, results, *least) {
		os.Exit(1)
	}
}

// measure builds the test programs of both revisions and runs them in turns.
func measure(ctx context.Context, base string, packages []string, turns int, flags []string) (map[figure]*samples, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	tree, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tree)
	if err := command(ctx, here, "git", "worktree", "add", "--quiet", "--detach", tree+"/base", base).Run(); err != nil {
		return nil, fmt.Errorf("check out %s: %w", base, err)
	}
	defer command(context.WithoutCancel(ctx), here, "git", "worktree", "remove", "--force", tree+"/base").Run() //nolint:errcheck // temporary
	folders := [2]string{tree + "/base", here}
	program := func(side int, pkg string) string {
		return fmt.Sprintf("%s/%d-%s.test", tree, side, strings.ReplaceAll(filepath.Clean(pkg), "/", "_"))
	}
	for side, folder := range folders {
		for _, pkg := range packages {
			fmt.Fprintln(os.Stderr, "building", pkg, "of", folder)
			if err := command(ctx, folder, "go", "test", "-c", "-o", program(side, pkg), "./"+filepath.Clean(pkg)).Run(); err != nil {
				return nil, fmt.Errorf("build the tests of %s in %s: %w", pkg, folder, err)
			}
		}
	}
	results := map[figure]*samples{}
	for turn := range turns {
		for i := range 2 {
			side := (turn + i) % 2
			for _, pkg := range packages {
				fmt.Fprintf(os.Stderr, "turn %d of %d: %s of %s\n", turn+1, turns, pkg, folders[side])
				run := command(ctx, filepath.Join(folders[side], pkg), program(side, pkg), flags...)
				var out bytes.Buffer
				run.Stdout = &out
				if err := run.Run(); err != nil {
					return nil, fmt.Errorf("benchmarks of %s in %s: %w\n%s", pkg, folders[side], err, out.Bytes())
				}
				collect(results, &out, pkg, turn, side, turns)
			}
		}
	}
	return results, nil
}

func command(ctx context.Context, folder, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // a developer's command
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	return cmd
}

// collect adds the figures printed by a run.
func collect(results map[figure]*samples, out *bytes.Buffer, pkg string, turn, side, turns int) {
	reader := benchfmt.NewReader(out, pkg)
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		for _, value := range result.Values {
			at := figure{pkg, strings.TrimPrefix(result.Name.String(), "Benchmark"), value.Unit}
			if results[at] == nil {
				results[at] = &samples{make([]float64, turns), make([]float64, turns)}
			}
			results[at][side][turn] = value.Value
		}
	}
}

// figure is one value printed by a benchmark.
type figure struct{ pkg, name, unit string }

// higherIsBetter reports whether a larger value is better: for rates, and for the ratios
// to a baseline that our benchmarks print. All other units are times, sizes and counts.
func (f figure) higherIsBetter() bool {
	return strings.HasSuffix(f.unit, "/s") || strings.HasPrefix(f.unit, "of-") || f.unit == "ratio"
}

func (f figure) compare(g figure) int {
	return slices.Compare([]string{f.pkg, f.name, f.unit}, []string{g.pkg, g.name, g.unit})
}

// samples are the values of the base and of the current tree, by turn.
type samples [2][]float64

// ratios returns how many times better the current tree was in each turn, sorted. It is
// empty for a figure that one of the two does not print or prints as zero.
func (s *samples) ratios(higherIsBetter bool) []float64 {
	var all []float64
	for turn := range s[0] {
		before, after := s[0][turn], s[1][turn]
		if before == 0 || after == 0 {
			return nil
		}
		if higherIsBetter {
			before, after = after, before
		}
		all = append(all, before/after)
	}
	slices.Sort(all)
	return all
}
