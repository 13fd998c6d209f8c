package sources

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
)

// waitingTTL is how long one count of the waiting policies is shown, in business time. A
// count reads every claim that waits.
const waitingTTL = 5 * time.Second

// waitingQuery counts the policies that wait for each source: for its final report, or for
// days that are missing. Of several sources those count that have not reported the stage
// that the terms ask for. Claims that wait for evidence which an operator asked for do not
// count: their trigger was met.
const waitingQuery = `select w.name, count(distinct c.policy_id) as waiting
from claims c join occurrences oc on oc.id = c.occurrence_id join policies p on p.id = c.policy_id and p.partner = c.partner
	join determinations d on d.id = c.determination_id and d.partner = c.partner
	cross join lateral (select oc.source as name where json_array_length(p.cover::json->'measurement'->'sources') > 1 is not true
		union all select terms->>'source' from json_array_elements(p.cover::json->'measurement'->'sources') terms
		where json_array_length(p.cover::json->'measurement'->'sources') > 1 and not exists (select from json_array_elements(d.body->'measurement'->'sources') r
			where r->>'source' = terms->>'source' and r->>'counted_at' is not null)) w
where c.status = 'deferred' and (?0 = '' or c.partner = ?0) and (c.reason_codes = array['source_preliminary']
	or c.reason_codes = array['evidence_needed'] and oc.station is not null and not d.met)
group by 1`

// waitingCounts is the last count for each partner; all partners for an empty one.
type waitingCounts struct {
	mu        sync.Mutex
	byPartner map[string]waitingCount
}

type waitingCount struct {
	readAt   time.Time
	bySource map[string]int64
}

// loadWaiting returns how many policies of a partner wait for each source, as counted at
// most waitingTTL ago. The lock is not held while the database is read.
func (s *Service) loadWaiting(ctx context.Context, db bun.IDB, partner string, now time.Time) (map[string]int64, error) {
	counts := store.Local[waitingCounts](s.Store)
	if known := counts.find(partner); known.bySource != nil && !now.Before(known.readAt) && now.Before(known.readAt.Add(waitingTTL)) {
		return known.bySource, nil
	}
	var rows []struct {
		Name    string
		Waiting int64
	}
	if err := db.NewRaw(waitingQuery, partner).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("count the policies that wait for sources: %w", err))
	}
	read := waitingCount{now, make(map[string]int64, len(rows))}
	for _, row := range rows {
		read.bySource[row.Name] = row.Waiting
	}
	counts.save(partner, read)
	return read.bySource, nil
}

func (c *waitingCounts) find(partner string) waitingCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byPartner[partner]
}

func (c *waitingCounts) save(partner string, count waitingCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPartner == nil {
		c.byPartner = make(map[string]waitingCount)
	}
	c.byPartner[partner] = count
}
