package adjudication

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// hasClaimFor reports whether another active claim of the policy has this same occurrence
// because two occurrences were merged. Of several waiting claims the one with the lowest
// id proceeds.
func (adj *adjudication) hasClaimFor(p *underwriting.PolicyRow, row *claims.ClaimRow) bool {
	return slices.ContainsFunc(adj.relatedClaims[p.ID], func(c *claims.ClaimRow) bool {
		return c != row && IsActive(c) && adj.occurrenceIDs[*c.OccurrenceID] && (c.Status != claims.ClaimDeferred || c.ID.String() < row.ID.String())
	})
}

// hasPossibleDuplicate reports whether the same event may already be claimed under
// another id or in a rehearsal. Such a claim waits for an operator. Of several waiting
// claims the first proceeds.
func (adj *adjudication) hasPossibleDuplicate(p *underwriting.PolicyRow, row *claims.ClaimRow) bool {
	return slices.ContainsFunc(adj.relatedClaims[p.ID], func(c *claims.ClaimRow) bool {
		return IsActive(c) && (c.Status != claims.ClaimDeferred || c.ID.String() < row.ID.String()) && adj.mayDuplicate(row, c)
	})
}

// mayDuplicate reports whether a claim for the adjudicated occurrence and another claim
// may be for the same event under two ids.
func (adj *adjudication) mayDuplicate(row, c *claims.ClaimRow) bool {
	if c == row || c.OccurrenceID == nil || adj.occurrenceIDs[*c.OccurrenceID] {
		return false
	}
	other := adj.claimOccurrences[*c.OccurrenceID]
	if adj.separated[other.CurrentID()] {
		return false
	}
	return adj.possibleDuplicates[other.CurrentID()] || adj.isFromOtherSource(other) && adj.sharesDay(other)
}

// possibleDuplicateEnded reports whether a possible duplicate of the claim became inactive
// after the claim was deferred, or an operator split its occurrence, and no other active one
// remains. A claim that an operator
// deferred as a duplicate stays deferred when these rules find no such duplicate.
func (adj *adjudication) possibleDuplicateEnded(p *underwriting.PolicyRow, row *claims.ClaimRow) bool {
	return !adj.hasPossibleDuplicate(p, row) && slices.ContainsFunc(adj.relatedClaims[p.ID], func(c *claims.ClaimRow) bool {
		return !IsActive(c) && !c.UpdatedAt.Before(*row.DecidedAt) && adj.mayDuplicate(row, c) || c.OccurrenceID != nil && adj.separated[adj.claimOccurrences[*c.OccurrenceID].CurrentID()]
	})
}

// reevaluatePossibleDuplicates enqueues a new evaluation of the policies' claims that
// waited because of a claim that is now declined or withdrawn.
func reevaluatePossibleDuplicates(ctx context.Context, tx *store.Tx, policies []uuid.UUID) error {
	if len(policies) == 0 {
		return nil
	}
	var waiting []struct{ OccurrenceID, PolicyID uuid.UUID }
	err := tx.NewRaw(`select distinct coalesce(oc.merged_into, oc.id) as occurrence_id, c.policy_id from claims c join occurrences oc on oc.id = c.occurrence_id
		where c.policy_id in (?) and c.status = 'deferred' and c.reason_codes = array['duplicate_event'] order by 1, 2`, bun.List(policies)).Scan(ctx, &waiting)
	if err != nil {
		return fmt.Errorf("find possible duplicates: %w", err)
	}
	for i, w := range waiting {
		if i == 0 || waiting[i-1].OccurrenceID != w.OccurrenceID {
			tx.EnqueueJob(EvaluatePolicies{Occurrence: store.ResourceOccurrence.FormatID(w.OccurrenceID)})
		}
		job := tx.Jobs[len(tx.Jobs)-1].(EvaluatePolicies) //nolint:forcetypeassert // it was enqueued above
		job.Policies = append(job.Policies, store.ResourcePolicy.FormatID(w.PolicyID))
		tx.Jobs[len(tx.Jobs)-1] = job
	}
	return nil
}

// isPossibleDuplicate reports whether the claim waits because its event may already be
// claimed.
func isPossibleDuplicate(r *claims.ClaimRow) bool {
	return r.Status == claims.ClaimDeferred && slices.Equal(r.ReasonCodes, []string{string(claims.ReasonDuplicateEvent)})
}

// isFromOtherSource reports whether another occurrence has a different source or scope
// than the adjudicated one.
func (adj *adjudication) isFromOtherSource(other *occurrence.OccurrenceRow) bool {
	return other.Source != adj.occurrence.Source || other.Scope != adj.occurrence.Scope
}

// sharesDay reports whether the adjudicated occurrence at a station and another one have
// a day in common.
func (adj *adjudication) sharesDay(other *occurrence.OccurrenceRow) bool {
	return adj.occurrence.Kind.IsDaily() && other.Kind.IsDaily() && adj.occurrence.DayRun().Overlaps(other.DayRun())
}

// IsActive reports whether the claim still occupies its occurrence: it is not declined or
// withdrawn.
func IsActive(r *claims.ClaimRow) bool {
	return r.OccurrenceID != nil && r.Status != claims.ClaimDeclined && r.Status != claims.ClaimWithdrawn
}
