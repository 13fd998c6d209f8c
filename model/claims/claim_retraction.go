package claims

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
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

// AppendRetraction adds to the timeline of a locked claim that a source retracted readings
// of an occurrence. left is what the occurrence owes without them; nil for a claim that was
// not approved.
func AppendRetraction(tx *store.Tx, row *ClaimRow, of *occurrence.OccurrenceRow, left *int64) error {
	defer tx.WithActor(actor.Actor{Kind: actor.KindSource, Name: of.Source})()
	data := map[string]any{"occurrence": of.ToBrief(*row.OccurredAt), "stage": trigger.Retracted, "source_version": of.SourceVersion}
	if left != nil {
		data["amount"] = row.ToMoney(left)
	}
	return AppendTimeline(tx, row, event.TimelineObserved, nil, fmt.Sprintf("%s retracted its report of %s.", of.Source, of.SourceEventID), data)
}

// LoadRetractedAmounts returns, by claim, what was left after the newest retraction, in
// minor units: for each of the claims that has retracted observations, from its timeline,
// where no other observation follows a retraction.
func LoadRetractedAmounts(ctx context.Context, tx *store.Tx, rows []*ClaimRow) (map[uuid.UUID]int64, error) {
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Retraction != nil {
			ids = append(ids, row.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var entries []struct {
		ClaimID uuid.UUID
		Amount  int64
	}
	err := tx.NewSelect().Model((*timelineRow)(nil)).DistinctOn("tl.claim_id").ColumnExpr("tl.claim_id, coalesce((tl.data->'amount'->>'amount')::bigint, 0) as amount").
		Where("tl.claim_id in (?)", bun.List(ids)).Where("tl.kind = ?", event.TimelineObserved).
		OrderExpr("tl.claim_id, tl.sequence desc").Scan(ctx, &entries)
	if err != nil {
		return nil, fmt.Errorf("read retractions: %w", err)
	}
	amounts := make(map[uuid.UUID]int64, len(entries))
	for _, entry := range entries {
		amounts[entry.ClaimID] = entry.Amount
	}
	return amounts, nil
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
