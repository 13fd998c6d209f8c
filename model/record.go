package model

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/model/wire"
)

// wire is the public beginning of a partner's record.
func (h *header) public(kind noun) wire.Header {
	return wire.Header{
		ID: kind.id(h.ID), Object: kind.name, Partner: &h.Partner,
		CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt, Version: h.Version,
	}
}

func (r references) own() wire.References {
	metadata := r.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	return wire.References{PartnerReference: r.PartnerReference, Metadata: metadata}
}

// read loads one record by its public id, if the actor may see it.
func (s *Service) read(ctx context.Context, actor Actor, scope Scope, kind noun, id string, row any) error {
	if err := s.authorize(ctx, actor, scope); err != nil {
		return err
	}
	key, err := kind.parse(id)
	if err != nil {
		return err
	}
	text := s.texts.of(row, "read "+actor.seen(), func() string {
		w := s.rows(row)
		w.and("!.id = $1")
		w.and(strings.ReplaceAll(actor.seen(), "?TableAlias", "!"))
		return s.selectText(row) + w.String()
	})
	if err := s.preparedRow(ctx, s.pool, row, text, key, actor.tenant()); err != nil {
		if absent(err) {
			return kind.notFound()
		}
		return explain(fmt.Errorf("read %s: %w", kind.name, err))
	}
	return nil
}

// The contract's bounds of what a partner may hang on a record.
const (
	maxReference     = 128
	maxMetadata      = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// references is the one rule of what a partner may hang on a record. A control
// character in a reference is a slip that nobody sees in a list.
func (c *fieldCheck) references(reference *string, metadata map[string]string) {
	c.that(reference == nil || meaningful(*reference, maxReference), "/partner_reference", "value",
		fmt.Sprintf("Use 1 to %d characters, none of them a control character and not blanks alone.", maxReference))
	c.that(len(metadata) <= maxMetadata, "/metadata", "length", fmt.Sprintf("Use at most %d keys.", maxMetadata))
	for key, value := range metadata {
		c.that(key != "" && utf8.RuneCountInString(key) <= maxMetadataKey, pointer("metadata", key), "length", fmt.Sprintf("A key has 1 to %d characters.", maxMetadataKey))
		c.that(utf8.RuneCountInString(value) <= maxMetadataValue, pointer("metadata", key), "length", fmt.Sprintf("A value has at most %d characters.", maxMetadataValue))
	}
}

// meaningful tells whether a text says something, in so many characters at most.
func meaningful(text string, most int) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, unicode.IsControl)
}
