package model

import (
	"slices"

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
		if c == row || !c.counts() || j.same[*c.OccurrenceID] || c.Status == ClaimDeferred && c.ID.String() > row.ID.String() {
			return false
		}
		other := j.happened[*c.OccurrenceID]
		return j.possibleDuplicates[other.stands()] || j.measuredElsewhere(other) && j.sharesDay(other)
	})
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
