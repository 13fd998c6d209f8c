package claims

import (
	"context"
	"fmt"
	"slices"

	"parapet/model/kernel/store"
)

// IsHeldByRetraction reports whether the claim's observations were retracted and no
// operator decided to pay despite that.
func (r *ClaimRow) IsHeldByRetraction() bool {
	return r.Retraction != nil && *r.Retraction == RetractionHeld
}

// IsUndecided reports whether the claim waits for a decision.
func (r *ClaimRow) IsUndecided() bool { return r.Status == ClaimOpened || r.Status == ClaimDeferred }

// IsRetracted reports whether the claim was declined because its observations were
// retracted. It does not block its occurrence: if the observations return, they are
// adjudicated again, as another claim.
func (r *ClaimRow) IsRetracted() bool {
	return r.Status == ClaimDeclined && slices.Equal(r.ReasonCodes, []string{string(ReasonSourceRetracted)})
}

// SaveRetraction saves the retraction state and the timeline position of a locked
// claim. No public member changes.
func SaveRetraction(ctx context.Context, tx *store.Tx, row *ClaimRow, state *RetractionState) error {
	row.Retraction = state
	_, err := tx.NewUpdate().Model(row).Column("retraction", "timeline_sequence", "timeline_updated_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("save retraction: %w", err)
	}
	return nil
}

// RetractionState is the effect of a retraction on an approved claim.
type RetractionState string

// Retraction states. A claim without one has no retracted observations.
const (
	// RetractionHeld blocks the unreleased payouts as compliance_hold.
	RetractionHeld RetractionState = "held"
	// RetractionLifted means that an operator released them despite the retraction.
	RetractionLifted RetractionState = "lifted"
)
