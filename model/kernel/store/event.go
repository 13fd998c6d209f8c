package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/wire"
)

// EventRow is an event. Data has the exact bytes that are sent, and is stored compressed.
// The relay adds the event's sequence and hash later.
type EventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	ID             uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Type           event.Type
	SubjectType    string
	SubjectID      uuid.UUID `bun:"type:uuid"`
	SubjectVersion int64
	OccurredAt     time.Time
	Data           compress.JSON
	DataHash       []byte // SHA-256 of Data; nil for an event of an older release
	stored         []byte // Data compressed; Data may be empty if every release reads it
}

// AppendEvent records an event about a row with its record. Cause comes before effect.
func (tx *Tx) AppendEvent(kind event.Type, subject *RowHeader, object ResourceType, public any) (id uuid.UUID, err error) {
	err = wire.EncodeObject(public, func(data []byte) (err error) {
		id, err = tx.AppendEventData(kind, subject, object, data)
		return err
	})
	return id, err
}

// AppendEventData is AppendEvent with all members of data, encoded; one of them is object.
// Frames of compress that have the text of data are optional. It keeps neither.
func (tx *Tx) AppendEventData(kind event.Type, subject *RowHeader, object ResourceType, data []byte, frames ...[]byte) (uuid.UUID, error) {
	if err := kind.CheckSubject(object.Name); err != nil {
		return uuid.Nil, err
	}
	hash := sha256.Sum256(data)
	stored := slices.Concat(frames...)
	if len(stored) == 0 {
		stored = compress.Compress(data)
	}
	event := EventRow{
		ID: NewID(), Partner: subject.Partner, Type: kind,
		SubjectType: object.Name, SubjectID: subject.ID, SubjectVersion: subject.Version, OccurredAt: tx.Now,
		DataHash: hash[:], stored: stored,
	}
	if Local[oldestRelease](tx.Store).migration.Load() < compressionMigration { // or not read yet
		event.Data = bytes.Clone(data)
	}
	tx.events = append(tx.events, event)
	return event.ID, nil
}

// ReserveEvents makes room for n more events, so that a large transaction copies none.
func (tx *Tx) ReserveEvents(n int) { tx.events = slices.Grow(tx.events, n) }

// saveEvents queues the insert of all events and of their places in the order of
// numbering, which is the order in which they were recorded.
func (tx *Tx) saveEvents(ctx context.Context) error {
	compressed, err := AllReleasesKnow(ctx, tx, compressionMigration)
	if err != nil {
		return err
	}
	n := len(tx.events)
	rows, ids, partners := make([]*EventRow, n), make([]uuid.UUID, n), make([]string, n)
	for i := range tx.events {
		rows[i], ids[i], partners[i] = &tx.events[i], tx.events[i].ID, tx.events[i].Partner
		if compressed {
			rows[i].Data = rows[i].stored
		}
	}
	if err := tx.QueueInsertRows(rows); err != nil {
		return err
	}
	tx.Batch.Queue(`insert into event_outbox (partner, event_id)
		select partner, id from unnest($1::uuid[], $2::text[]) with ordinality as e (id, partner, place) order by place`, ids, partners)
	return nil
}

// compressionMigration is the number of the migration since which every release reads
// events and responses in these frames. An older one, which may run on the database during an
// upgrade, would send the compressed bytes.
const compressionMigration = 47

// oldestRelease is the number of the newest migration that all releases know that may run
// on the database. It is read once per process; 0: not yet.
type oldestRelease struct{ migration atomic.Int64 }

// AllReleasesKnow reports whether every release that may run on the database knows a
// migration, so that rows may be written as it allows.
func AllReleasesKnow(ctx context.Context, tx *Tx, migration int64) (bool, error) {
	known := Local[oldestRelease](tx.Store)
	if known.migration.Load() == 0 {
		oldest, err := ReadOldestRelease(ctx, tx)
		if err != nil {
			return false, err
		}
		known.migration.CompareAndSwap(0, oldest) // it never changes, also while an operator raises the minimum
	}
	return known.migration.Load() >= migration, nil
}

// ReadOldestRelease returns the number of the newest migration that all releases know that
// may run on the database now.
func ReadOldestRelease(ctx context.Context, tx *Tx) (migration int64, err error) {
	if err := tx.PgxConn.QueryRow(ctx, "select minimum_binary from schema_compatibility").Scan(&migration); err != nil {
		return 0, fmt.Errorf("read the oldest release of the database: %w", err)
	}
	return migration, nil
}
