package occurrence

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/hazard/summary"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Watch is how many covers of a partner preliminary readings of an occurrence put within
// reach.
type Watch struct {
	OccurrenceID uuid.UUID `bun:"type:uuid"`
	Partner      string
	Covers       int64
}

// Announce records the event occurrence.watch for the partner.
func (w *Watch) Announce(ctx context.Context, tx *store.Tx, row *OccurrenceRow) error {
	record := row.ToRecord()
	if err := summary.Add(ctx, tx, map[string]*wire.Occurrence{record.ID: record}); err != nil {
		return err
	}
	subject := store.RowHeader{ID: row.ID, Partner: w.Partner, Version: row.Version}
	_, err := tx.AppendEventData(event.OccurrenceWatch, &subject, store.ResourceOccurrence, wire.OccurrenceWatch{Object: record, Covers: w.Covers})
	return err
}
