package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// claimedBy tells whether another claim of the policy holds this very
// occurrence, because two reports turned out to be one. Of claims that wait, the
// first one goes on.
func (j *judging) claimedBy(p *policyRow, row *claimRow) bool {
	return slices.ContainsFunc(j.others[p.ID], func(c *claimRow) bool {
		return c != row && c.counts() && j.same[*c.OccurrenceID] && (c.Status != ClaimDeferred || c.ID.String() < row.ID.String())
	})
}

// duplicate tells whether what may be the same event is claimed already: it was
// reported under another id, or it was rehearsed. Nobody is paid twice, but only a
// human can be sure. Of claims that wait, the first one goes on.
func (j *judging) duplicate(p *policyRow, row *claimRow) bool {
	return slices.ContainsFunc(j.others[p.ID], func(c *claimRow) bool {
		return c.counts() && (c.Status != ClaimDeferred || c.ID.String() < row.ID.String()) && j.mayDuplicate(row, c)
	})
}

// mayDuplicate tells whether a claim for the judged occurrence and another one may be
// for the same event under two ids.
func (j *judging) mayDuplicate(row, c *claimRow) bool {
	if c == row || c.OccurrenceID == nil || j.same[*c.OccurrenceID] {
		return false
	}
	other := j.happened[*c.OccurrenceID]
	return j.possibleDuplicates[other.stands()] || j.measuredElsewhere(other) && j.sharesDay(other)
}

// lostItsDuplicate tells whether a claim that it may duplicate stopped counting after
// the claim was deferred, and no other one counts. A claim that an operator deferred for
// a duplicate of which these rules know nothing stays deferred.
func (j *judging) lostItsDuplicate(p *policyRow, row *claimRow) bool {
	return !j.duplicate(p, row) && slices.ContainsFunc(j.others[p.ID], func(c *claimRow) bool {
		return !c.counts() && !c.UpdatedAt.Before(*row.DecidedAt) && j.mayDuplicate(row, c)
	})
}

// reevaluatePossibleDuplicates has the policies' claims judged again that wait because
// another claim counted which now is declined or withdrawn.
func (u *unit) reevaluatePossibleDuplicates(ctx context.Context, policies []uuid.UUID) error {
	if len(policies) == 0 {
		return nil
	}
	var waiting []struct{ OccurrenceID, PolicyID uuid.UUID }
	err := u.NewRaw(`select distinct coalesce(oc.merged_into, oc.id) as occurrence_id, c.policy_id from claims c join occurrences oc on oc.id = c.occurrence_id
		where c.policy_id in (?) and c.status = 'deferred' and c.reason_codes = array['duplicate_event'] order by 1, 2`, bun.List(policies)).Scan(ctx, &waiting)
	if err != nil {
		return fmt.Errorf("find possible duplicates: %w", err)
	}
	for i, w := range waiting {
		if i == 0 || waiting[i-1].OccurrenceID != w.OccurrenceID {
			u.enqueue(EvaluatePolicies{Occurrence: nounOccurrence.id(w.OccurrenceID)})
		}
		job := u.jobs[len(u.jobs)-1].(EvaluatePolicies) //nolint:forcetypeassert // it was enqueued above
		job.Policies = append(job.Policies, nounPolicy.id(w.PolicyID))
		u.jobs[len(u.jobs)-1] = job
	}
	return nil
}

// isPossibleDuplicate tells whether a claim waits because its event may be one that is
// claimed already.
func (r *claimRow) isPossibleDuplicate() bool {
	return r.Status == ClaimDeferred && slices.Equal(r.ReasonCodes, []string{string(ReasonDuplicateEvent)})
}

// measuredElsewhere tells whether an occurrence was measured by another source than the
// judged one, or in another scope.
func (j *judging) measuredElsewhere(other *occurrenceRow) bool {
	return other.Source != j.occurrence.Source || other.Scope != j.occurrence.Scope
}

// sharesDay tells whether the judged occurrence at a station and another one have a
// day in common.
func (j *judging) sharesDay(other *occurrenceRow) bool {
	return j.occurrence.Kind == hazard.StationDay && other.Kind == hazard.StationDay && j.occurrence.run().Overlaps(other.run())
}

// counts tells whether a claim holds its occurrence: it does until it is
// declined or withdrawn.
func (r *claimRow) counts() bool {
	return r.OccurrenceID != nil && r.Status != ClaimDeclined && r.Status != ClaimWithdrawn
}
