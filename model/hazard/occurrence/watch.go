package occurrence

import (
	"context"
	"fmt"

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

// LoadRecord returns the record of the occurrence, which Announce needs.
func (w *Watch) LoadRecord(ctx context.Context, tx *store.Tx) (*wire.Occurrence, error) {
	row := new(OccurrenceRow)
	if err := tx.NewSelect().Model(row).Where("oc.id = ?", w.OccurrenceID).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read occurrence: %w", err)
	}
	record := row.ToRecord()
	return record, summary.Add(ctx, tx, map[string]*wire.Occurrence{record.ID: record})
}

// Announce records the event occurrence.watch for the partner.
func (w *Watch) Announce(tx *store.Tx, record *wire.Occurrence) error {
	data, err := wire.Encode(wire.OccurrenceWatch{Object: record, Covers: w.Covers})
	if err != nil {
		return err
	}
	subject := store.RowHeader{ID: w.OccurrenceID, Partner: w.Partner, Version: record.Version}
	_, err = tx.AppendEventData(event.OccurrenceWatch, &subject, store.ResourceOccurrence, data)
	return err
}
