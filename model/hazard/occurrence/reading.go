package occurrence

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
)

// ReadingRow is one version of an occurrence's facts, as determinations were computed from
// it. It is stored once, under its digest, and never changes.
type ReadingRow struct {
	bun.BaseModel `bun:"table:occurrence_readings"`

	Digest       string         `bun:",pk"`
	OccurrenceID uuid.UUID      `bun:"type:uuid"`
	Facts        jsontext.Value `bun:"type:json"` // receipt.Facts in canonical JSON
	CreatedAt    time.Time
}

// Reading returns the version of the facts that ToFacts or LoadStationFacts returned. It
// is computed once: a slice of a storm decides hundreds of policies by the same facts.
func (r *OccurrenceRow) Reading(facts trigger.Occurrence) (*ReadingRow, error) {
	if r.reading != nil {
		return r.reading, nil
	}
	text, err := receipt.Canonical(receipt.NewFacts(facts, r.observed))
	if err != nil {
		return nil, fmt.Errorf("write reading: %w", err)
	}
	r.reading = &ReadingRow{Digest: receipt.Digest(text), OccurrenceID: r.ID, Facts: text}
	return r.reading, nil
}

// QueueReading queues the insert of the reading that determinations of this transaction
// refer to, if Reading was called and no earlier transaction stored it.
func (r *OccurrenceRow) QueueReading(tx *store.Tx) {
	if r.reading == nil {
		return
	}
	tx.Batch.Queue(`insert into occurrence_readings (digest, occurrence_id, facts, created_at) select $1::text, $2::uuid, $3::json, $4::timestamptz
		where not exists (select from occurrence_readings where digest = $1::text) on conflict do nothing`,
		r.reading.Digest, r.reading.OccurrenceID, []byte(r.reading.Facts), tx.Now)
}

// toVersion names a report of an observation.
func (r *ObservationRow) toVersion() receipt.ObservationVersion {
	return receipt.ObservationVersion{ID: store.ResourceObservation.FormatID(r.ID), Version: r.Version}
}

// versionsOf names the reports that the days of an occurrence come from.
func (d StationDays) versionsOf(o *trigger.StationOccurrence) []receipt.ObservationVersion {
	counted := make(map[time.Time]bool)
	for _, day := range slices.Concat(o.Days, o.After) {
		counted[day.Date] = true
	}
	var versions []receipt.ObservationVersion
	for i := range d {
		if counted[d[i].Day.UTC()] && !d[i].isRetracted() {
			versions = append(versions, d[i].toVersion())
		}
	}
	return versions
}
