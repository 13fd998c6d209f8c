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

// messageRow is one turn of the conversation about a claim. Insert-only.
type messageRow struct {
	bun.BaseModel `bun:"table:messages,alias:m"`
	header

	ClaimID    uuid.UUID `bun:"type:uuid"`
	AuthorKind ActorKind
	AuthorName string
	Body       string
}

const maxMessage = 10_000

// AddMessage adds a turn to the conversation about a claim. Operators write in the name
// of Parapet; which one it was is in the audit log. Errors: not_found, validation_failed.
func (s *Service) AddMessage(ctx context.Context, actor Actor, claim, body string) (*wire.Message, error) {
	scope := ScopeClaimsWrite
	if actor.Kind == ActorOperator {
		scope = ScopeOperator
	}
	if err := s.authorize(ctx, actor, scope); err != nil {
		return nil, err
	}
	c := checking(ctx)
	c.message(body, "/body")
	if err := c.refusal(); err != nil {
		return nil, err
	}
	id, err := nounClaim.parse(claim)
	if err != nil {
		return nil, err
	}
	var message *wire.Message
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		on, err := u.lockClaim(ctx, id)
		if err != nil {
			return err
		}
		if message, err = u.saveMessage(ctx, on, body); err != nil {
			return err
		}
		u.about(on.Partner, message.ID, nil)
		return u.answered(statusCreated, message.ID, message)
	})
	return message, err
}

func (c *fieldCheck) message(body, at string) {
	c.that(strings.TrimSpace(body) != "" && utf8.RuneCountInString(body) <= maxMessage && storable(body), at, "length", fmt.Sprintf("Write 1 to %d characters, not white space alone.", maxMessage))
}

// saveMessage adds the actor's message to a locked claim, with its event and timeline
// entry.
func (u *unit) saveMessage(ctx context.Context, claim *claimRow, body string) (*wire.Message, error) {
	row := &messageRow{header: u.fresh(claim.Partner), ClaimID: claim.ID, AuthorKind: u.actor.Kind, AuthorName: u.actor.shown(), Body: body}
	if _, err := u.NewInsert().Model(row).Exec(ctx); err != nil {
		return nil, fmt.Errorf("insert message: %w", err)
	}
	message := row.public()
	return message, u.noted(ctx, claim, &row.header, nounMessage, EventClaimMessageAdded, message, "A message was added.", map[string]any{"message_id": message.ID})
}

// noted tells of a record that was added to a claim.
func (u *unit) noted(ctx context.Context, claim *claimRow, row *header, kind noun, event EventType, public any, summary string, data any) error {
	id, err := u.record(event, row, kind, public)
	if err != nil {
		return err
	}
	if err := u.tell(claim, event, &id, summary, data); err != nil {
		return err
	}
	return u.told(ctx, claim)
}

var (
	messages = &shelf[messageRow, wire.Message]{
		kind: nounMessage, plural: "messages", scope: always(ScopeClaimsRead),
		public: func(r *messageRow) wire.Message { return *r.public() },
	}
	messagesOfClaims = &branch[messageRow, wire.Message]{
		shelf: messages, name: "messages", trunk: nounClaim, from: "claims", on: "!.claim_id = w.id and !.partner = w.partner",
		along: oldestFirst, key: keyOf[messageRow], owner: func(r *messageRow) uuid.UUID { return r.ClaimID },
	}
)

// GetMessages is the conversation about a claim, oldest first. Errors:
// not_found, cursor_invalid.
func (s *Service) GetMessages(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[wire.Message], error) {
	return messagesOfClaims.page(ctx, s, actor, claim, in)
}

// MessagesOf are the conversations about several claims, oldest first.
func (s *Service) MessagesOf(ctx context.Context, actor Actor, claims []string, in PageRequest) (map[string]*Page[wire.Message], error) {
	return messagesOfClaims.of(ctx, s, actor, claims, in)
}

// MessagesByID are those messages of the ids that there are.
func (s *Service) MessagesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Message, error) {
	return messages.named(ctx, s, actor, ids)
}

func (r *messageRow) public() *wire.Message {
	return &wire.Message{
		Header: r.header.public(nounMessage), ClaimID: nounClaim.id(r.ClaimID),
		Author: wire.Actor{Kind: string(r.AuthorKind), Name: r.AuthorName}, Body: r.Body,
	}
}
