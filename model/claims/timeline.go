package claims

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// timelineRow is an entry of a claim's timeline. Insert-only.
type timelineRow struct {
	bun.BaseModel `bun:"table:timeline_entries,alias:tl"`

	ID        uuid.UUID `bun:"type:uuid"`
	Partner   string    `bun:",pk"`
	ClaimID   uuid.UUID `bun:",pk,type:uuid"`
	Sequence  int64     `bun:",pk"`
	Kind      event.Type
	At        time.Time
	ActorKind actor.Kind
	ActorName string
	Summary   string
	Data      jsontext.Value `bun:"type:json"`
	EventID   *uuid.UUID     `bun:"type:uuid"`
}

// AppendTimeline adds an entry to a locked claim's timeline. The caller saves
// timeline_sequence and timeline_updated_at.
func AppendTimeline(tx *store.Tx, claim *ClaimRow, kind event.Type, event *uuid.UUID, summary string, data any) error {
	text, err := wire.Encode(data)
	if err != nil {
		return fmt.Errorf("encode timeline data: %w", err)
	}
	claim.TimelineSequence++
	claim.TimelineUpdatedAt = &tx.Now
	entries := store.Collect[TimelineRows](tx, store.TimelineCollection)
	*entries = append(*entries, &timelineRow{
		ID: store.NewID(), Partner: claim.Partner, ClaimID: claim.ID, Sequence: claim.TimelineSequence,
		Kind: kind, At: tx.Now, ActorKind: tx.Actor.Kind, ActorName: tx.Actor.DisplayName(),
		Summary: summary, Data: text, EventID: event,
	})
	return nil
}

// TimelineRows are the entries that a transaction appends.
type TimelineRows []*timelineRow

// Append implements rowCollection.
func (entries *TimelineRows) Append(other any) {
	*entries = append(*entries, *other.(*TimelineRows)...) //nolint:forcetypeassert // one type has one place in the order
}

// QueueInsert implements rowCollection.
func (entries *TimelineRows) QueueInsert(tx *store.Tx) error { return tx.QueueInsertRows(*entries) }

// SaveTimelinePosition saves a claim's timeline position when no other column changes.
// The record's version stays.
func SaveTimelinePosition(ctx context.Context, tx *store.Tx, claim *ClaimRow) error {
	_, err := tx.NewUpdate().Model(claim).Column("timeline_sequence", "timeline_updated_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("advance timeline: %w", err)
	}
	return nil
}

// claimTimelineRow is an entry with the claim that it was read for, so that claim_id is read
// only for those who ask for it.
type claimTimelineRow struct {
	timelineRow `bun:",extend"`

	Owner uuid.UUID `bun:",scanonly,type:uuid"`
}

var timelines = &store.ChildCollection[claimTimelineRow, wire.TimelineEntry]{
	Collection: &store.Collection[claimTimelineRow, wire.TimelineEntry]{
		Resource: store.ResourceTimelineEntry, Plural: "timeline entries", RequiredScope: store.FixedScope(actor.ScopeClaimsRead), ToRecord: (*claimTimelineRow).toRecord,
		Optional: []store.OptionalColumns{
			{Members: []string{"id"}, Columns: []string{"id"}},
			{Members: []string{"claim_id"}, Columns: []string{"claim_id"}},
			{Members: []string{"event_id"}, Columns: []string{"event_id"}},
			{Members: []string{"partner"}, Columns: []string{"partner"}},
			{Members: []string{"actor"}, Columns: []string{"actor_kind", "actor_name"}},
			{Members: []string{"data"}, Columns: []string{"data"}},
		},
	},
	CursorName: "timeline", Parent: store.ResourceClaim, ParentTable: "claims", JoinCondition: "!.claim_id = w.id and !.partner = w.partner", ExtraColumns: ", w.id as owner", OrderColumn: "sequence",
	Order: store.SortOldestFirst, CursorKey: func(r *claimTimelineRow) string { return strconv.FormatInt(r.Sequence, 10) }, ParentID: func(r *claimTimelineRow) uuid.UUID { return r.Owner },
}

// GetTimeline lists the timeline of a claim, oldest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetTimeline(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[wire.TimelineEntry], error) {
	return timelines.GetPage(ctx, s.Store, actor, claim, in)
}

// TimelinesByClaim lists the timelines of several claims.
func (s *Service) TimelinesByClaim(ctx context.Context, actor actor.Actor, claims []string, in store.PageRequest) (map[string]*store.Page[wire.TimelineEntry], error) {
	return timelines.GetPages(ctx, s.Store, actor, claims, in)
}

func (r *timelineRow) toRecord() wire.TimelineEntry {
	var id string
	if r.ID != uuid.Nil { // a list that does not select the id does not read it
		id = store.ResourceTimelineEntry.FormatID(r.ID)
	}
	return wire.TimelineEntry{
		Header: wire.Header{
			ID: id, Object: store.ResourceTimelineEntry.Name, Partner: &r.Partner,
			CreatedAt: r.At, UpdatedAt: r.At, Version: 1,
		},
		ClaimID: store.ResourceClaim.FormatOptionalID(r.optionalClaimID()), Sequence: r.Sequence, Kind: string(r.Kind), At: r.At,
		Actor:   wire.Actor{Kind: string(r.ActorKind), Name: r.ActorName},
		Summary: r.Summary, Data: r.Data, EventID: store.ResourceEvent.FormatOptionalID(r.EventID),
	}
}

// optionalClaimID returns the claim that the entry belongs to; nil for a change of the
// policy itself.
func (r *timelineRow) optionalClaimID() *uuid.UUID {
	if r.ClaimID == uuid.Nil {
		return nil
	}
	return &r.ClaimID
}
