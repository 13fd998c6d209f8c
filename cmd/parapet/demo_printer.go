package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"parapet/jobs"
	"parapet/model/wire"
)

// demoPrinter prints the partner's view as text and aligned columns.
type demoPrinter struct {
	out  io.Writer
	step int
}

func (s *demoPrinter) printTitle(format string, args ...any) {
	s.step++
	_, _ = fmt.Fprintf(s.out, "\n%d. %s\n\n", s.step, fmt.Sprintf(format, args...))
}

// printTable writes rows of cells; a leading tab indents them.
func (s *demoPrinter) printTable(rows ...[]any) {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprint(cell)
		}
		_, _ = fmt.Fprintln(table, "   "+strings.Join(cells, "\t"))
	}
	_ = table.Flush()
}

func (s *demoPrinter) printQuote(q wire.Quote) {
	place := q.Cover.Place
	s.printTitle("A quote: %s version %d, %g km around %.2f N %.2f E, %s for %s", q.Product, q.ProductVersion, place.RadiusKM, place.Latitude, place.Longitude, q.Cover.Limit, q.Cover.Term)
	rows := [][]any{}
	for _, step := range q.Cover.Payout.Steps {
		rows = append(rows, []any{"pays", step.Factor.String() + " of the limit", "from magnitude " + step.Threshold.String()})
	}
	s.printTable(rows...)
	_, _ = fmt.Fprintln(s.out)
	lines := [][]any{}
	for _, line := range q.Price.Lines {
		lines = append(lines, []any{line.Kind, fmt.Sprintf("%16s", line.Amount)})
	}
	lines = append(lines, []any{"premium", fmt.Sprintf("%16s", q.Price.Premium)}, []any{"rate on line", fmt.Sprintf("%16s", q.Price.RateOnLine)})
	s.printTable(lines...)
	b := q.Basis
	_, _ = fmt.Fprintf(s.out, "\n   Priced on %s: %d years, %d events in the place, %d would have paid.\n", b.Dataset, b.Years, b.EventsInPlace, b.PayingEvents)
	_, _ = fmt.Fprintf(s.out, "   A payout is expected every %s years: the price is smoothed in space, so events just outside the place count too.\n\n", b.ReturnPeriodYears.Round(1))
	past := [][]any{{"as if", "event", "magnitude", "km", "factor", fmt.Sprintf("%15s", "would have paid")}}
	for _, p := range q.History {
		past = append(past, []any{p.OccurredAt.Format("2006-01-02"), p.SourceEventID, p.Index.Value, fmt.Sprintf("%5.1f", *p.DistanceKM), p.Factor, fmt.Sprintf("%15s", p.Payout)})
	}
	s.printTable(past...)
}

func (s *demoPrinter) printPolicy(p wire.Policy) {
	s.printTitle("Bound: policy %s is %s, cover %s", p.ID, p.Status, p.CoverPhase)
	s.printTable([]any{"from", p.EffectiveAt.Format("2006-01-02 15:04:05")}, []any{"to", p.ExpiresAt.Format("2006-01-02 15:04:05")}, []any{"terms", p.TermsHash})
}

func (s *demoPrinter) printReplay(r jobs.IngestResult) {
	s.printTitle("The real USGS feed of the week to 7 February 2018, re-dated so that %s happens now", demoEvent)
	s.printTable([]any{"earthquakes recorded", r.Created}, []any{"later than now, left out", r.FutureRows}, []any{"other events (blasts)", r.Skipped})
}

func (s *demoPrinter) printClaim(c wire.Claim) {
	s.printTitle("A claim opened and decided itself: %s is %s", c.ID, c.Status)
	d := c.Determination
	s.printTable(
		[]any{"occurrence", c.Occurrence.Source + " " + c.Occurrence.SourceEventID},
		[]any{"index", d.Index.Value + " " + d.Index.Unit},
		[]any{"distance", fmt.Sprintf("%.2f km", *d.DistanceKM)},
		[]any{"threshold reached", d.Threshold.Value + " " + d.Threshold.Unit},
		[]any{"factor", d.Factor},
		[]any{"owed", c.Amount},
		[]any{"stage", d.Stage},
		[]any{"decision", c.Decision.Outcome + ": " + strings.Join(c.Decision.ReasonCodes, ", ")},
		[]any{"receipt", d.ReceiptHash},
	)
}

func (s *demoPrinter) printPayout(c wire.Claim) {
	p := c.Payouts[0]
	s.printTitle("The beneficiary's IBAN was recorded, and the payout left: %s is %s", p.ID, p.Status)
	s.printTable([]any{"amount", p.Amount}, []any{"rail", *p.Provider}, []any{"reference", *p.ProviderReference}, []any{"attempts", p.Attempts})
}

func (s *demoPrinter) printTimeline(entries []wire.TimelineEntry) {
	s.printTitle("The claim's timeline")
	rows := make([][]any, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, []any{e.Sequence, e.At.Format("15:04:05.000"), e.Kind, e.Actor.Kind, e.Summary})
	}
	s.printTable(rows...)
}

func (s *demoPrinter) printSecondReplay(r jobs.IngestResult) {
	s.printTitle("The same feed once more changes nothing")
	s.printTable([]any{"created", r.Created}, []any{"revised", r.Revised}, []any{"unchanged", r.Unchanged})
}
