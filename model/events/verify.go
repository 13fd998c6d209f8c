package events

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/readcharge"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/wire"
)

const (
	verifyBatchSize = 5000
	maxChainFaults  = 100
)

// chainedEvent is a stored event with the sequence and hashes of its sequence row.
type chainedEvent struct {
	Sequence   int64
	Hash       []byte
	EventID    uuid.UUID `bun:"type:uuid"`
	Type       *event.Type
	OccurredAt *time.Time
	Data       []byte // as it is stored
	// For a redacted event: the former hash, the hash after redaction, and our
	// signature of both.
	WasHash, RedactedHash, Signature []byte
}

// chainVerifier verifies one partner's history.
type chainVerifier struct {
	*wire.HistoryProof

	publicKey        ed25519.PublicKey
	checkpointHashes map[int64][]byte // by sequence of the checkpoint
	previousHash     []byte
}

func (p *chainVerifier) addFault(sequence int64, kind, format string, args ...any) {
	p.Intact = false
	if len(p.Faults) < maxChainFaults {
		p.Faults = append(p.Faults, wire.HistoryFault{Sequence: sequence, Kind: kind, Detail: fmt.Sprintf(format, args...)})
	}
}

// VerifyChain recomputes the chain of a partner's events from the stored data and
// compares it with every signed checkpoint, including those in the file store. It
// detects events that were edited, deleted, inserted or moved, and a truncated end. It
// reads in batches and locks nothing. Errors: insufficient_scope, parameter_invalid,
// not_found when there is no such partner.
func (s *Service) VerifyChain(ctx context.Context, caller actor.Actor, partner string) (*wire.HistoryProof, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
		return nil, err
	}
	f := Filter{Partner: partner}
	if _, err := f.validate(caller); err != nil {
		return nil, err
	}
	// The history of an unknown partner would verify too, which would hide a misspelt
	// name.
	if err := partners.LoadPartner(ctx, s.DB.NewSelect().Model(new(partners.PartnerRow)), f.Partner); err != nil {
		return nil, store.TranslateError(err)
	}
	public, err := s.CheckpointPublicKey()
	if err != nil {
		return nil, err
	}
	p := &chainVerifier{
		publicKey:        public,
		HistoryProof:     &wire.HistoryProof{Partner: f.Partner, PublicKey: base64.StdEncoding.EncodeToString(public), Intact: true, Faults: []wire.HistoryFault{}, Lost: []wire.HistoryLost{}},
		checkpointHashes: make(map[int64][]byte), previousHash: make([]byte, sha256.Size),
	}
	// Checkpoints are read first: events may be numbered while the chain is read, but
	// every event in a checkpoint must exist.
	var checkpoints []CheckpointRow
	err = s.DB.NewSelect().Model(&checkpoints).Where("partner = ?", f.Partner).OrderExpr("sequence").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read checkpoints: %w", err))
	}
	if checkpoints, err = addSavedCheckpoints(ctx, s.Store, p, checkpoints); err != nil {
		return nil, store.TranslateError(err)
	}
	for _, row := range checkpoints {
		p.checkpointHashes[row.Sequence] = nil
	}
	if err := s.verifyEvents(ctx, p); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read history: %w", err))
	}
	if err := s.findUnsequenced(ctx, p); err != nil {
		return nil, store.TranslateError(fmt.Errorf("look for events without a number: %w", err))
	}
	p.verifyCheckpoints(checkpoints)
	return p.HistoryProof, nil
}

func (s *Service) verifyEvents(ctx context.Context, p *chainVerifier) error {
	ctx = readcharge.With(ctx, nil) // no row outlives its batch
	for {
		var rows []chainedEvent
		err := s.QueryPreparedRows(ctx, s.Pool, &rows, `select n.sequence, n.hash, n.event_id, e.type, e.occurred_at, e.data,
				x.data_hash as was_hash, x.redacted_hash, x.signature
			from event_sequence n left join events e on e.id = n.event_id and e.partner = n.partner
				left join event_redactions x on x.event_id = n.event_id and x.partner = n.partner
			where n.partner = $1 and n.sequence > $2 order by n.sequence limit $3`, p.Partner, p.Last, verifyBatchSize)
		if err != nil {
			return err
		}
		for i := range rows {
			p.verifyEvent(&rows[i])
		}
		if len(rows) < verifyBatchSize {
			p.Hash = hex.EncodeToString(p.previousHash)
			return nil
		}
	}
}

// verifyEvent verifies the next link. After a fault it continues with the values the
// link states, so that each fault is reported once.
func (p *chainVerifier) verifyEvent(e *chainedEvent) {
	if e.Sequence != p.Last+1 {
		p.addFault(p.Last+1, "missing", "Sequences %d to %d are missing.", p.Last+1, e.Sequence-1)
	}
	data, err := compress.Decompress(e.Data)
	if err != nil {
		data = e.Data // the hash of damaged data differs
	}
	sum := sha256.Sum256(data)
	dataHash := sum[:]
	if e.Signature != nil {
		dataHash = p.originalDataHash(e, dataHash)
	}
	switch {
	case e.Type == nil:
		p.addFault(e.Sequence, "missing", "The event %s has a number but is missing.", store.ResourceEvent.FormatID(e.EventID))
	case !bytes.Equal(e.Hash, ChainHash(p.previousHash, e.Sequence, store.ResourceEvent.FormatID(e.EventID), *e.Type, *e.OccurredAt, dataHash)):
		p.addFault(e.Sequence, "changed", "The event %s, its position or the hash before it differs from the chain.", store.ResourceEvent.FormatID(e.EventID))
	}
	p.Events++
	p.Last, p.previousHash = e.Sequence, e.Hash
	if _, asked := p.checkpointHashes[e.Sequence]; asked {
		p.checkpointHashes[e.Sequence] = e.Hash
	}
}

// originalDataHash returns the hash of an event's data before personal data was
// redacted, if the redacted data matches our signature; otherwise the hash of the
// stored data.
func (p *chainVerifier) originalDataHash(e *chainedEvent, stored []byte) []byte {
	mark := RedactionRow{EventID: e.EventID, Partner: p.Partner, DataHash: e.WasHash, RedactedHash: e.RedactedHash}
	if !bytes.Equal(stored, e.RedactedHash) || !ed25519.Verify(p.publicKey, mark.SignedText(), e.Signature) {
		return stored
	}
	p.Redacted++
	return e.WasHash
}

// findUnsequenced finds events that have no sequence number and are not in the outbox.
func (s *Service) findUnsequenced(ctx context.Context, p *chainVerifier) error {
	var lost []uuid.UUID
	err := s.DB.NewRaw(`select e.id from events e where e.partner = ?
		and not exists (select from event_sequence n where n.event_id = e.id and n.partner = e.partner)
		and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner) order by e.id limit ?`,
		p.Partner, maxChainFaults).Scan(ctx, &lost)
	for _, id := range lost {
		p.addFault(p.Last, "unnumbered", "The event %s has lost its number.", store.ResourceEvent.FormatID(id))
	}
	return err
}

func (p *chainVerifier) verifyCheckpoints(checkpoints []CheckpointRow) {
	for i := range checkpoints {
		row := &checkpoints[i]
		hash := p.checkpointHashes[row.Sequence]
		switch {
		case !ed25519.Verify(p.publicKey, row.SignedText(), row.Signature):
			p.addFault(row.Sequence, "checkpoint", "The checkpoint's signature is not ours.")
		case row.Sequence > p.Last:
			p.addFault(row.Sequence, "cut", "The history ended at %d or later on %s; now it ends at %d.", row.Sequence, wire.FormatTime(row.SignedAt), p.Last)
		case !bytes.Equal(hash, row.Hash):
			p.addFault(row.Sequence, "changed", "The history up to here is not the one that was signed on %s.", wire.FormatTime(row.SignedAt))
		}
		p.Checkpoints++
		p.SignedAt = &row.SignedAt
	}
}
