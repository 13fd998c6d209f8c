package model

import (
	"slices"
	"time"

	"parapet/model/hazard"
)

// within is how close in time two sources' reports of one occurrence lie:
// agencies date the same quake seconds apart, and two minutes are generous; a
// storm lasts days; windows of rain are one when they share a day.
func within(p *policyRow) time.Duration {
	switch p.Cover.Trigger.Kind {
	case hazard.Earthquake:
		return 2 * time.Minute
	case hazard.StationDay:
		return time.Duration(p.Cover.Trigger.Days)*24*time.Hour - 1
	case hazard.StormFix:
	}
	return 3 * 24 * time.Hour
}

// claimedBy tells whether another claim of the policy holds this very
// occurrence, because two reports turned out to be one. Of claims that wait, the
// first one goes on.
func (j *judging) claimedBy(p *policyRow, row *claimRow) bool {
	return slices.ContainsFunc(j.others[p.ID], func(c *claimRow) bool {
		return c != row && c.counts() && j.same[*c.OccurrenceID] && (c.Status != ClaimDeferred || c.ID.String() < row.ID.String())
	})
}

// duplicate tells whether what may be the same event is claimed already: another
// source reported it, or it was rehearsed under the same name. Nobody is paid
// twice, but only a human can be sure.
func (j *judging) duplicate(p *policyRow, row *claimRow, at time.Time) bool {
	for _, c := range j.others[p.ID] {
		if c == row || !c.counts() || c.Status == ClaimDeferred && c.ID.String() > row.ID.String() {
			continue
		}
		other := j.happened[*c.OccurrenceID]
		rehearsed := other.Scope != j.occurrence.Scope && other.SourceEventID == j.occurrence.SourceEventID
		if (other.Source != j.occurrence.Source || rehearsed) && c.OccurredAt.Sub(at).Abs() <= within(p) {
			return true
		}
	}
	return false
}

// counted tells whether a window of rain shares days with one that is claimed: a
// day counts once. Two evaluations that saw different days may find both.
func (j *judging) counted(p *policyRow) bool {
	if j.occurrence.Kind != hazard.StationDay {
		return false
	}
	for _, c := range j.others[p.ID] {
		if !c.counts() {
			continue
		}
		other := j.happened[*c.OccurrenceID]
		if other.Source == j.occurrence.Source && other.OccurredAt.Sub(j.occurrence.OccurredAt).Abs() <= within(p) {
			return true
		}
	}
	return false
}

// counts tells whether a claim holds its occurrence: it does until it is
// declined or withdrawn.
func (r *claimRow) counts() bool {
	return r.OccurrenceID != nil && r.Status != ClaimDeclined && r.Status != ClaimWithdrawn
}
