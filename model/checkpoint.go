package model

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// checkpointEvery is how much of a history's end could be cut off unnoticed.
const checkpointEvery = 5 * time.Minute

// checkpointRow says, signed, how far a partner's history went at a time.
type checkpointRow struct {
	bun.BaseModel `bun:"table:event_checkpoints"`

	Partner   string `bun:",pk"`
	Sequence  int64  `bun:",pk"`
	Hash      []byte
	SignedAt  time.Time
	Signature []byte
}

// CheckpointKey is the public half of the Ed25519 key that signs checkpoints. It is
// derived (HKDF, RFC 5869) from the fingerprint key, the one key that never rotates.
func (s *Service) CheckpointKey() (ed25519.PublicKey, error) {
	key, err := s.checkpointKey()
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil //nolint:forcetypeassert // what ed25519 makes
}

func (s *Service) checkpointKey() (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, s.keys.Fingerprint, nil, "parapet event checkpoints", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive checkpoint key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// text is what is signed: four lines, the first names the purpose.
func (r *checkpointRow) text() []byte {
	return fmt.Appendf(nil, "parapet checkpoint\n%s\n%d\n%s\n%s", r.Partner, r.Sequence, hex.EncodeToString(r.Hash), wire.Time(r.SignedAt))
}

// checkpoint signs the end of every history that grew and was not signed for a
// while.
func (u *unit) checkpoint(ctx context.Context) (int, error) {
	var rows []*checkpointRow
	err := u.NewRaw(`select p.slug as partner, n.sequence, n.hash from partners p
		cross join lateral `+lastNumber("sequence, hash", "p.slug")+` n
		left join lateral (select sequence, signed_at from event_checkpoints where partner = p.slug order by sequence desc limit 1) c on true
		where c.sequence is null or n.sequence > c.sequence and c.signed_at <= ? limit ?`, u.now.Add(-checkpointEvery), sweepSize).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	key, err := u.svc.checkpointKey()
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		row.SignedAt = u.now.Truncate(time.Microsecond)
		row.Signature = ed25519.Sign(key, row.text())
	}
	// Another process may have signed the same end at the same moment.
	if _, err := u.NewInsert().Model(&rows).On("conflict do nothing").Exec(ctx); err != nil {
		return 0, fmt.Errorf("insert checkpoints: %w", err)
	}
	return len(rows), nil
}
