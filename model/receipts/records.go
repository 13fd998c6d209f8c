package receipts

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
)

// recordRow is a row of observation_records.
type recordRow struct {
	ObservationID uuid.UUID `bun:"type:uuid"`
	Version       int64
	Record        []byte
	FileSha256    []byte
	FetchedAt     time.Time
	Host, Path    string
	ReplayedFrom  *time.Time
}

const recordsQuery = `select r.*, (coalesce(now.body, before.body) ->> 'replayed_from')::timestamptz as replayed_from
	from unnest($1::uuid[], $2::bigint[]) as o (id, version)
		join observation_records r on r.observation_id = o.id and r.version = o.version
		left join observations now on now.id = o.id and now.version = o.version
		left join observation_revisions before on before.observation_id = o.id and before.version = o.version`

// loadRecords returns the records of feeds behind reports of observations, in their order.
// Reports that were posted have none.
func (s *Service) loadRecords(ctx context.Context, of []receipt.ObservationVersion) ([]receipt.SourceRecord, error) {
	ids, versions, place := make([]uuid.UUID, len(of)), make([]int64, len(of)), make(map[string]int, len(of))
	for i, o := range of {
		id, err := store.ResourceObservation.ParseID(o.ID)
		if err != nil {
			return nil, err
		}
		ids[i], versions[i], place[o.ID] = id, o.Version, i
	}
	var rows []recordRow
	if err := s.QueryPreparedRows(ctx, s.Pool, &rows, recordsQuery, ids, versions); err != nil {
		return nil, fmt.Errorf("read records of feeds: %w", err)
	}
	list := make([]receipt.SourceRecord, len(rows))
	for i, r := range rows {
		list[i] = receipt.SourceRecord{
			ObservationVersion: receipt.ObservationVersion{ID: store.ResourceObservation.FormatID(r.ObservationID), Version: r.Version},
			Record:             base64.StdEncoding.EncodeToString(r.Record), FileSHA256: hex.EncodeToString(r.FileSha256),
			FetchedAt: r.FetchedAt, Host: r.Host, Path: r.Path, ReplayedFrom: r.ReplayedFrom,
		}
	}
	slices.SortFunc(list, func(a, b receipt.SourceRecord) int { return place[a.ID] - place[b.ID] })
	return list, nil
}
