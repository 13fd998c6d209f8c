// Command benchtable runs a command that prints the results of benchmarks, copies its
// output, and prints one table at the end: what each path does, its baseline, the ratio
// and what is asked of it, latencies, processor time with that of Postgres, write-ahead
// log, allocations, memory, and what the machine was doing. A figure that misses what is
// asked is marked and is no failure: machines differ, and are busy. It exits as the command.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"

	"golang.org/x/perf/benchfmt"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "benchtable: use: benchtable COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	before := readMachine()
	text, failed := runCommand(ctx, os.Args[1:])
	after := readMachine()
	benchmarks, err := parseResults(bytes.NewReader(text))
	if err == nil {
		_, _ = fmt.Fprintln(os.Stdout)
		err = printTable(os.Stdout, benchmarks)
		_, _ = fmt.Fprintln(os.Stdout, describeMachine(before, after))
	}
	if err := errors.Join(failed, err); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// runCommand runs a command and returns its output, which it also copies.
func runCommand(ctx context.Context, command []string) ([]byte, error) {
	var text bytes.Buffer
	run := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // that is the purpose
	run.Stdout, run.Stderr = io.MultiWriter(os.Stdout, &text), os.Stderr
	err := run.Run()
	return text.Bytes(), err
}

// result is a result of a benchmark: its figures by unit.
type result map[string]float64

// benchmark has the results of all rounds of a benchmark.
type benchmark struct {
	name   string
	rounds []result
}

// roundNumber is what go test adds to the name of a benchmark that runs again.
var roundNumber = regexp.MustCompile(`#\d+$`)

// parseResults reads the results of benchmarks in the order of their first appearance.
func parseResults(text io.Reader) (all []benchmark, err error) {
	at := map[string]int{}
	reader := benchfmt.NewReader(text, "benchmarks")
	for reader.Scan() {
		read, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // not a result, such as a failure, which the output shows
		}
		base, _ := read.Name.Parts()
		name := "Benchmark" + string(read.Name.Full())
		if i := bytes.LastIndexByte([]byte(name), '-'); i > len(base) {
			name = name[:i] // without the number of processors
		}
		name = roundNumber.ReplaceAllString(name, "")
		figures := result{}
		for _, value := range read.Values {
			if value.OrigUnit != "" {
				figures[value.OrigUnit] = value.OrigValue
			} else {
				figures[value.Unit] = value.Value
			}
		}
		if read.Iters == 1 {
			delete(figures, "allocs/op") // of one operation of unknown size
		}
		i, known := at[name]
		if !known {
			i = len(all)
			at[name], all = i, append(all, benchmark{name: name})
		}
		all[i].rounds = append(all[i].rounds, figures)
	}
	return all, reader.Err()
}
