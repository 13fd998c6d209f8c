package sources

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// sourceHealth is what was last heard of a source, and how many claims wait for it.
type sourceHealth struct {
	Name          string
	LastReadingAt *time.Time // when the newest observation was first recorded
	OutageSince   *time.Time // the first failed poll since the last success
	Waiting       int64      // policies with a claim that waits for the source
}

// healthQuery reads the health of sources for a partner; all partners for an empty one.
const healthQuery = `select s.name,
	(select o.created_at from observations o where o.source = s.name and o.scope in ('', ?1) order by o.id desc limit 1) as last_reading_at,
	(select min(f.failing_since) from feed_polls f where f.source = s.name) as outage_since,
	coalesce(w.waiting, 0) as waiting
from sources s
left join (select oc.source, count(distinct c.policy_id) as waiting from claims c join occurrences oc on oc.id = c.occurrence_id
	where c.status = 'deferred' and c.reason_codes = array['source_preliminary'] and (?1 = '' or c.partner = ?1) group by oc.source) w on w.source = s.name
where s.name in (?0)`

// loadHealth reads the health of sources as a caller may see it.
func loadHealth(ctx context.Context, db bun.IDB, caller actor.Actor, names []string) (map[string]sourceHealth, error) {
	found := make(map[string]sourceHealth, len(names))
	if len(names) == 0 {
		return found, nil
	}
	var rows []sourceHealth
	if err := db.NewRaw(healthQuery, bun.List(names), caller.Partner).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read the health of sources: %w", err))
	}
	for _, row := range rows {
		found[row.Name] = row
	}
	return found, nil
}

// toRecord returns the source as a caller sees it: only operators see the subjects of its
// tokens.
func (r *SourceRow) toRecord(caller actor.Actor, health sourceHealth, now time.Time) *wire.Source {
	record := &wire.Source{
		Header: wire.Header{ID: r.Name, Object: "source", CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version},
		Name:   r.Name, Perils: r.Perils, Stages: r.Stages, TokenSubjects: []string{}, Enabled: r.Enabled,
		LastReadingAt: health.LastReadingAt, OutageSince: health.OutageSince, PoliciesWaiting: health.Waiting,
	}
	if caller.HasScope(actor.ScopeOperator) {
		record.TokenSubjects = r.TokenSubjects
	}
	if at := health.LastReadingAt; at != nil {
		record.AgeSeconds = new(int64(max(0, now.Sub(*at)).Seconds()))
	}
	return record
}
