package progress

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// MaxChanged is the most occurrences that ChangedSince returns.
const MaxChanged = 1000

// Now returns the business time of the database.
func (s *Service) Now(ctx context.Context) (now time.Time, err error) {
	err = s.DB.NewRaw("select "+store.BusinessNowSQL).Scan(ctx, &now)
	return now, store.TranslateError(err)
}

// ChangedSince returns the ids of the occurrences that changed at a business time or
// later, or that contain one of the readings with the given ids; at most MaxChanged, those
// that changed last. It reads all occurrences. System and operators only.
func (s *Service) ChangedSince(ctx context.Context, caller actor.Actor, since time.Time, readings []string) ([]string, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []row
	err := s.DB.NewRaw(`select id from occurrences oc where merged_into is null and (updated_at >= ?0 or id in (select occurrence_id from observations where id = any(?1))
		or exists (select from observations o where o.id = any(?1) and `+occurrence.HoldsDaySQL+`)) order by updated_at desc, id limit ?2`,
		since, pgdialect.Array(store.ResourceObservation.ParseIDs(readings)), MaxChanged).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("find changed occurrences: %w", err))
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = store.ResourceOccurrence.FormatID(rows[i].ID)
	}
	return ids, nil
}
