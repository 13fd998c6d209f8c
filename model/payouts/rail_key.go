package payouts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// IdempotencyKey returns the rail's idempotency key of the payout: <policy id>.<debt
// digest>.<n>. It identifies the debt and not the row, so that a restored database pays
// the same debt under the same key and the rail refuses a second transfer. n increases
// only after a definite refusal, a confirmed return, or an operator's evidence that nothing
// was paid.
func IdempotencyKey(r *claims.PayoutRow) string {
	return fmt.Sprintf("%s.%s.%d", store.ResourcePolicy.FormatID(r.PolicyID), r.DebtDigest, r.IdempotencySeq)
}

// DebtDigest identifies one part of a claim's debt: 16 hexadecimal characters of a
// SHA-256 over partner, policy, part and the occurrence's natural identity, or the
// claim's id if it has no occurrence.
func DebtDigest(claim *claims.ClaimRow, part int) string {
	identity := store.ResourceClaim.FormatID(claim.ID)
	if claim.OccurrenceKey != nil {
		identity = *claim.OccurrenceKey
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%s", claim.Partner, store.ResourcePolicy.FormatID(claim.PolicyID), part, identity))
	return hex.EncodeToString(digest[:8])
}

// NaturalKey returns the identity of an occurrence that is the same in every database.
// Scopes and sources contain neither colon nor slash.
func NaturalKey(r *occurrence.OccurrenceRow) string {
	key := r.Source + "/" + string(r.Kind) + "/" + r.SourceEventID
	if _, definition, ok := r.StationAndDefinition(); ok {
		key += "/" + definition.String()
	}
	if r.Scope != "" {
		key = r.Scope + ":" + key
	}
	return key
}

// RailKey is a parsed key.
type RailKey struct {
	policy uuid.UUID
	Digest string
	Number int
}

// ParseRailKey parses the idempotency key of an order; ok is false for any other text.
func ParseRailKey(text string) (key RailKey, ok bool) {
	parts := strings.Split(text, ".")
	number, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil || number < 1 || len(parts) != 3 {
		return RailKey{}, false
	}
	policy, err := store.ResourcePolicy.ParseID(parts[0])
	return RailKey{policy: policy, Digest: parts[1], Number: number}, err == nil
}

// shortKey is the part of a key that fits into a bank's file: the policy and the start
// of the key's SHA-256.
type shortKey struct {
	policy uuid.UUID
	digest string // 8 hexadecimal characters
}

func parseShortKey(text string) (key shortKey, ok bool) {
	policy, digest, _ := strings.Cut(text, ".")
	id, err := store.ResourcePolicy.ParseID(policy)
	raw, malformed := hex.DecodeString(digest)
	return shortKey{id, digest}, err == nil && malformed == nil && len(raw) == shortDigestSize
}

// shortDigestSize is the number of bytes of a key's SHA-256 in a short key.
const shortDigestSize = 4

// maxLostKeys bounds how far a reported key number may exceed the payout's current one:
// keys after it may have been used before the database was restored.
const maxLostKeys = 8

// expandShortKey returns the key of the payout's debt that matches a short key; empty
// if none matches.
func expandShortKey(r *claims.PayoutRow, short shortKey) string {
	if r.PolicyID != short.policy {
		return ""
	}
	for n := range r.IdempotencySeq + maxLostKeys {
		key := fmt.Sprintf("%s.%s.%d", store.ResourcePolicy.FormatID(r.PolicyID), r.DebtDigest, n+1)
		if digest := sha256.Sum256([]byte(key)); hex.EncodeToString(digest[:shortDigestSize]) == short.digest {
			return key
		}
	}
	return ""
}

// ExpandShortKeys replaces short keys by whole keys if their debts are known.
func ExpandShortKeys(ctx context.Context, db bun.IDB, texts []string) error {
	short := map[int]shortKey{}
	var policies []uuid.UUID
	for i, text := range texts {
		if key, ok := parseShortKey(text); ok {
			short[i], policies = key, append(policies, key.policy)
		}
	}
	if len(short) == 0 {
		return nil
	}
	var rows []claims.PayoutRow
	err := db.NewSelect().Model(&rows).Column("policy_id", "debt_digest", "idempotency_seq").Where("po.policy_id in (?)", bun.List(policies)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("find payouts by short keys: %w", err)
	}
	for i, key := range short {
		for _, row := range rows {
			texts[i] = cmp.Or(expandShortKey(&row, key), texts[i])
		}
	}
	return nil
}

// FindPayoutsByKeys finds the payout that each key belongs to, sent or not.
// Replacements continue n, so a key belongs to the payout of its debt with the lowest
// key number that is at least n; a number above all belongs to the newest payout. Keys
// of unknown debts are missing from the result.
func FindPayoutsByKeys(ctx context.Context, db bun.IDB, texts []string) (map[string]uuid.UUID, error) {
	keys := make(map[string]RailKey, len(texts))
	var policies []uuid.UUID
	for _, text := range texts {
		if key, ok := ParseRailKey(text); ok {
			keys[text] = key
			policies = append(policies, key.policy)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var rows []claims.PayoutRow
	err := db.NewSelect().Model(&rows).Column("id", "policy_id", "debt_digest", "idempotency_seq").Where("po.policy_id in (?)", bun.List(policies)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("find payouts by rail keys: %w", err)
	}
	slices.SortFunc(rows, func(a, b claims.PayoutRow) int { return cmp.Compare(a.IdempotencySeq, b.IdempotencySeq) })
	found := make(map[string]uuid.UUID, len(keys))
	for text, key := range keys {
		for i := range rows {
			if HasKey(&rows[i], key) {
				found[text] = rows[i].ID
				if rows[i].IdempotencySeq >= key.Number {
					break
				}
			}
		}
	}
	return found, nil
}

// HasKey reports whether a key identifies the payout's debt.
func HasKey(r *claims.PayoutRow, key RailKey) bool {
	return r.PolicyID == key.policy && r.DebtDigest == key.Digest
}
