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

// AddMessage adds a turn to the conversation about a claim. Errors: not_found,
// validation_failed.
func (s *Service) AddMessage(ctx context.Context, actor Actor, claim, body string) (*wire.Message, error) {
	if err := s.authorize(ctx, actor, ScopeClaimsWrite); err != nil {
		return nil, err
	}
	c := checking(ctx)
	c.that(strings.TrimSpace(body) != "" && utf8.RuneCountInString(body) <= maxMessage, "/body", "length", fmt.Sprintf("Write 1 to %d characters, not white space alone.", maxMessage))
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
		row := &messageRow{header: u.fresh(on.Partner), ClaimID: on.ID, AuthorKind: actor.Kind, AuthorName: actor.Name, Body: body}
		if _, err := u.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("insert message: %w", err)
		}
		message = row.public()
		err = u.noted(ctx, on, &row.header, nounMessage, EventClaimMessageAdded, message, "A message was added.", map[string]any{"message_id": message.ID})
		if err != nil {
			return err
		}
		return u.answered(statusCreated, message.ID, message)
	})
	return message, err
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

// GetMessages is the conversation about a claim, oldest first. Errors:
// not_found, cursor_invalid.
func (s *Service) GetMessages(ctx context.Context, actor Actor, claim string, in PageRequest) (*wire.List[wire.Message], error) {
	on, err := s.claimOf(ctx, actor, ScopeClaimsRead, claim)
	if err != nil {
		return nil, err
	}
	var rows []messageRow
	q := s.db.NewSelect().Model(&rows).Where("m.claim_id = ?", on.ID).Where("m.partner = ?", on.Partner)
	p, err := s.fetch(ctx, actor, q, in, "messages/"+claim, oldestFirst)
	if err != nil {
		return nil, err
	}
	return listed(p, rows, func(r *messageRow) wire.Message { return *r.public() })
}

func (r *messageRow) public() *wire.Message {
	return &wire.Message{
		Header: r.header.public(nounMessage), ClaimID: nounClaim.id(r.ClaimID),
		Author: wire.Actor{Kind: string(r.AuthorKind), Name: r.AuthorName}, Body: r.Body,
	}
}
