package operations

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// reviewDeferredClaims adjudicates claims again whose source did not provide the
// awaited data by the stated time, and states the next time; what is due longest comes
// first. It leaves claims that wait for an operator unchanged, so that of those that need
// evidence only the ones with missing days are reviewed.
func reviewDeferredClaims(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*claims.ClaimRow
	err := store.LockBatch(tx.NewSelect().Model(&rows).Where("c.status = ?", claims.ClaimDeferred).Where("c.next_review_at <= ?", tx.Now).
		WhereGroup(" and ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("c.reason_codes = array[?]", claims.ReasonSourcePreliminary).WhereOr("c.reason_codes = array[?] and "+awaitsMissingDaysSQL, claims.ReasonEvidenceNeeded)
		}).OrderExpr("c.next_review_at, c.id"), store.SweepBatchSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	policies := make(map[uuid.UUID][]string) // by occurrence
	for _, row := range rows {
		policies[*row.OccurrenceID] = append(policies[*row.OccurrenceID], store.ResourcePolicy.FormatID(row.PolicyID))
		if err := postponeReview(ctx, tx, row); err != nil {
			return 0, err
		}
	}
	var occurrences []occurrence.OccurrenceRow
	if err := tx.NewSelect().Model(&occurrences).Where("id in (?)", bun.List(slices.Collect(maps.Keys(policies)))).OrderExpr("id").Scan(ctx); err != nil {
		return 0, fmt.Errorf("read occurrences to review: %w", err)
	}
	for _, row := range occurrences {
		tx.EnqueueJob(adjudication.EvaluatePolicies{Occurrence: store.ResourceOccurrence.FormatID(row.CurrentID()), Policies: policies[row.ID]})
	}
	return len(rows), nil
}

// awaitsMissingDaysSQL selects claims of policies with a measurement whose month or dekad
// has missing days. The trigger of a claim for which an operator asked for evidence was met.
const awaitsMissingDaysSQL = `exists (select from determinations d join occurrences oc on oc.id = d.occurrence_id join policies p on p.id = c.policy_id and p.partner = c.partner
	where d.id = c.determination_id and d.partner = c.partner and not d.met and oc.station is not null and p.cover::json->'measurement'->'sources' is not null)`

func postponeReview(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) error {
	claims.AdvanceClockPastTimeline(tx, row)
	row.NextReviewAt = new(tx.Now.Add(adjudication.ReviewInterval))
	parts, err := claims.LoadClaimRelations(ctx, tx, row)
	if err != nil {
		return err
	}
	if err := tx.SaveColumns(ctx, row, "next_review_at"); err != nil {
		return err
	}
	occurred, err := tx.AppendEvent(event.ClaimUpdated, &row.RowHeader, store.ResourceClaim, row.ToRecord(parts))
	if err != nil {
		return err
	}
	err = claims.AppendTimeline(tx, row, event.ClaimUpdated, &occurred, reviewedSentences[row.ReasonCodes[0]], map[string]any{"next_review_at": row.NextReviewAt})
	if err != nil {
		return err
	}
	return claims.SaveTimelinePosition(ctx, tx, row)
}

// reviewedSentences say why a claim still waits, by its reason code.
var reviewedSentences = map[string]string{
	string(claims.ReasonSourcePreliminary): "The final values are not reported yet; the claim was reviewed and still waits.",
	string(claims.ReasonEvidenceNeeded):    "Days are still missing; the claim was reviewed and still waits.",
}
