package adjudication

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/hazard/measurement"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// measuredEvent is an event as the sources report it, for policies that several sources
// decide.
type measuredEvent struct {
	tx       *store.Tx
	reports  map[string]*reports.Report              // by source
	rows     []*occurrence.OccurrenceRow             // of all reports, and the evaluated one
	first    *occurrence.OccurrenceRow               // of those that stand the report that was recorded first: new claims are for it
	decided  map[uuid.UUID]*occurrence.OccurrenceRow // by policy: whose report its approved claim was decided by
	outcomes map[uuid.UUID]measurement.Outcome       // by policy
	results  map[uuid.UUID]*wire.MeasurementResult
	anyMet   map[uuid.UUID]bool                      // by policy: a named source's report meets the trigger
	lost     map[uuid.UUID]*occurrence.OccurrenceRow // by policy: whose retracted report decided its claim, or alone met the trigger
}

// adjudicateMeasured decides locked policies with several sources for an event. It decides
// the policies that one report is selected for like those of that source alone.
func adjudicateMeasured(ctx context.Context, tx *store.Tx, occ *occurrence.OccurrenceRow, facts trigger.Occurrence, policies []*underwriting.PolicyRow) error {
	e, err := newMeasuredEvent(ctx, tx, occ, facts, policies)
	if err != nil {
		return err
	}
	shown := make(map[string][]*underwriting.PolicyRow) // by the source whose report their claims show
	for _, p := range policies {
		source, err := e.selectReport(p, occ.Source)
		if err != nil {
			return err
		}
		shown[source] = append(shown[source], p)
	}
	for _, source := range slices.Sorted(maps.Keys(shown)) {
		adj := e.adjudicationOf(source)
		if err := adj.load(ctx, shown[source]); err != nil {
			return err
		}
		if err := adj.decideAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// newMeasuredEvent reads what the sources report of the event of an occurrence.
func newMeasuredEvent(ctx context.Context, tx *store.Tx, occ *occurrence.OccurrenceRow, facts trigger.Occurrence, policies []*underwriting.PolicyRow) (*measuredEvent, error) {
	found, err := reports.Load(ctx, tx, occ, facts)
	if err != nil {
		return nil, err
	}
	e := &measuredEvent{
		tx: tx, reports: found, first: occ, lost: make(map[uuid.UUID]*occurrence.OccurrenceRow),
		outcomes: make(map[uuid.UUID]measurement.Outcome), results: make(map[uuid.UUID]*wire.MeasurementResult), anyMet: make(map[uuid.UUID]bool),
	}
	var ids []uuid.UUID
	for _, r := range found {
		e.rows, ids = append(e.rows, r.Row), append(ids, r.Row.ID)
		if !r.Row.IsRetracted() && (e.first.IsRetracted() || bytes.Compare(r.Row.ID[:], e.first.ID[:]) < 0) {
			e.first = r.Row
		}
	}
	if !slices.Contains(ids, occ.ID) { // it was retracted, and its source reported again
		e.rows, ids = append(e.rows, occ), append(ids, occ.ID)
	}
	e.decided, err = loadDecidedReports(ctx, tx, policies, ids)
	return e, err
}

// adjudicationOf returns the adjudication of the report of one source, under the identity
// of the first report.
func (e *measuredEvent) adjudicationOf(source string) *adjudication {
	report := e.reports[source]
	row := *report.Row
	row.ID = e.first.ID
	return &adjudication{Tx: e.tx, occurrence: &row, reported: report.Row, events: e.rows, facts: report.Facts, outcomes: e.outcomes, results: e.results, anyMet: e.anyMet, lost: e.lost}
}

// selectReport applies the measurement of a policy to the reports and returns the source
// whose report its claim shows: the selected one; while it waits, the highest-ranked that
// meets the trigger or else reports. The report of an approved claim stays selected until
// it is retracted.
func (e *measuredEvent) selectReport(p *underwriting.PolicyRow, own string) (string, error) {
	terms := p.Cover.Measurement
	var readings []receipt.SourceReading
	shown, before := "", e.decided[p.ID]
	var retracted *occurrence.OccurrenceRow // the highest-ranked that met the trigger
	for rank, s := range terms.Sources {
		report := e.reports[s.Source]
		if report == nil {
			continue
		}
		if all := report.Row.FactsWithRetracted; retracted == nil && all != nil && trigger.EvaluateReportOfAnyBasin(p.Cover, p.CoverPeriod(), p.PayableFrom, *all).Met {
			retracted = report.Row
		}
		if !report.Facts.IsMeasured() {
			continue
		}
		stored, err := report.Row.Reading(report.Facts)
		if err != nil {
			return "", err
		}
		reading := measured.NewReading(p, rank, report, e.tx.Clock)
		readings = append(readings, receipt.SourceReading{Reading: reading, Facts: report.Facts, Digest: stored.Digest})
		if met := reading.Determination.Met && reading.Determination.Amount > 0; shown == "" || met && !e.anyMet[p.ID] {
			shown = s.Source
			e.anyMet[p.ID] = e.anyMet[p.ID] || met
		}
	}
	decidedBy := ""
	switch {
	case before != nil && before.IsRetracted():
		e.lost[p.ID] = before
	case before != nil:
		decidedBy = before.Source
	case retracted != nil && !e.anyMet[p.ID]:
		e.lost[p.ID] = retracted
	}
	if len(readings) == 0 {
		return own, nil // every report was retracted
	}
	outcome := receipt.SelectReading(*terms, readings, decidedBy, e.tx.Clock)
	e.outcomes[p.ID], e.results[p.ID] = outcome, receipt.NewMeasurement(p.Cover, readings, outcome, decidedBy != "", e.tx.Clock)
	if outcome.State == measurement.Selected {
		return terms.Sources[outcome.Selected].Source, nil
	}
	return shown, nil
}

// outcome returns how far the measurement of a policy has come; nil for a policy without
// one. With one source it follows from the determination.
func (adj *adjudication) outcome(p *underwriting.PolicyRow, d trigger.Determination) *measurement.Outcome {
	if o, ok := adj.outcomes[p.ID]; ok {
		return &o
	}
	if p.Cover.Measurement == nil || p.Cover.HasSeveralSources() {
		return nil
	}
	o := measurement.Select(*p.Cover.Measurement, []measurement.Reading{adj.onlyReading(p, d)}, adj.Clock)
	if adj.outcomes == nil {
		adj.outcomes = make(map[uuid.UUID]measurement.Outcome, len(adj.policies))
	}
	adj.outcomes[p.ID] = o // d is the only determination of p in an adjudication
	return &o
}

// onlyReading returns the reading of the only source of a policy.
func (adj *adjudication) onlyReading(p *underwriting.PolicyRow, d trigger.Determination) measurement.Reading {
	return measurement.Reading{Determination: d, Counts: isStageSufficient(p, d), CountedAt: adj.occurrence.UpdatedAt, EndedAt: adj.occurrence.EndedAt()}
}

// result returns what a determination keeps of the measurement: that of several sources, and
// of one when the long stop ended the wait for it.
func (adj *adjudication) result(p *underwriting.PolicyRow, d trigger.Determination) (*wire.MeasurementResult, error) {
	o := adj.outcome(p, d)
	if o == nil || o.State != measurement.Stopped || adj.results[p.ID] != nil {
		return adj.results[p.ID], nil
	}
	stored, err := adj.occurrence.Reading(adj.facts)
	if err != nil {
		return nil, err
	}
	alone := trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, adj.facts)
	reading := receipt.SourceReading{Reading: adj.onlyReading(p, alone), Facts: adj.facts, Digest: stored.Digest}
	return receipt.NewMeasurement(p.Cover, []receipt.SourceReading{reading}, *o, false, adj.Clock), nil
}

// newDetermination records the trigger's result for a policy.
func (adj *adjudication) newDetermination(p *underwriting.PolicyRow, d trigger.Determination) (*claims.DeterminationRow, error) {
	result, err := adj.result(p, d)
	if err != nil {
		return nil, err
	}
	return claims.NewDetermination(adj.Tx, p, adj.reportedOccurrence(), adj.factsFor(p), d, result)
}

// isSettled reports whether a source is selected or, without a measurement, whether the
// stage of the values allows the product to decide.
func (adj *adjudication) isSettled(p *underwriting.PolicyRow, d trigger.Determination) bool {
	if o := adj.outcome(p, d); o != nil {
		return o.State == measurement.Selected
	}
	return isStageSufficient(p, d)
}

// endsWaiting reports whether the measurement gave up waiting for its sources.
func (adj *adjudication) endsWaiting(p *underwriting.PolicyRow, d trigger.Determination) bool {
	o := adj.outcome(p, d)
	return o != nil && (o.State == measurement.Operator || o.State == measurement.Stopped)
}

// measuredDecision replaces a decision when no source was selected in time.
func (adj *adjudication) measuredDecision(p *underwriting.PolicyRow, d trigger.Determination, decision rules.Decision) rules.Decision {
	o := adj.outcome(p, d)
	if o == nil || slices.Contains(decision.Reasons, rules.ReasonDuplicateEvent) {
		return decision
	}
	switch o.State {
	case measurement.Operator:
		return rules.Decision{Outcome: rules.Defer, Reasons: []string{string(claims.ReasonSourcesDisagree)}}
	case measurement.Stopped:
		return rules.Decision{Outcome: rules.Decline, Reasons: []string{string(claims.ReasonLongStopReached)}}
	case measurement.Waiting, measurement.Selected:
	}
	return decision
}

// mayAddPart reports whether the occurrence may come to owe more for an approved claim: it
// grows, or the policy's terms count revisions until the long stop. Nothing is added when
// the report that decided the claim was retracted.
func (adj *adjudication) mayAddPart(p *underwriting.PolicyRow, d trigger.Determination) bool {
	if adj.lost[p.ID] != nil {
		return false
	}
	if o := adj.outcome(p, d); o != nil {
		return adj.Clock.Before(o.LongStopAt)
	}
	return adj.facts.Grows()
}

// reportedOccurrence returns the occurrence whose report is being judged.
func (adj *adjudication) reportedOccurrence() *occurrence.OccurrenceRow {
	if adj.reported != nil {
		return adj.reported
	}
	return adj.occurrence
}

// opensClaim is OpensClaim for the reports of all named sources: a claim opens when one of
// them meets the trigger, also when another one is selected.
func (adj *adjudication) opensClaim(p *underwriting.PolicyRow, d trigger.Determination) bool {
	if adj.anyMet[p.ID] {
		return adj.Clock.Before(p.ReportableUntil)
	}
	return OpensClaim(p, d, adj.Clock)
}

// waitsUntil returns the deadline or long stop that the measurement of a policy waits for;
// nil when it does not wait.
func (adj *adjudication) waitsUntil(p *underwriting.PolicyRow, d trigger.Determination) *time.Time {
	if o := adj.outcome(p, d); o != nil && o.State == measurement.Waiting {
		return &o.DueAt
	}
	return nil
}

// decisionSentence says how a claim was decided and why, or which of several sources it
// waits for.
func (adj *adjudication) decisionSentence(p *underwriting.PolicyRow, row *claims.ClaimRow) string {
	m := adj.results[p.ID]
	if m == nil || m.State != string(receipt.MeasuredWaiting) || !awaitsSource(row) {
		return claims.DecisionSentence(p, row, adj.facts)
	}
	var missing []string
	for _, s := range p.Cover.Measurement.Sources {
		if !slices.ContainsFunc(m.Sources, func(r wire.SourceReading) bool { return r.Source == s.Source && r.CountedAt != nil }) {
			missing = append(missing, s.Source)
		}
	}
	return claims.WaitingSentence(missing, adj.outcomes[p.ID].DueAt)
}

// advanceReview makes a waiting claim due at the deadline or long stop of its measurement
// when its next review would come later. A claim that waits for missing days is not reviewed
// before either.
func (adj *adjudication) advanceReview(p *underwriting.PolicyRow, row *claims.ClaimRow, d trigger.Determination) error {
	due := adj.waitsUntil(p, d)
	if due == nil || row.NextReviewAt == nil || row.NextReviewAt.Equal(*due) || row.NextReviewAt.Before(*due) && !adj.awaitsMissingDays(row) {
		return nil
	}
	row.NextReviewAt = due
	adj.changedClaims = append(adj.changedClaims, row)
	adj.BumpVersion(&row.RowHeader)
	return adj.recordEvent(row, adj.claimDeterminations[*row.DeterminationID], event.ClaimUpdated, "The wait for the sources ends at "+due.Format(trigger.TimeFormat)+".",
		map[string]any{"next_review_at": due})
}
