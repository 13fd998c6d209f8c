package model

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

	"parapet/model/wire"
)

const (
	proofBatch  = 5000
	proofFaults = 100
)

// provedEvent is an event as it is kept, with what its number row claims.
type provedEvent struct {
	Sequence   int64
	Hash       []byte
	EventID    uuid.UUID `bun:"type:uuid"`
	Type       *EventType
	OccurredAt *time.Time
	DataHash   []byte
	// Of what was redacted: what it was, what it is to be now, and that it was us.
	WasHash, RedactedHash, Signature []byte
}

// proof walks one partner's history.
type proof struct {
	*wire.HistoryProof

	public ed25519.PublicKey
	hashes map[int64][]byte // at the checkpoints
	before []byte
}

func (p *proof) fault(sequence int64, kind, format string, args ...any) {
	p.Intact = false
	if len(p.Faults) < proofFaults {
		p.Faults = append(p.Faults, wire.HistoryFault{Sequence: sequence, Kind: kind, Detail: fmt.Sprintf(format, args...)})
	}
}

// ProveHistory recomputes the chain of a partner's events from what is stored and
// compares it with every signed checkpoint, also with those in the file store: it finds an event that was edited,
// deleted, inserted or moved, and an end that was cut off. It reads in batches and
// locks nothing. Errors: insufficient_scope, parameter_invalid, not_found when there
// is no such partner.
func (s *Service) ProveHistory(ctx context.Context, actor Actor, partner string) (*wire.HistoryProof, error) {
	if err := s.authorize(ctx, actor, ScopeEventsRead); err != nil {
		return nil, err
	}
	f := EventFilter{Partner: partner}
	if _, err := f.check(actor); err != nil {
		return nil, err
	}
	// Nobody's history is whole as well, which would hide a misspelt name.
	if err := partnerBySlug(ctx, s.db.NewSelect().Model(new(partnerRow)), f.Partner); err != nil {
		return nil, explain(err)
	}
	public, err := s.CheckpointKey()
	if err != nil {
		return nil, err
	}
	p := &proof{
		public:       public,
		HistoryProof: &wire.HistoryProof{Partner: f.Partner, PublicKey: base64.StdEncoding.EncodeToString(public), Intact: true, Faults: []wire.HistoryFault{}, Lost: []wire.HistoryLost{}},
		hashes:       make(map[int64][]byte), before: make([]byte, sha256.Size),
	}
	// The checkpoints first: events may be numbered while the chain is read, but none
	// that a checkpoint speaks of may be missing.
	var checkpoints []checkpointRow
	err = s.db.NewSelect().Model(&checkpoints).Where("partner = ?", f.Partner).OrderExpr("sequence").Scan(ctx)
	if err != nil {
		return nil, explain(fmt.Errorf("read checkpoints: %w", err))
	}
	if checkpoints, err = s.addSavedCheckpoints(ctx, p, checkpoints); err != nil {
		return nil, explain(err)
	}
	for _, row := range checkpoints {
		p.hashes[row.Sequence] = nil
	}
	if err := s.proveChain(ctx, p); err != nil {
		return nil, explain(fmt.Errorf("read history: %w", err))
	}
	if err := s.proveNumbered(ctx, p); err != nil {
		return nil, explain(fmt.Errorf("look for events without a number: %w", err))
	}
	p.proveCheckpoints(checkpoints)
	return p.HistoryProof, nil
}

func (s *Service) proveChain(ctx context.Context, p *proof) error {
	ctx = WithReadCharge(ctx, nil) // no row outlives its batch
	for {
		var rows []provedEvent
		err := s.preparedRows(ctx, s.pool, &rows, `select n.sequence, n.hash, n.event_id, e.type, e.occurred_at, sha256(e.data) as data_hash,
				x.data_hash as was_hash, x.redacted_hash, x.signature
			from event_numbers n left join events e on e.id = n.event_id and e.partner = n.partner
				left join event_redactions x on x.event_id = n.event_id and x.partner = n.partner
			where n.partner = $1 and n.sequence > $2 order by n.sequence limit $3`, p.Partner, p.Last, proofBatch)
		if err != nil {
			return err
		}
		for i := range rows {
			p.follow(&rows[i])
		}
		if len(rows) < proofBatch {
			p.Hash = hex.EncodeToString(p.before)
			return nil
		}
	}
}

// follow takes the next link. After a fault it goes on from what the link claims,
// so that each fault is found once.
func (p *proof) follow(e *provedEvent) {
	if e.Sequence != p.Last+1 {
		p.fault(p.Last+1, "missing", "Sequences %d to %d are missing.", p.Last+1, e.Sequence-1)
	}
	if e.Signature != nil {
		e.DataHash = p.redacted(e)
	}
	switch {
	case e.Type == nil:
		p.fault(e.Sequence, "missing", "The event %s has a number and is gone.", nounEvent.id(e.EventID))
	case !bytes.Equal(e.Hash, chained(p.before, e.Sequence, nounEvent.id(e.EventID), *e.Type, *e.OccurredAt, e.DataHash)):
		p.fault(e.Sequence, "changed", "The event %s, its place or the hash before it is not what was chained.", nounEvent.id(e.EventID))
	}
	p.Events++
	p.Last, p.before = e.Sequence, e.Hash
	if _, asked := p.hashes[e.Sequence]; asked {
		p.hashes[e.Sequence] = e.Hash
	}
}

// redacted is what an event's data was before personal data was taken out of it, if
// what is left is what we signed; otherwise it is what is there.
func (p *proof) redacted(e *provedEvent) []byte {
	mark := redaction{EventID: e.EventID, Partner: p.Partner, DataHash: e.WasHash, RedactedHash: e.RedactedHash}
	if !bytes.Equal(e.DataHash, e.RedactedHash) || !ed25519.Verify(p.public, mark.text(), e.Signature) {
		return e.DataHash
	}
	p.Redacted++
	return e.WasHash
}

// proveNumbered finds events that neither have a number nor wait for one.
func (s *Service) proveNumbered(ctx context.Context, p *proof) error {
	var lost []uuid.UUID
	err := s.db.NewRaw(`select e.id from events e where e.partner = ?
		and not exists (select from event_numbers n where n.event_id = e.id and n.partner = e.partner)
		and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner) order by e.id limit ?`,
		p.Partner, proofFaults).Scan(ctx, &lost)
	for _, id := range lost {
		p.fault(p.Last, "unnumbered", "The event %s has lost its number.", nounEvent.id(id))
	}
	return err
}

func (p *proof) proveCheckpoints(checkpoints []checkpointRow) {
	for i := range checkpoints {
		row := &checkpoints[i]
		hash := p.hashes[row.Sequence]
		switch {
		case !ed25519.Verify(p.public, row.text(), row.Signature):
			p.fault(row.Sequence, "checkpoint", "The checkpoint's signature is not ours.")
		case row.Sequence > p.Last:
			p.fault(row.Sequence, "cut", "The history ended at %d or later on %s; now it ends at %d.", row.Sequence, wire.Time(row.SignedAt), p.Last)
		case !bytes.Equal(hash, row.Hash):
			p.fault(row.Sequence, "changed", "The history up to here is not the one that was signed on %s.", wire.Time(row.SignedAt))
		}
		p.Checkpoints++
		p.SignedAt = &row.SignedAt
	}
}
