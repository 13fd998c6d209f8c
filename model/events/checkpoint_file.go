package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// savedCheckpoint is the last checkpoint of one generation of a partner's feed, in the
// file store. A database restored from a backup loses its checkpoints together with its
// events.
type savedCheckpoint struct {
	Partner    string    `json:"partner"`
	Generation int       `json:"generation"`
	Sequence   int64     `json:"sequence"`
	Hash       []byte    `json:"hash"`
	SignedAt   time.Time `json:"signed_at"`
	Signature  []byte    `json:"signature"`
}

func checkpointFileKey(lineage uuid.UUID, partner string, generation int) string {
	return fmt.Sprintf("checkpoints/%s/%s-%d.json", lineage, partner, generation)
}

// SaveCheckpoints copies the newest checkpoint of each partner that was signed since the
// last call to the file store. Checkpoints with the same signing time are read together,
// because the next call starts after that time.
func SaveCheckpoints(ctx context.Context, s *store.Store, lineage uuid.UUID) error {
	var rows []struct {
		CheckpointRow `bun:",extend"`

		Generation int
	}
	err := s.DB.NewRaw(`select distinct on (c.partner) c.partner, c.sequence, c.hash, c.signed_at, c.signature,
			coalesce((select max(generation) from feed_generations g where g.partner = c.partner), 1) as generation
		from (select * from event_checkpoints where signed_at > (select checkpoints_saved_at from database_identity) order by signed_at fetch first ? rows with ties) c
		order by c.partner, c.sequence desc`, store.SweepBatchSize).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	var last time.Time
	for _, row := range rows {
		text, err := json.Marshal(savedCheckpoint{row.Partner, row.Generation, row.Sequence, row.Hash, row.SignedAt, row.Signature})
		if err == nil {
			err = s.Files.Put(ctx, checkpointFileKey(lineage, row.Partner, row.Generation), bytes.NewReader(text))
		}
		if err != nil {
			return fmt.Errorf("keep a checkpoint in the file store: %w", err)
		}
		last = store.LaterTime(last, row.SignedAt)
	}
	_, err = s.DB.NewRaw("update database_identity set checkpoints_saved_at = greatest(checkpoints_saved_at, ?)", last).Exec(ctx)
	return err
}

// addSavedCheckpoints adds the checkpoints of a partner's history from the file store. A
// checkpoint lost in a restore is reported as lost and is not a fault, because an
// operator confirmed the restore.
func addSavedCheckpoints(ctx context.Context, s *store.Store, p *chainVerifier, rows []CheckpointRow) ([]CheckpointRow, error) {
	if s.Files == nil {
		return rows, nil
	}
	var lineage uuid.UUID
	if err := s.DB.NewRaw("select lineage from database_identity").Scan(ctx, &lineage); err != nil {
		return nil, err
	}
	generations, err := loadGenerations(ctx, s, p.Partner)
	if err != nil {
		return nil, err
	}
	for generation := 1; generation <= generations.currentGeneration(); generation++ {
		saved, err := loadSavedCheckpoint(ctx, s, checkpointFileKey(lineage, p.Partner, generation))
		if err != nil {
			return nil, err
		}
		if saved == nil || slices.ContainsFunc(rows, func(row CheckpointRow) bool {
			return row.Sequence == saved.Sequence && bytes.Equal(row.Signature, saved.Signature)
		}) {
			continue
		}
		if generations.checkSequence(generation, saved.Sequence) != nil {
			p.Lost = append(p.Lost, wire.HistoryLost{Generation: generation, Sequence: saved.Sequence, SignedAt: saved.SignedAt})
			continue
		}
		rows = append(rows, CheckpointRow{Partner: p.Partner, Sequence: saved.Sequence, Hash: saved.Hash, SignedAt: saved.SignedAt, Signature: saved.Signature})
	}
	return rows, nil
}

func loadSavedCheckpoint(ctx context.Context, s *store.Store, key string) (*savedCheckpoint, error) {
	object, err := s.Files.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is signed yet
	}
	if err != nil {
		return nil, fmt.Errorf("read a checkpoint from the file store: %w", err)
	}
	defer func() { _ = object.Close() }()
	text, err := io.ReadAll(object)
	saved := new(savedCheckpoint)
	if err == nil {
		err = json.Unmarshal(text, saved)
	}
	if err != nil {
		return nil, fmt.Errorf("read a checkpoint from the file store: %w", err)
	}
	return saved, nil
}
