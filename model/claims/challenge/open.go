package challenge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Status is the status of a challenge.
type Status string

const (
	// Open challenges wait for an operator.
	Open Status = "open"
	// Rejected challenges changed nothing.
	Rejected Status = "rejected"
	// Accepted challenges deferred a declined claim, or added a part to another one.
	Accepted Status = "accepted"
)

// challengeRow is a challenge of the decision on a claim.
type challengeRow struct {
	bun.BaseModel `bun:"table:claim_challenges,alias:ch"`

	ID            uuid.UUID `bun:",pk,type:uuid"`
	Partner       string    `bun:",pk"`
	ClaimID       uuid.UUID `bun:"type:uuid"`
	Status        Status
	MessageID     uuid.UUID   `bun:"type:uuid"`
	AttachmentIDs []uuid.UUID `bun:"attachment_ids,array"`
	OpenedAt      time.Time
	DecidedAt     *time.Time
	ReasonCodes   []string `bun:",array"`
	FurtherAmount *int64
}

// Service opens and decides challenges. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}

// Request challenges the decision on a claim.
type Request struct {
	ClaimID       string
	Reason        string   // becomes a message of the claim
	AttachmentIDs []string // evidence: attachments of the claim
}

// maxEvidence is how many attachments a claim can have.
const maxEvidence = 50

// Open challenges the decision on a claim within the window of its policy's terms. Errors:
// not_found, validation_failed, state_conflict when the claim has no decision, a challenge
// is open or the window has ended.
func (s *Service) Open(ctx context.Context, caller actor.Actor, in Request) (*wire.Claim, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	claims.RequireMessage(v, in.Reason, "/reason")
	v.Require(len(in.AttachmentIDs) <= maxEvidence, "/attachment_ids", "length", fmt.Sprintf("Name at most %d attachments.", maxEvidence))
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, err := store.ResourceClaim.ParseID(in.ClaimID)
	if err != nil {
		return nil, err
	}
	var claim *wire.Claim
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		policy, row, err := payouts.LockClaimAndPolicy(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := checkOpenable(ctx, tx, policy, row); err != nil {
			return err
		}
		evidence, err := findEvidence(ctx, tx, row, in.AttachmentIDs)
		if err != nil {
			return err
		}
		message, err := claims.SaveMessage(ctx, tx, row, in.Reason)
		if err != nil {
			return err
		}
		ch := &challengeRow{
			ID: store.NewID(), Partner: row.Partner, ClaimID: row.ID, Status: Open, AttachmentIDs: evidence, OpenedAt: tx.Now, ReasonCodes: []string{},
			MessageID: store.ResourceMessage.ParseIDs([]string{message.ID})[0],
		}
		if _, err := tx.NewInsert().Model(ch).Exec(ctx); err != nil {
			return fmt.Errorf("insert challenge: %w", err)
		}
		data := map[string]any{"message_id": message.ID, "attachment_ids": append([]string{}, in.AttachmentIDs...)}
		claim, err = recordChange(ctx, tx, row, event.ClaimChallenged, "The partner challenged the decision.", data)
		if err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusOK, claim.ID, claim)
	})
	return claim, err
}

// checkOpenable returns an error unless the locked claim can be challenged now.
func checkOpenable(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, row *claims.ClaimRow) error {
	refuse := func(format string, args ...any) error {
		return apperr.Fail(apperr.CodeStateConflict, format, args...)
	}
	terms := p.Cover.Measurement
	switch {
	case row.OccurrenceID == nil, terms == nil:
		return refuse("Only the decision of a claim of origin trigger can be challenged, and only if the policy's terms have a window for it: write a message on the claim instead.")
	case row.IsUndecided() || row.Status == claims.ClaimWithdrawn:
		return refuse("The claim is %s: only a decision can be challenged.", row.Status)
	case p.Status == underwriting.PolicyArchived:
		return refuse("The policy is archived: its decisions can no longer be challenged.")
	}
	end, err := trigger.AddDuration(*row.DecidedAt, terms.ChallengeWindow)
	if err != nil {
		return fmt.Errorf("read the window of challenges: %w", err)
	}
	if !tx.Clock.Before(end) {
		return refuse("The decision could be challenged until %s.", end.UTC().Format(time.RFC3339))
	}
	open, err := loadOpen(ctx, tx, row)
	if err == nil && open != nil {
		return refuse("A challenge of this claim is open since %s: wait for its decision.", open.OpenedAt.UTC().Format(time.RFC3339))
	}
	return err
}

// loadOpen returns the open challenge of a locked claim; nil without one.
func loadOpen(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) (*challengeRow, error) {
	var open []*challengeRow
	err := tx.NewSelect().Model(&open).Where("claim_id = ?", row.ID).Where("partner = ?", row.Partner).Where("status = ?", Open).Scan(ctx)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return open[0], nil
}

// findEvidence returns the keys of attachments of the claim. Errors: not_found.
func findEvidence(ctx context.Context, tx *store.Tx, row *claims.ClaimRow, ids []string) ([]uuid.UUID, error) {
	keys := []uuid.UUID{}
	for _, id := range ids {
		key, err := store.ResourceAttachment.ParseID(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return keys, nil
	}
	var found int
	err := tx.NewRaw("select count(*) from attachments where id in (?) and claim_id = ? and partner = ?", bun.List(keys), row.ID, row.Partner).Scan(ctx, &found)
	if err == nil && found < len(keys) {
		return nil, store.ResourceAttachment.NotFoundError()
	}
	return keys, err
}

// recordChange records a change of the locked claim's challenge with its event and
// timeline entry, and returns the claim with its measurement state.
func recordChange(ctx context.Context, tx *store.Tx, row *claims.ClaimRow, kind event.Type, summary string, data any) (*wire.Claim, error) {
	was := row.Version
	tx.BumpVersion(&row.RowHeader)
	if err := tx.UpdateRow(ctx, row, was, []string{string(row.Status)}, "version", "updated_at"); err != nil {
		return nil, err
	}
	return appendChange(ctx, tx, row, kind, summary, data)
}

// appendChange writes the event and the timeline entry of a changed claim.
func appendChange(ctx context.Context, tx *store.Tx, row *claims.ClaimRow, kind event.Type, summary string, data any) (*wire.Claim, error) {
	claim, err := claims.LoadClaimRecord(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	if err := measured.Attach(ctx, tx, claim); err != nil {
		return nil, err
	}
	id, err := tx.AppendEvent(kind, &row.RowHeader, store.ResourceClaim, claim)
	if err != nil {
		return nil, err
	}
	if err := claims.AppendTimeline(tx, row, kind, &id, summary, data); err != nil {
		return nil, err
	}
	return claim, claims.SaveTimelinePosition(ctx, tx, row)
}
