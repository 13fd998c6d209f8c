package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/wire"
)

// waitInterval is the time between two reads of the progress.
const waitInterval = time.Second

// progressTotal adds up the progress of several occurrences.
type progressTotal struct {
	waiting, candidates, decided, opened int64
	lines                                map[[2]string]wire.ProgressLine // by partner and currency
}

// addUp adds up the progress of occurrences.
func addUp(found map[string]*wire.OccurrenceProgress) progressTotal {
	total := progressTotal{lines: make(map[[2]string]wire.ProgressLine)}
	for _, of := range found {
		if of.Status != string(progress.Complete) {
			total.waiting++
		}
		total.candidates += of.Candidates
		total.decided += of.Decided
		total.opened += of.ClaimsOpened
		for _, line := range of.Lines {
			key := [2]string{line.Partner, line.Currency}
			if sum, known := total.lines[key]; known {
				line.Candidates += sum.Candidates
				line.Decided += sum.Decided
				line.ClaimsOpened += sum.ClaimsOpened
				line.Owed.Amount += sum.Owed.Amount
				line.Pending.Amount += sum.Pending.Amount
				line.Blocked.Amount += sum.Blocked.Amount
				line.Released.Amount += sum.Released.Amount
			}
			total.lines[key] = line
		}
	}
	return total
}

// waitForDecisions shows how far the occurrences that changed since an instant, or that
// contain some readings, are decided, until all of them are, and then the money by partner
// and currency.
func waitForDecisions(ctx context.Context, service *progress.Service, since time.Time, readings []string, out io.Writer) error {
	ids, err := service.ChangedSince(ctx, actor.System(), since, readings)
	if err != nil {
		return err
	}
	tick := time.NewTicker(waitInterval)
	defer tick.Stop()
	for shown := ""; ; {
		found, err := service.ByID(ctx, actor.System(), ids)
		if err != nil {
			return err
		}
		total := addUp(found)
		if line := total.line(len(ids)); line != shown {
			printProgress(out, line, total)
			shown = line
		}
		if total.waiting == 0 {
			return printTotals(out, total)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("stopped waiting; the workers go on: %w", ctx.Err())
		}
	}
}

// line describes the total in one line.
func (t progressTotal) line(events int) string {
	return fmt.Sprintf("events decided %d of %d, policies decided %d of %d, claims %d", int64(events)-t.waiting, events, t.decided, t.candidates, t.opened)
}

// barWidth is the length of the bar in characters.
const barWidth = 30

// printProgress prints a bar that replaces the one before on a terminal, and a line
// elsewhere.
func printProgress(out io.Writer, line string, t progressTotal) {
	if !isTerminal(out) {
		_, _ = fmt.Fprintln(out, line)
		return
	}
	end := ""
	if t.waiting == 0 {
		end = "\n"
	}
	_, _ = fmt.Fprintf(out, "\r%s %s\x1b[K%s", t.bar(), line, end)
}

// bar draws the share of decided policies. It is full when all events are decided.
func (t progressTotal) bar() string {
	full := barWidth
	if t.waiting > 0 {
		full = int(min(barWidth*t.decided/max(t.candidates, 1), barWidth-1))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// printTotals prints the sums by partner and currency. Amounts are in minor units.
func printTotals(out io.Writer, t progressTotal) error {
	if len(t.lines) == 0 {
		_, err := fmt.Fprintln(out, "no policy is affected")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "partner\tcurrency\tcandidates\tclaims\towed\tpending\tblocked\treleased\t")
	for _, key := range slices.SortedFunc(maps.Keys(t.lines), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		line := t.lines[key]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", line.Partner, line.Currency, line.Candidates, line.ClaimsOpened,
			line.Owed.Amount, line.Pending.Amount, line.Blocked.Amount, line.Released.Amount)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "amounts in minor units")
	return err
}
