package claims

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/underwriting"
)

// PaidDays is a run of days that a policy was already paid for.
type PaidDays struct {
	PolicyID          uuid.UUID
	OccurrenceID      uuid.UUID // the present one after merges
	Scope, Source     string
	FirstDay, LastDay time.Time
}

// LoadPaidDays returns, by policy, the days at stations that were already paid.
func LoadPaidDays(ctx context.Context, db bun.IDB, policies []*underwriting.PolicyRow) (map[uuid.UUID][]PaidDays, error) {
	var stationed []uuid.UUID
	for _, p := range policies {
		if p.Station != nil {
			stationed = append(stationed, p.ID)
		}
	}
	if len(stationed) == 0 {
		return nil, nil
	}
	var rows []PaidDays
	err := db.NewSelect().Model((*ClaimRow)(nil)).ColumnExpr("c.policy_id, coalesce(oc.merged_into, oc.id) as occurrence_id, oc.scope, oc.source, d.first_day, d.last_day").
		Join("join occurrences oc on oc.id = c.occurrence_id").Join("join determinations d on d.id = c.determination_id and d.partner = c.partner").
		Where("c.policy_id in (?)", bun.List(stationed)).Where("c.status in (?, ?)", ClaimApproved, ClaimClosed).
		Where("d.first_day is not null").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read paid days: %w", err)
	}
	paid := make(map[uuid.UUID][]PaidDays)
	for _, row := range rows {
		paid[row.PolicyID] = append(paid[row.PolicyID], row)
	}
	return paid, nil
}

// WithoutPaidDays returns the facts for a policy without the days of the same source that
// were already paid through other occurrences.
func WithoutPaidDays(r *occurrence.OccurrenceRow, facts trigger.Occurrence, paid []PaidDays) trigger.Occurrence {
	if facts.AtStation == nil {
		return facts
	}
	var runs []trigger.DayRun
	for _, p := range paid {
		if p.Source == r.Source && p.Scope == r.Scope && p.OccurrenceID != r.CurrentID() {
			runs = append(runs, trigger.DayRun{First: p.FirstDay.UTC(), Last: p.LastDay.UTC()})
		}
	}
	if len(runs) == 0 {
		return facts
	}
	rain := *facts.AtStation
	rain.Paid = slices.Clip(runs)
	facts.AtStation = &rain
	return facts
}
