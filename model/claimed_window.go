package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// takenWindow is a window that was claimed: its days never count again.
type takenWindow struct {
	PolicyID uuid.UUID
	Status   ClaimStatus
	Scope    string
	Source   string
	Last     time.Time

	Retraction *RetractionState
}

func (t takenWindow) window(p *policyRow, station string) trigger.Window {
	w := trigger.Window{Station: station}
	for i := p.Cover.Trigger.Days - 1; i >= 0; i-- {
		w.Days = append(w.Days, hazard.Day{Date: t.Last.AddDate(0, 0, -i)})
	}
	return w
}

func (g gauge) takenWindows(ctx context.Context, db bun.IDB, policies []*policyRow) (map[uuid.UUID][]takenWindow, error) {
	taken, err := takenWindows(ctx, db, []string{g.source}, policies)
	return taken[g.source], err
}

// takenWindows are the windows of sources that policies claimed, by source and
// policy.
func takenWindows(ctx context.Context, db bun.IDB, sources []string, policies []*policyRow) (map[string]map[uuid.UUID][]takenWindow, error) {
	var rows []takenWindow
	err := db.NewSelect().Model((*claimRow)(nil)).ColumnExpr("c.policy_id, c.status, c.retraction, oc.scope, oc.source, oc.occurred_at as last").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("c.policy_id in (?)", bun.List(policyIDs(policies))).Where("c.occurrence_id is not null").
		Where("oc.source in (?)", bun.List(sources)).Where("c.status not in (?, ?)", ClaimDeclined, ClaimWithdrawn).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read claimed windows: %w", err)
	}
	taken := make(map[string]map[uuid.UUID][]takenWindow)
	for _, row := range rows {
		row.Last = row.Last.UTC() // a day is a date in UTC wherever the process runs
		if taken[row.Source] == nil {
			taken[row.Source] = make(map[uuid.UUID][]takenWindow)
		}
		taken[row.Source][row.PolicyID] = append(taken[row.Source][row.PolicyID], row)
	}
	return taken, nil
}
