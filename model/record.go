package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// read loads one record by its public id, if the actor may see it. A type of row
// is always read with the same further columns.
func (s *Service) read(ctx context.Context, actor Actor, scope Scope, kind noun, id string, row any, further ...string) error {
	if err := s.authorize(ctx, actor, scope); err != nil {
		return err
	}
	key, err := kind.parse(id)
	if err != nil {
		return err
	}
	text := s.texts.of(row, "read", func() string {
		q := byID(s.db.NewSelect().Model(row).ColumnExpr("?TableColumns"))
		for _, column := range further {
			q = q.ColumnExpr(column)
		}
		return q.String()
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

func checkReferences(reference *string, metadata map[string]string) []FieldError {
	var fields []FieldError
	if reference != nil && (*reference == "" || utf8.RuneCountInString(*reference) > maxReference) {
		fields = append(fields, wrong("/partner_reference", "length", fmt.Sprintf("Use 1 to %d characters.", maxReference)))
	}
	if len(metadata) > maxMetadata {
		fields = append(fields, wrong("/metadata", "length", fmt.Sprintf("Use at most %d keys.", maxMetadata)))
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if key == "" || utf8.RuneCountInString(key) > maxMetadataKey {
			fields = append(fields, wrong("/metadata", "length", fmt.Sprintf("Keys have 1 to %d characters.", maxMetadataKey)))
		}
		if utf8.RuneCountInString(value) > maxMetadataValue {
			fields = append(fields, wrong(pointer("metadata", key), "length", fmt.Sprintf("Values have at most %d characters.", maxMetadataValue)))
		}
	}
	return fields
}
