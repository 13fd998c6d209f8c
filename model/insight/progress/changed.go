package progress

import (
	"context"
	"fmt"
	"time"

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
// later, at most MaxChanged of the oldest. It reads all occurrences. System and operators
// only.
func (s *Service) ChangedSince(ctx context.Context, caller actor.Actor, since time.Time) ([]string, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []row
	err := s.DB.NewRaw("select id from occurrences where updated_at >= ? and merged_into is null order by updated_at, id limit ?", since, MaxChanged).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("find changed occurrences: %w", err))
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = store.ResourceOccurrence.FormatID(rows[i].ID)
	}
	return ids, nil
}
