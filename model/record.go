package model

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/model/wire"
)

// toRecord returns the public header of a partner's record.
func (h *RowHeader) toRecord(kind ResourceType) wire.Header {
	return wire.Header{
		ID: kind.formatID(h.ID), Object: kind.name, Partner: &h.Partner,
		CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt, Version: h.Version,
	}
}

func (r PartnerFields) toReferences() wire.References {
	metadata := r.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	return wire.References{PartnerReference: r.PartnerReference, Metadata: metadata}
}

// loadRecord loads one record by its public id, if the actor may see it.
func (s *Store) loadRecord(ctx context.Context, actor Actor, scope Scope, kind ResourceType, id string, row any) error {
	if err := s.authorize(ctx, actor, scope); err != nil {
		return err
	}
	key, err := kind.parseID(id)
	if err != nil {
		return err
	}
	text := s.statements.get(row, "read "+actor.tenantPredicate(), func() string {
		w := s.newWhere(row)
		w.addTerm("!.id = $1")
		w.addTerm(strings.ReplaceAll(actor.tenantPredicate(), "?TableAlias", "!"))
		return s.selectStatement(row) + w.String()
	})
	if err := s.queryPreparedRow(ctx, s.pool, row, text, key, actor.tenantArg()); err != nil {
		if isNoRows(err) {
			return kind.notFoundError()
		}
		return translateError(fmt.Errorf("read %s: %w", kind.name, err))
	}
	return nil
}

// Bounds of the contract for a partner's reference and metadata.
const (
	maxReferenceLength     = 128
	maxMetadataKeys        = 50
	maxMetadataKeyLength   = 40
	maxMetadataValueLength = 500
)

// requireReferences validates a partner's reference and metadata. It refuses control
// characters in a reference, because they are typing errors that lists do not show.
func (v *validator) requireReferences(reference *string, metadata map[string]string) {
	v.require(reference == nil || isMeaningfulText(*reference, maxReferenceLength), "/partner_reference", "value",
		fmt.Sprintf("Use 1 to %d characters, without control characters and not only blanks.", maxReferenceLength))
	v.require(len(metadata) <= maxMetadataKeys, "/metadata", "length", fmt.Sprintf("Use at most %d keys.", maxMetadataKeys))
	for key, value := range metadata {
		v.require(key != "" && utf8.RuneCountInString(key) <= maxMetadataKeyLength, jsonPointer("metadata", key), "length", fmt.Sprintf("A key has 1 to %d characters.", maxMetadataKeyLength))
		v.require(utf8.RuneCountInString(value) <= maxMetadataValueLength, jsonPointer("metadata", key), "length", fmt.Sprintf("A value has at most %d characters.", maxMetadataValueLength))
	}
}

// isMeaningfulText reports whether a text is not blank and has at most most characters.
func isMeaningfulText(text string, most int) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, unicode.IsControl)
}

// maxEmbedded bounds the claims in a policy's record, the payouts in a claim's and the
// attempts in a delivery's; the newest are shown. Policies and claims also show the
// full count; the list endpoints return the rest.
const maxEmbedded = 20
