package occurrence

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// maxRecordSize is the largest record that is kept, in bytes. Those of all sources are
// below 2 KiB.
const maxRecordSize = 64 << 10

// recordRow is the source's record of one report of an observation.
type recordRow struct {
	bun.BaseModel `bun:"table:observation_records"`

	ObservationID uuid.UUID `bun:",pk,type:uuid"`
	Version       int64     `bun:",pk"`
	Record        []byte
	FileSHA256    []byte `bun:"file_sha256"`
	FetchedAt     time.Time
	Host          string
	Path          string
}

// saveRecords writes the records of the changed reports. Observations that were posted
// have none.
func (r *ingestion) saveRecords(ctx context.Context) error {
	var rows []recordRow
	for _, row := range r.changed {
		record := row.Body.Record
		if record == nil || record.File == nil || len(record.Text) > maxRecordSize {
			continue
		}
		rows = append(rows, recordRow{
			ObservationID: row.ID, Version: row.Version, Record: record.Text,
			FileSHA256: record.File.SHA256[:], FetchedAt: r.Now, Host: record.File.Host, Path: record.File.Path,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := r.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("write records of the source: %w", err)
	}
	return nil
}
