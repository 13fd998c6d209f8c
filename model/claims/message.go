package claims

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// messageRow is one message of the conversation about a claim. Insert-only.
type messageRow struct {
	bun.BaseModel `bun:"table:messages,alias:m"`
	store.RowHeader

	ClaimID    uuid.UUID `bun:"type:uuid"`
	AuthorKind actor.Kind
	AuthorName string
	Body       string
}

const maxMessageLength = 10_000

// AddMessage adds a message to the conversation about a claim. Operators write in the
// name of Parapet; the audit log has the operator. Errors: not_found, validation_failed.
func (s *Service) AddMessage(ctx context.Context, caller actor.Actor, claim, body string) (*wire.Message, error) {
	scope := actor.ScopeClaimsWrite
	if caller.Kind == actor.KindOperator {
		scope = actor.ScopeOperator
	}
	if err := s.Authorize(ctx, caller, scope); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	RequireMessage(v, body, "/body")
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, err := store.ResourceClaim.ParseID(claim)
	if err != nil {
		return nil, err
	}
	var message *wire.Message
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		on, err := LockClaim(ctx, tx, id)
		if err != nil {
			return err
		}
		if message, err = SaveMessage(ctx, tx, on, body); err != nil {
			return err
		}
		tx.Describe(on.Partner, message.ID, nil)
		return tx.StoreResponse(store.StatusCreated, message.ID, message)
	})
	return message, err
}

// RequireMessage requires a text of 1 to maxMessageLength characters; at is the pointer to it.
func RequireMessage(v *apperr.Validator, body, at string) {
	v.Require(strings.TrimSpace(body) != "" && utf8.RuneCountInString(body) <= maxMessageLength && audit.IsStorableText(body), at, "length", fmt.Sprintf("Write 1 to %d characters, not only white space.", maxMessageLength))
}

// SaveMessage adds the actor's message to a locked claim, with its event and timeline
// entry.
func SaveMessage(ctx context.Context, tx *store.Tx, claim *ClaimRow, body string) (*wire.Message, error) {
	row := &messageRow{RowHeader: tx.NewHeader(claim.Partner), ClaimID: claim.ID, AuthorKind: tx.Actor.Kind, AuthorName: tx.Actor.DisplayName(), Body: body}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return nil, fmt.Errorf("insert message: %w", err)
	}
	message := row.toRecord()
	return message, recordClaimAddition(ctx, tx, claim, &row.RowHeader, store.ResourceMessage, event.ClaimMessageAdded, message, "A message was added.", map[string]any{"message_id": message.ID})
}

// recordClaimAddition records the event and the timeline entry of a record that was added
// to a claim.
func recordClaimAddition(ctx context.Context, tx *store.Tx, claim *ClaimRow, row *store.RowHeader, kind store.ResourceType, event event.Type, public any, summary string, data any) error {
	id, err := tx.AppendEvent(event, row, kind, public)
	if err != nil {
		return err
	}
	if err := AppendTimeline(tx, claim, event, &id, summary, data); err != nil {
		return err
	}
	return SaveTimelinePosition(ctx, tx, claim)
}

var (
	messages = &store.Collection[messageRow, wire.Message]{
		Resource: store.ResourceMessage, Plural: "messages", RequiredScope: store.FixedScope(actor.ScopeClaimsRead),
		ToRecord: func(r *messageRow) wire.Message { return *r.toRecord() },
	}
	messagesOfClaims = &store.ChildCollection[messageRow, wire.Message]{
		Collection: messages, CursorName: "messages", Parent: store.ResourceClaim, ParentTable: "claims", JoinCondition: "!.claim_id = w.id and !.partner = w.partner",
		Order: store.SortOldestFirst, CursorKey: store.RowKey[messageRow], ParentID: func(r *messageRow) uuid.UUID { return r.ClaimID },
	}
)

// GetMessages returns the conversation about a claim, oldest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetMessages(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[wire.Message], error) {
	return messagesOfClaims.GetPage(ctx, s.Store, actor, claim, in)
}

// MessagesByClaim returns the conversations about several claims, oldest first.
func (s *Service) MessagesByClaim(ctx context.Context, actor actor.Actor, claims []string, in store.PageRequest) (map[string]*store.Page[wire.Message], error) {
	return messagesOfClaims.GetPages(ctx, s.Store, actor, claims, in)
}

// MessagesByID returns the messages with the given ids that the actor can see.
func (s *Service) MessagesByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Message, error) {
	return messages.GetMany(ctx, s.Store, actor, ids)
}

func (r *messageRow) toRecord() *wire.Message {
	return &wire.Message{
		Header: r.ToHeader(store.ResourceMessage), ClaimID: store.ResourceClaim.FormatID(r.ClaimID),
		Author: wire.Actor{Kind: string(r.AuthorKind), Name: r.AuthorName}, Body: r.Body,
	}
}
