package adjudication

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/hazard/measurement"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// adjudication decides one occurrence for a batch of locked policies: at most one claim
// per policy, written in one statement per table.
type adjudication struct {
	*store.Tx

	occurrence     *occurrence.OccurrenceRow
	facts          trigger.Occurrence
	request        *ClaimRequest // set for a partner's request, nil when matching opens the claim
	decidedClaimID uuid.UUID     // the claim that an operator decides; zero otherwise

	// For policies that several sources decide; see measured.go.
	reported *occurrence.OccurrenceRow             // the occurrence of the shown source
	events   []*occurrence.OccurrenceRow           // the occurrences of all sources
	outcomes map[uuid.UUID]measurement.Outcome     // by policy, also of one source once outcome has computed it
	results  map[uuid.UUID]*wire.MeasurementResult // by policy: the same for its determination
	anyMet   map[uuid.UUID]bool                    // by policy: a named source's report meets the trigger
	lost     map[uuid.UUID]*occurrence.OccurrenceRow

	policies         []*underwriting.PolicyRow
	claimByPolicy    map[uuid.UUID]*claims.ClaimRow          // by policy: the claim for this occurrence
	relatedClaims    map[uuid.UUID][]*claims.ClaimRow        // by policy: all claims that may be about the same event, including claimByPolicy
	shownClaims      map[uuid.UUID]underwriting.PolicyClaims // by policy: the claims shown in its record
	occurrenceIDs    map[uuid.UUID]bool                      // the occurrence and those merged into it
	claimOccurrences map[uuid.UUID]*occurrence.OccurrenceRow // the occurrences of the other claims
	separated        map[uuid.UUID]bool                      // occurrences that an operator split from the occurrence
	// possibleDuplicates are occurrences with claims that may be the same event as
	// occurrence, under another id.
	possibleDuplicates  map[uuid.UUID]bool
	claimDeterminations map[uuid.UUID]*claims.DeterminationRow // the current determinations of the claims for the occurrence
	installments        map[uuid.UUID]int                      // by claim: the highest installment that has a payout
	claimPayouts        map[uuid.UUID]claims.ClaimRelations    // by claim: the payouts shown in the records of the existing claims
	methods             map[uuid.UUID][]*payouts.PayoutMethodRow
	paidDays            map[uuid.UUID][]claims.PaidDays // by policy: days at stations that were already paid
	retractedAmounts    map[uuid.UUID]int64             // by claim with retracted observations: what was left

	newDeterminations        []*claims.DeterminationRow
	newClaims, changedClaims []*claims.ClaimRow
	changedPolicies          []*underwriting.PolicyRow
	newPayouts               []*claims.PayoutRow
}

// adjudicatePolicies locks the policies, decides their claims for the occurrence and saves the
// result. The covers of the policies were read already.
func adjudicatePolicies(ctx context.Context, tx *store.Tx, occ *occurrence.OccurrenceRow, facts trigger.Occurrence, ids []uuid.UUID, covers coversByPolicy) error {
	var policies []*underwriting.PolicyRow
	locked := tx.NewSelect().Model(&policies).ExcludeColumn("cover").Where("p.id = any ($1)").Where("p.status <> ?", underwriting.PolicyArchived).OrderExpr("p.id").For("NO KEY UPDATE")
	if err := tx.ScanRows(ctx, locked, &policies, ids); err != nil {
		return fmt.Errorf("lock policies: %w", err)
	}
	for _, p := range policies {
		p.Cover = covers[p.ID]
		tx.AdvanceClock(&p.RowHeader)
	}
	if several := slices.DeleteFunc(slices.Clone(policies), func(p *underwriting.PolicyRow) bool { return !p.Cover.HasSeveralSources() }); len(several) > 0 {
		if err := adjudicateMeasured(ctx, tx, occ, facts, several); err != nil {
			return err
		}
		policies = slices.DeleteFunc(policies, func(p *underwriting.PolicyRow) bool { return p.Cover.HasSeveralSources() })
	}
	adj := adjudication{Tx: tx, occurrence: occ, facts: facts}
	if err := adj.load(ctx, policies); err != nil {
		return err
	}
	return adj.decideAll(ctx)
}

// eventsPerClaim is how many events a claim has that is approved at once: opened, approved,
// the policy's, and the payout's.
const eventsPerClaim = 4

// decideAll decides every policy and saves the outcome.
func (adj *adjudication) decideAll(ctx context.Context) error {
	adj.ReserveEvents(eventsPerClaim * len(adj.policies))
	for i, p := range adj.policies {
		pacing.YieldEvery(16, i)
		d := adj.evaluateTrigger(p)
		done, err := adj.applyRetraction(ctx, p, d)
		if err != nil {
			return err
		}
		switch claim := adj.claimByPolicy[p.ID]; {
		case done:
		case claim == nil && !adj.opensClaim(p, d):
			continue
		case claim == nil:
			err = adj.openClaim(p, d)
		default:
			err = adj.decideExisting(p, d)
		}
		if err != nil {
			return err
		}
		if err := adj.reportDoublePayment(ctx, p); err != nil {
			return err
		}
	}
	return adj.save(ctx)
}

// decideExisting decides all waiting claims of a policy for the occurrence. There are
// several when occurrences were merged. The first approved claim gets the amount that a
// growing occurrence owes beyond all of them.
func (adj *adjudication) decideExisting(p *underwriting.PolicyRow, d trigger.Determination) error {
	var approved *claims.ClaimRow
	for _, c := range adj.relatedClaims[p.ID] {
		switch {
		case !adj.isFor(c):
		case c.Status == claims.ClaimDeferred:
			if err := adj.reassess(p, c, d); err != nil {
				return err
			}
		case approved == nil && isApproved(c):
			approved = c
		}
	}
	if approved == nil || !adj.mayAddPart(p, d) || !adj.isSettled(p, d) {
		return nil
	}
	return adj.increaseClaim(p, approved, d)
}

func (adj *adjudication) openClaim(p *underwriting.PolicyRow, d trigger.Determination) error {
	row := &claims.ClaimRow{
		RowHeader: adj.NewHeader(p.Partner), PolicyID: p.ID, Product: p.Product, Status: claims.ClaimOpened, Origin: claims.OriginTrigger,
		OccurrenceID: &adj.occurrence.ID, OccurrenceKey: new(payouts.NaturalKey(adj.occurrence)), OccurredAt: &adj.occurrence.OccurredAt, Currency: p.Currency,
		ReasonCodes: []string{}, OpenedAt: adj.Now,
	}
	if in := adj.request; in != nil {
		row.PartnerFields = store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata}
		row.Description = in.Description
		if in.RequestedAmount != nil {
			row.RequestedAmount = &in.RequestedAmount.Amount
		}
	}
	det, err := adj.newDetermination(p, d)
	if err != nil {
		return err
	}
	row.DeterminationID = &det.ID
	adj.newDeterminations = append(adj.newDeterminations, det)
	adj.newClaims = append(adj.newClaims, row)
	adj.claimByPolicy[p.ID] = row
	adj.relatedClaims[p.ID] = append(adj.relatedClaims[p.ID], row)
	shown := adj.shownClaims[p.ID]
	row.PolicySequence = shown.AddNewest(row.ID, string(row.Status))
	adj.shownClaims[p.ID] = shown
	if err := adj.appendObserved(p, row, det, d); err != nil {
		return err
	}
	if err := adj.recordEvent(row, det, event.ClaimOpened, claims.OpenedSentence(adj.facts, d), &wire.DeterminationData{Determination: &det.Body}); err != nil {
		return err
	}
	return adj.decideClaim(p, row, det, d)
}

// appendObserved writes the first timeline entry: the event that was observed, before any
// claim was opened.
func (adj *adjudication) appendObserved(p *underwriting.PolicyRow, row *claims.ClaimRow, det *claims.DeterminationRow, d trigger.Determination) error {
	defer adj.WithActor(actor.Actor{Kind: actor.KindSource, Name: adj.reportedOccurrence().Source})()
	return claims.AppendTimeline(adj.Tx, row, event.TimelineObserved, nil, claims.ObservedSentence(p, adj.facts, d), &wire.ObservedData{
		DistanceKM: d.DistanceKM, Index: det.Body.Index, Occurrence: adj.reportedOccurrence().ToBrief(*row.OccurredAt), SourceVersion: adj.facts.SourceVersion, Stage: d.Stage,
	})
}

// reassess re-evaluates a deferred claim after the source changed its values. A claim
// that waits for an operator is only decided here if it was a possible duplicate and the
// source merged both occurrences.
func (adj *adjudication) reassess(p *underwriting.PolicyRow, row *claims.ClaimRow, d trigger.Determination) error {
	settled := (adj.isSettled(p, d) || adj.endsWaiting(p, d)) && (awaitsSource(row) || adj.awaitsMissingDays(row)) || isPossibleDuplicate(row) && (adj.hasClaimFor(p, row) || adj.possibleDuplicateEnded(p, row))
	if waits := !settled || d.Amount == 0 && adj.mayGrow(p) && !adj.endsWaiting(p, d); waits && !adj.hasNewSourceVersion(row) {
		return adj.advanceReview(p, row, d)
	}
	det, err := adj.newDetermination(p, d)
	if err != nil {
		return err
	}
	adj.newDeterminations = append(adj.newDeterminations, det)
	adj.changedClaims = append(adj.changedClaims, row)
	row.DeterminationID, row.OccurredAt = &det.ID, &adj.occurrence.OccurredAt
	if settled {
		return adj.decideClaim(p, row, det, d)
	}
	adj.BumpVersion(&row.RowHeader)
	return adj.recordEvent(row, det, event.ClaimUpdated, "A source reported or revised its values.", &wire.DeterminationData{Determination: &det.Body})
}

// hasNewSourceVersion reports whether a source changed its values, or another one reported,
// since the claim's determination. A second pass over the same facts changes nothing.
func (adj *adjudication) hasNewSourceVersion(row *claims.ClaimRow) bool {
	was, now := adj.claimDeterminations[*row.DeterminationID].Body, adj.results[row.PolicyID]
	return was.SourceVersion != adj.facts.SourceVersion || now != nil && !now.HasReadingsOf(was.Measurement)
}

// evaluateTrigger evaluates the trigger for a policy without the days that were already
// paid.
func (adj *adjudication) evaluateTrigger(p *underwriting.PolicyRow) trigger.Determination {
	return trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, adj.factsFor(p))
}

func (adj *adjudication) factsFor(p *underwriting.PolicyRow) trigger.Occurrence {
	return claims.WithoutPaidDays(adj.occurrence, adj.facts, adj.paidDays[p.ID])
}

// awaitsMissingDays reports whether the claim waits for missing days of its month or
// dekad. A claim that waits for evidence that an operator requested does not count.
func (adj *adjudication) awaitsMissingDays(row *claims.ClaimRow) bool {
	return row.Status == claims.ClaimDeferred && slices.Equal(row.ReasonCodes, []string{rules.ReasonEvidenceNeeded}) &&
		adj.facts.AtStation != nil && !adj.claimDeterminations[*row.DeterminationID].Met
}

// decideClaim applies the private decision rules and updates claim, policy and payout.
// The actor of the decision is always Parapet, also when a partner made the request.
func (adj *adjudication) decideClaim(p *underwriting.PolicyRow, row *claims.ClaimRow, det *claims.DeterminationRow, d trigger.Determination) error {
	defer adj.WithActor(actor.System())()
	facts := DecisionFacts(p, d)
	facts.Ongoing, facts.SameOccurrence, facts.PossibleDuplicate = adj.mayGrow(p), adj.hasClaimFor(p, row), adj.hasPossibleDuplicate(p, row)
	facts.Settled = adj.isSettled(p, d)
	decision := adj.measuredDecision(p, d, rules.Decide(facts))
	var review *time.Time
	switch {
	case onlyAwaitsSource(decision.Reasons):
		review = new(adj.reviewAt(p, d))
	case facts.Incomplete && decision.Outcome == rules.Defer && adj.waitsUntil(p, d) != nil:
		review = adj.waitsUntil(p, d)
	case decision.Outcome == rules.Defer:
		review = new(adj.Now.Add(ReviewInterval)) // an operator reviews it; HealthStats counts overdue reviews
	}
	return adj.applyDecision(p, row, det, decision, review)
}

// ReviewInterval is the delay after which a claim that waits for its source is reviewed
// even without a new report.
const ReviewInterval = 24 * time.Hour

// reviewAt returns when a waiting claim is reviewed: for an occurrence that may
// grow, when it has ended.
func (adj *adjudication) reviewAt(p *underwriting.PolicyRow, d trigger.Determination) time.Time {
	if adj.mayGrow(p) && isStageSufficient(p, d) {
		return measured.GrowthEnd(p, adj.occurrence, adj.facts)
	}
	review := adj.Now.Add(ReviewInterval)
	if o := adj.outcome(p, d); o != nil && o.State == measurement.Waiting && o.DueAt.Before(review) {
		return o.DueAt
	}
	return review
}

// recordEvent appends one event and its timeline entry to the claim. det is nil for a
// claim without an occurrence.
func (adj *adjudication) recordEvent(row *claims.ClaimRow, det *claims.DeterminationRow, kind event.Type, summary string, data any) error {
	parts := adj.claimPayouts[row.ID]
	if det != nil {
		parts.Occurrence, parts.Determination = adj.openedOccurrence(row), &det.Body
	}
	event, err := adj.AppendEvent(kind, &row.RowHeader, store.ResourceClaim, row.ToRecord(parts))
	if err != nil {
		return err
	}
	return claims.AppendTimeline(adj.Tx, row, kind, &event, summary, data)
}

// openedOccurrence returns the occurrence that the claim was opened for. It may have been
// merged since into the one being adjudicated.
func (adj *adjudication) openedOccurrence(row *claims.ClaimRow) *occurrence.OccurrenceRow {
	if opened, ok := adj.claimOccurrences[*row.OccurrenceID]; ok {
		return opened
	}
	for _, reported := range adj.events {
		if reported.ID == *row.OccurrenceID {
			return reported
		}
	}
	return adj.occurrence
}
