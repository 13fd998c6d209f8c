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

// saveEvents writes all events and queues them for numbering in the order they were
// recorded, in one statement for any number of events.
func (tx *Tx) saveEvents() {
	n := len(tx.events)
	ids, subjects := make([]uuid.UUID, n), make([]uuid.UUID, n)
	partners, types, objects := make([]string, n), make([]string, n), make([]string, n)
	versions, times, data := make([]int64, n), make([]time.Time, n), make([][]byte, n)
	for i, e := range tx.events {
		ids[i], partners[i], types[i], objects[i] = e.ID, e.Partner, string(e.Type), e.SubjectType
		subjects[i], versions[i], times[i], data[i] = e.SubjectID, e.SubjectVersion, e.OccurredAt, e.Data
	}
	tx.Batch.Queue(`with kept as (
			insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
			select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::timestamptz[], $8::bytea[]))
		insert into event_outbox (partner, event_id)
		select partner, id from unnest($1::uuid[], $2::text[]) with ordinality as e (id, partner, place) order by place`,
		ids, partners, types, objects, subjects, versions, times, data)
}
