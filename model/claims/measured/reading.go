package measured

import (
	"time"

	"parapet/model/hazard/measurement"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/hazard/trigger"
	"parapet/model/underwriting"
)

// MayGrow reports whether an occurrence may still come to owe a policy more: a storm may
// get fixes that join its track, a count of days another day.
func MayGrow(p *underwriting.PolicyRow, row *occurrence.OccurrenceRow, facts trigger.Occurrence, now time.Time) bool {
	return facts.Grows() && row.FinalTrackAt == nil && now.Before(GrowthEnd(p, row, facts))
}

// GrowthEnd returns the time after which an occurrence owes a policy no more: for a storm
// when a later fix would form no segment with the last one, for a count of days when all
// of them are final or nothing can be claimed any more.
func GrowthEnd(p *underwriting.PolicyRow, row *occurrence.OccurrenceRow, facts trigger.Occurrence) time.Time {
	switch days := facts.AtStation; {
	case days == nil:
		return row.LastAt.Add(time.Duration(p.Cover.Trigger.MaximumGapHours) * time.Hour)
	case days.Missing() == 0 && days.HasFinalDays():
		return row.LastAt
	default:
		return p.ReportableUntil
	}
}

// NewReading evaluates the report of one source alone, for a policy that several sources
// decide. rank is that of the source in the policy's terms.
func NewReading(p *underwriting.PolicyRow, rank int, report *reports.Report, now time.Time) measurement.Reading {
	r := measurement.Reading{
		Rank: rank, EndedAt: report.Row.EndedAt(),
		Determination: trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, report.Facts),
	}
	r.CountedAt, r.Counts = report.CountedAt(p.Cover.Measurement.Sources[rank].Stage)
	r.Counts = r.Counts && !MayGrow(p, report.Row, report.Facts, now)
	return r
}
