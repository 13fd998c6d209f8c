package adjudication

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/claims/candidates"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// openMeasuredClaim opens the claim of a policy with several sources for the event of an
// occurrence, or finds it. Errors: trigger_not_met when no named source's report meets the
// trigger.
func openMeasuredClaim(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, occ *occurrence.OccurrenceRow, facts trigger.Occurrence, in *ClaimRequest) (uuid.UUID, bool, error) {
	d := trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, facts)
	if d.Reason == trigger.SourceNotNamed {
		return uuid.Nil, false, claims.TriggerNotMetError(p, facts, d)
	}
	e, err := newMeasuredEvent(ctx, tx, occ, facts, []*underwriting.PolicyRow{p})
	if err != nil {
		return uuid.Nil, false, err
	}
	source, err := e.selectReport(p, occ.Source)
	if err != nil {
		return uuid.Nil, false, err
	}
	adj := e.adjudicationOf(source)
	adj.request = in
	if err := adj.load(ctx, []*underwriting.PolicyRow{p}); err != nil {
		return uuid.Nil, false, err
	}
	if have := adj.claimByPolicy[p.ID]; have != nil {
		return have.ID, false, nil
	}
	switch {
	case !e.anyMet[p.ID]:
		return uuid.Nil, false, claims.TriggerNotMetError(p, facts, d)
	case p.Status == underwriting.PolicyArchived || !tx.Clock.Before(p.ReportableUntil):
		return uuid.Nil, false, apperr.Fail(apperr.CodePolicyNotInForce, "This policy accepts no more claims: its reporting window is over.")
	}
	if err := adj.decideAll(ctx); err != nil {
		return uuid.Nil, false, err
	}
	return adj.claimByPolicy[p.ID].ID, true, nil
}

// enqueueWaitingClaims enqueues the evaluation of claims that wait for several sources,
// for their own occurrence, when another source may have reported the same event. A job
// has as many of them as a slice.
func (s *Service) enqueueWaitingClaims(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	waiting, err := candidates.FindWaiting(ctx, tx, occurrences)
	if err != nil {
		return err
	}
	var job EvaluatePolicies
	for i, w := range waiting {
		job.Occurrence = store.ResourceOccurrence.FormatID(w.OccurrenceID)
		job.Policies = append(job.Policies, store.ResourcePolicy.FormatID(w.ID))
		if last := i == len(waiting)-1 || waiting[i+1].OccurrenceID != w.OccurrenceID; last || len(job.Policies) == s.sliceSize {
			tx.EnqueueJob(job)
			job = EvaluatePolicies{}
		}
	}
	return nil
}

// loadDecidedReports returns, by policy, the report that its approved claim for an event was
// decided by, of several the one that was approved first. One that stands and is none of the
// event's is left out.
func loadDecidedReports(ctx context.Context, tx *store.Tx, policies []*underwriting.PolicyRow, event []uuid.UUID) (map[uuid.UUID]*occurrence.OccurrenceRow, error) {
	var rows []struct {
		PolicyID                 uuid.UUID
		occurrence.OccurrenceRow `bun:",extend"`
	}
	err := tx.NewSelect().Model((*claims.ClaimRow)(nil)).ColumnExpr("c.policy_id, oc.*").
		Join("join determinations d on d.id = c.determination_id and d.partner = c.partner").
		Join("join occurrences evaluated on evaluated.id = d.occurrence_id").Join("join occurrences oc on oc.id = coalesce(evaluated.merged_into, evaluated.id)").
		Where("c.policy_id in (?)", bun.List(underwriting.PolicyIDs(policies))).
		Where("c.occurrence_id in (select id from occurrences where id in (?0) or merged_into in (?0))", bun.List(event)).
		Where("c.status in (?, ?)", claims.ClaimApproved, claims.ClaimClosed).OrderExpr("c.decided_at desc, c.id desc").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read decided reports: %w", err)
	}
	decided := make(map[uuid.UUID]*occurrence.OccurrenceRow)
	for i := range rows {
		if by := &rows[i].OccurrenceRow; by.IsRetracted() || slices.Contains(event, by.ID) {
			decided[rows[i].PolicyID] = by
		}
	}
	return decided, nil
}
