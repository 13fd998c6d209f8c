package modeltest

import (
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// FingerprintOf returns the fingerprint of a partner's account.
func FingerprintOf(keys seal.Keys, partner string, number account.Number) string {
	return keys.ComputeFingerprint(partner, number.Normalize().Canonical())
}

// SealAccount seals an account number for the payout method with the id.
func SealAccount(keys seal.Keys, partner string, id uuid.UUID, number account.Number) ([]byte, error) {
	plain, err := json.Marshal(number.Normalize())
	if err != nil {
		return nil, err
	}
	return keys.SealBytes(plain, seal.ColumnContext(partner, id, "payout_methods.sealed"))
}

// DebtDigest returns the digest in the rail's key for one installment of a claim.
func DebtDigest(partner string, policy, claim uuid.UUID, occurrence string, part int) string {
	row := &claims.ClaimRow{RowHeader: store.RowHeader{ID: claim, Partner: partner}, PolicyID: policy}
	if occurrence != "" {
		row.OccurrenceKey = &occurrence
	}
	return payouts.DebtDigest(row, part)
}
