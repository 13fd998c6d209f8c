package store

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/event"
	"parapet/model/wire"
)

// EventRow is a stored event; data has the exact bytes that are sent. The relay adds its
// sequence and hash later.
type EventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	ID             uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Type           event.Type
	SubjectType    string
	SubjectID      uuid.UUID `bun:"type:uuid"`
	SubjectVersion int64
	OccurredAt     time.Time
	Data           []byte
}

// AppendEvent records an event about a row, with its public record as it is now. Callers
// record events in the order of cause and effect.
func (tx *Tx) AppendEvent(kind event.Type, subject *RowHeader, object ResourceType, public any) (uuid.UUID, error) {
	if err := kind.CheckSubject(object.Name); err != nil {
		return uuid.Nil, err
	}
	text, err := wire.Encode(public)
	if err != nil {
		return uuid.Nil, err
	}
	data := slices.Concat([]byte(`{"object":`), text, []byte(`}`))
	event := EventRow{
		ID: NewID(), Partner: subject.Partner, Type: kind,
		SubjectType: object.Name, SubjectID: subject.ID, SubjectVersion: subject.Version,
		OccurredAt: tx.Now, Data: data,
	}
	tx.events = append(tx.events, event)
	return event.ID, nil
}

// ReserveEvents makes room for events, so that a large transaction copies none.
func (tx *Tx) ReserveEvents(n int) { tx.events = make([]EventRow, 0, n) }

// saveEvents queues the insert of all events and of their places in the order of
// numbering, which is the order in which they were recorded.
func (tx *Tx) saveEvents() error {
	n := len(tx.events)
	rows, ids, partners := make([]*EventRow, n), make([]uuid.UUID, n), make([]string, n)
	for i := range tx.events {
		rows[i], ids[i], partners[i] = &tx.events[i], tx.events[i].ID, tx.events[i].Partner
	}
	if err := tx.QueueInsertRows(rows); err != nil {
		return err
	}
	tx.Batch.Queue(`insert into event_outbox (partner, event_id)
		select partner, id from unnest($1::uuid[], $2::text[]) with ordinality as e (id, partner, place) order by place`, ids, partners)
	return nil
}
