package events

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// checkpointInterval limits how many events can be removed from the end of a feed without
// detection: every older event is covered by a signed checkpoint.
const checkpointInterval = 5 * time.Minute

// CheckpointRow is a signed statement of the last sequence and hash of a partner's
// history at a time.
type CheckpointRow struct {
	bun.BaseModel `bun:"table:event_checkpoints"`

	Partner   string `bun:",pk"`
	Sequence  int64  `bun:",pk"`
	Hash      []byte
	SignedAt  time.Time
	Signature []byte
}

// CheckpointPublicKey is the public half of the Ed25519 key that signs checkpoints. It is
// derived (HKDF, RFC 5869) from the fingerprint key, the one key that never rotates.
func (s *Service) CheckpointPublicKey() (ed25519.PublicKey, error) {
	key, err := CheckpointPrivateKey(s.Store)
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil //nolint:forcetypeassert // ed25519 returns this type
}

// CheckpointPrivateKey returns the key that signs checkpoints. It is derived from the fingerprint key (HKDF,
// RFC 5869).
func CheckpointPrivateKey(s *store.Store) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, s.Keys.Fingerprint, nil, "parapet event checkpoints", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive checkpoint key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// VerifyCheckpointKey returns an error if the key of s signed neither the newest nor the
// oldest checkpoint; nil without one. After a server ran with a wrong key, the right one
// verifies the oldest.
func VerifyCheckpointKey(ctx context.Context, s *store.Store) error {
	key, err := CheckpointPrivateKey(s)
	if err != nil {
		return err
	}
	var newest *CheckpointRow
	for _, order := range []string{"signed_at desc", "signed_at"} {
		row := new(CheckpointRow)
		err := s.DB.NewSelect().Model(row).OrderExpr(order).Limit(1).Scan(ctx)
		switch {
		case store.IsNoRows(err):
			return nil
		case err != nil:
			return store.TranslateError(fmt.Errorf("read checkpoint: %w", err))
		case ed25519.Verify(key.Public().(ed25519.PublicKey), row.SignedText(), row.Signature): //nolint:forcetypeassert // ed25519 returns this type
			return nil
		}
		newest = cmp.Or(newest, row)
	}
	return fmt.Errorf("the fingerprint key is not the one that signed the newest checkpoint of events, of partner %s on %s", newest.Partner, wire.FormatTime(newest.SignedAt))
}

// SignedText returns the text that is signed: four lines, the first names the purpose.
func (r *CheckpointRow) SignedText() []byte {
	return fmt.Appendf(nil, "parapet checkpoint\n%s\n%d\n%s\n%s", r.Partner, r.Sequence, hex.EncodeToString(r.Hash), wire.FormatTime(r.SignedAt))
}

// SignCheckpoints signs the end of every history that has new events and whose last
// checkpoint is older than checkpointInterval.
func SignCheckpoints(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*CheckpointRow
	err := tx.NewRaw(`select p.slug as partner, n.sequence, n.hash from partners p
		cross join lateral `+LastSequenceSQL("sequence, hash", "p.slug")+` n
		left join lateral (select sequence, signed_at from event_checkpoints where partner = p.slug order by sequence desc limit 1) c on true
		where c.sequence is null or n.sequence > c.sequence and c.signed_at <= ? limit ?`, tx.Now.Add(-checkpointInterval), store.SweepBatchSize).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	key, err := CheckpointPrivateKey(tx.Store)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		row.SignedAt = tx.Now.Truncate(time.Microsecond)
		row.Signature = ed25519.Sign(key, row.SignedText())
	}
	// Another process may have signed the same end at the same time.
	if _, err := tx.NewInsert().Model(&rows).On("conflict do nothing").Exec(ctx); err != nil {
		return 0, fmt.Errorf("insert checkpoints: %w", err)
	}
	return len(rows), nil
}
