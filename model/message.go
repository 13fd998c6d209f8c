package model

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// messageRow is one message of the conversation about a claim. Insert-only.
type messageRow struct {
	bun.BaseModel `bun:"table:messages,alias:m"`
	RowHeader

	ClaimID    uuid.UUID `bun:"type:uuid"`
	AuthorKind ActorKind
	AuthorName string
	Body       string
}

const maxMessageLength = 10_000

// AddMessage adds a message to the conversation about a claim. Operators write in the
// name of Parapet; the audit log has the operator. Errors: not_found, validation_failed.
func (s *Service) AddMessage(ctx context.Context, actor Actor, claim, body string) (*wire.Message, error) {
	scope := ScopeClaimsWrite
	if actor.Kind == ActorOperator {
		scope = ScopeOperator
	}
	if err := s.authorize(ctx, actor, scope); err != nil {
		return nil, err
	}
	v := newValidator(ctx)
	v.requireMessage(body, "/body")
	if err := v.err(); err != nil {
		return nil, err
	}
	id, err := resourceClaim.parseID(claim)
	if err != nil {
		return nil, err
	}
	var message *wire.Message
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		on, err := tx.lockClaim(ctx, id)
		if err != nil {
			return err
		}
		if message, err = tx.saveMessage(ctx, on, body); err != nil {
			return err
		}
		tx.describe(on.Partner, message.ID, nil)
		return tx.storeResponse(statusCreated, message.ID, message)
	})
	return message, err
}

func (v *validator) requireMessage(body, at string) {
	v.require(strings.TrimSpace(body) != "" && utf8.RuneCountInString(body) <= maxMessageLength && isStorableText(body), at, "length", fmt.Sprintf("Write 1 to %d characters, not only white space.", maxMessageLength))
}

// saveMessage adds the actor's message to a locked claim, with its event and timeline
// entry.
func (tx *Tx) saveMessage(ctx context.Context, claim *claimRow, body string) (*wire.Message, error) {
	row := &messageRow{RowHeader: tx.newHeader(claim.Partner), ClaimID: claim.ID, AuthorKind: tx.actor.Kind, AuthorName: tx.actor.displayName(), Body: body}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return nil, fmt.Errorf("insert message: %w", err)
	}
	message := row.toRecord()
	return message, tx.recordClaimAddition(ctx, claim, &row.RowHeader, resourceMessage, EventClaimMessageAdded, message, "A message was added.", map[string]any{"message_id": message.ID})
}

// recordClaimAddition records the event and the timeline entry of a record that was added
// to a claim.
func (tx *Tx) recordClaimAddition(ctx context.Context, claim *claimRow, row *RowHeader, kind ResourceType, event EventType, public any, summary string, data any) error {
	id, err := tx.appendEvent(event, row, kind, public)
	if err != nil {
		return err
	}
	if err := tx.appendTimeline(claim, event, &id, summary, data); err != nil {
		return err
	}
	return tx.saveTimelinePosition(ctx, claim)
}

var (
	messages = &collection[messageRow, wire.Message]{
		resource: resourceMessage, plural: "messages", requiredScope: fixedScope(ScopeClaimsRead),
		toRecord: func(r *messageRow) wire.Message { return *r.toRecord() },
	}
	messagesOfClaims = &childCollection[messageRow, wire.Message]{
		collection: messages, cursorName: "messages", parent: resourceClaim, parentTable: "claims", joinCondition: "!.claim_id = w.id and !.partner = w.partner",
		order: oldestFirst, cursorKey: rowKey[messageRow], parentID: func(r *messageRow) uuid.UUID { return r.ClaimID },
	}
)

// GetMessages returns the conversation about a claim, oldest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetMessages(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[wire.Message], error) {
	return messagesOfClaims.getPage(ctx, s, actor, claim, in)
}

// MessagesByClaim returns the conversations about several claims, oldest first.
func (s *Service) MessagesByClaim(ctx context.Context, actor Actor, claims []string, in PageRequest) (map[string]*Page[wire.Message], error) {
	return messagesOfClaims.getPages(ctx, s, actor, claims, in)
}

// MessagesByID returns the messages with the given ids that the actor can see.
func (s *Service) MessagesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Message, error) {
	return messages.getMany(ctx, s, actor, ids)
}

func (r *messageRow) toRecord() *wire.Message {
	return &wire.Message{
		Header: r.RowHeader.toRecord(resourceMessage), ClaimID: resourceClaim.formatID(r.ClaimID),
		Author: wire.Actor{Kind: string(r.AuthorKind), Name: r.AuthorName}, Body: r.Body,
	}
}
