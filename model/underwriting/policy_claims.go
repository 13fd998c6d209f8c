package underwriting

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// PolicyClaims are the claims shown in a policy's record.
type PolicyClaims struct {
	Newest []wire.ClaimBrief // oldest first
	count  int64
}

// AddNewest appends a newer claim, drops the oldest one above MaxEmbedded, and returns the
// sequence of the new one.
func (c *PolicyClaims) AddNewest(id uuid.UUID, status string) int64 {
	c.Newest = append(c.Newest, ToClaimBrief(id, status))
	c.Newest = c.Newest[max(0, len(c.Newest)-store.MaxEmbedded):]
	c.count++
	return c.count
}

// ToClaimBrief returns the v1 record of a claim inside a policy.
func ToClaimBrief(id uuid.UUID, status string) wire.ClaimBrief {
	return wire.ClaimBrief{ID: store.ResourceClaim.FormatID(id), Status: status}
}

// newestClaimsSQL selects the newest claims of the policy p, oldest first. The highest
// sequence is their count, so an index scan returns it regardless of the number of
// claims.
var newestClaimsSQL = fmt.Sprintf(`select array_agg(n.id order by n.policy_sequence) as claim_ids,
	array_agg(n.status order by n.policy_sequence) as claim_statuses, max(n.policy_sequence) as claims_count
	from (select c.id, c.status, c.policy_sequence from claims c where c.policy_id = p.id and c.partner = p.partner
		order by c.policy_sequence desc limit %d) as n`, store.MaxEmbedded)

// claimsCountSQL is the number of claims of the policy p.
const claimsCountSQL = `coalesce((select max(c.policy_sequence) from claims c where c.policy_id = p.id and c.partner = p.partner), 0) as claims_count`

// embeddedClaims are the columns of newestClaimsSQL.
type embeddedClaims struct {
	ClaimIDs      []uuid.UUID `bun:"claim_ids,array,scanonly"`
	ClaimStatuses []string    `bun:"claim_statuses,array,scanonly"`
	ClaimsCount   *int64      `bun:"claims_count,scanonly"`
}

func (r *embeddedClaims) toPolicyClaims() PolicyClaims {
	var claims PolicyClaims
	for i, id := range r.ClaimIDs {
		claims.Newest = append(claims.Newest, ToClaimBrief(id, r.ClaimStatuses[i]))
	}
	if r.ClaimsCount != nil {
		claims.count = *r.ClaimsCount
	}
	return claims
}

// LoadPolicyClaims loads the claims shown in the policies' records.
func LoadPolicyClaims(ctx context.Context, tx *store.Tx, policies []uuid.UUID) (map[uuid.UUID]PolicyClaims, error) {
	var rows []struct {
		ID uuid.UUID
		embeddedClaims
	}
	read := tx.NewSelect().TableExpr("policies as p").ColumnExpr("p.id, n.*").Join("cross join lateral (" + newestClaimsSQL + ") as n").Where("p.id = any ($1)")
	if err := tx.ScanRows(ctx, read, &rows, policies); err != nil {
		return nil, fmt.Errorf("list claims of policies: %w", err)
	}
	claims := make(map[uuid.UUID]PolicyClaims, len(rows))
	for i := range rows {
		claims[rows[i].ID] = rows[i].toPolicyClaims()
	}
	return claims, nil
}
