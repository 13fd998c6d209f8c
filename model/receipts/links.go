package receipts

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
)

// linkRow is an event with its place in the chain.
type linkRow struct {
	ID           uuid.UUID `bun:"type:uuid"`
	Type         string
	OccurredAt   time.Time
	Sequence     *int64
	Hash         []byte
	DataHash     []byte
	PreviousHash []byte
}

// linksQuery reads events with their hashes. The hash of data is that of the data as it
// was sent first, also after a redaction.
const linksQuery = `select e.id, e.type, e.occurred_at, n.sequence, n.hash, before.hash as previous_hash,
		coalesce(x.data_hash, e.data_hash, sha256(e.data)) as data_hash
	from events e left join event_sequence n on n.event_id = e.id and n.partner = e.partner
		left join event_sequence before on before.partner = n.partner and before.sequence = n.sequence - 1
		left join event_redactions x on x.event_id = e.id and x.partner = e.partner
	where e.id in (?) and e.partner = ?`

// How long a receipt waits until the relay has numbered its events.
const (
	sequenceWait = 3 * time.Second
	sequencePoll = 50 * time.Millisecond
)

// loadLinks returns events by id, once all of them are numbered. Errors: unavailable.
func (s *Service) loadLinks(ctx context.Context, partner string, ids []uuid.UUID) (map[uuid.UUID]receipt.EventLink, error) {
	links := make(map[uuid.UUID]receipt.EventLink)
	if len(ids) == 0 {
		return links, nil
	}
	for tries := sequenceWait / sequencePoll; ; tries-- {
		var rows []linkRow
		if err := s.DB.NewRaw(linksQuery, bun.List(ids), partner).Scan(ctx, &rows); err != nil {
			return nil, store.TranslateError(fmt.Errorf("read events: %w", err))
		}
		for i := range rows {
			if rows[i].Sequence != nil {
				links[rows[i].ID] = rows[i].toLink()
			}
		}
		if len(links) == len(rows) {
			return links, nil
		}
		if tries <= 0 {
			return nil, apperr.Fail(apperr.CodeUnavailable, "The events of this record have no place in the feed yet, which takes a second: ask again.")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(sequencePoll):
		}
	}
}

func (r *linkRow) toLink() receipt.EventLink {
	previous := strings.Repeat("0", 64)
	if len(r.PreviousHash) > 0 {
		previous = hex.EncodeToString(r.PreviousHash)
	}
	return receipt.EventLink{
		ID: store.ResourceEvent.FormatID(r.ID), Type: r.Type, OccurredAt: r.OccurredAt, Sequence: *r.Sequence,
		PreviousHash: previous, DataHash: hex.EncodeToString(r.DataHash), Hash: hex.EncodeToString(r.Hash),
	}
}

func linksOf(links map[uuid.UUID]receipt.EventLink, ids []uuid.UUID) []receipt.EventLink {
	list := make([]receipt.EventLink, 0, len(ids))
	for _, id := range ids {
		if link, ok := links[id]; ok {
			list = append(list, link)
		}
	}
	return list
}
