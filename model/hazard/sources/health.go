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

// healthQuery reads the health of sources for a partner; all partners for an empty one. An
// address that is no longer polled, and one that an older release polled with success, is
// no outage.
const healthQuery = `select s.name,
	(select o.created_at from observations o where o.source = s.name and o.scope in ('', ?1) order by o.id desc limit 1) as last_reading_at,
	(select min(f.failing_since) from feed_polls f where f.source = s.name and f.failures > 0 and f.next_poll_at > ?2) as outage_since
from sources s where s.name in (?0)`

// pollDelay is how long after the time of its next poll an address counts as polled.
const pollDelay = time.Hour

// loadHealth reads the health of sources as a caller may see it.
func (s *Service) loadHealth(ctx context.Context, db bun.IDB, caller actor.Actor, names []string, now time.Time) (map[string]sourceHealth, error) {
	found := make(map[string]sourceHealth, len(names))
	if len(names) == 0 {
		return found, nil
	}
	var rows []sourceHealth
	if err := db.NewRaw(healthQuery, bun.List(names), caller.Partner, now.Add(-pollDelay)).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read the health of sources: %w", err))
	}
	waiting, err := s.loadWaiting(ctx, db, caller.Partner, now)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		row.Waiting = waiting[row.Name]
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
