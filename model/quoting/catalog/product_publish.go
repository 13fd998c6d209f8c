package catalog

import (
	"context"
	"errors"
	"fmt"

	"parapet/model/hazard/sources"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// maxDocumentSize bounds a product's document, in bytes; the shipped ones have 8 KiB.
const maxDocumentSize = 256 << 10

// Publish publishes a product version. created is false when the same document
// was published before. Policies are bound under a version, so a published version
// never changes. Operators only. Errors: validation_failed with the position of every
// fault in the document, including failing worked examples; state_conflict when the
// version exists with other content.
func (s *Service) Publish(ctx context.Context, caller actor.Actor, document []byte) (record *wire.Product, created bool, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, false, err
	}
	parsed, fields := s.parsePublishable(document)
	if len(fields) > 0 {
		return nil, false, apperr.Invalid(fields...)
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		fields, err := checkSources(ctx, tx, parsed.Document())
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			return apperr.Invalid(fields...)
		}
		var row *productRow
		if row, created, err = publishProduct(ctx, tx, parsed); err != nil {
			return err
		}
		if record, err = row.toRecord(parsed); err != nil {
			return err
		}
		status := store.StatusOK
		if created {
			status = store.StatusCreated
		}
		return tx.StoreResponse(status, record.ID, record)
	})
	store.Local[productCache](s.Store).expireVersions()
	return record, created, err
}

// parsePublishable parses a document and validates all it claims, including its worked
// examples.
func (s *Service) parsePublishable(document []byte) (*product.Product, []apperr.FieldError) {
	if len(document) > maxDocumentSize {
		return nil, []apperr.FieldError{apperr.NewFieldError("/document", "length", fmt.Sprintf("Use at most %d bytes.", maxDocumentSize))}
	}
	parsed, err := product.Parse(document)
	if err == nil {
		err = parsed.Check(s.history)
	}
	var invalid *product.DocumentError
	switch {
	case err == nil:
		return parsed, nil
	case !errors.As(err, &invalid):
		return nil, []apperr.FieldError{apperr.NewFieldError("/document", "value", err.Error())}
	}
	fields := make([]apperr.FieldError, len(invalid.Fields))
	for i, field := range invalid.Fields {
		fields[i] = apperr.NewFieldError("/document"+field.Pointer, field.Code, field.Detail)
	}
	return nil, fields
}

// checkSources returns the sources of a document's measurement that are not registered, or
// not for its peril and stage.
func checkSources(ctx context.Context, tx *store.Tx, d product.Document) (fields []apperr.FieldError, err error) {
	if d.Measurement == nil {
		return nil, nil
	}
	if len(d.Measurement.Sources) > 1 {
		return []apperr.FieldError{apperr.NewFieldError("/document/measurement/sources", "length", "Name one source: this release decides no policy by several.")}, nil
	}
	names := make([]string, 0, len(d.Measurement.Sources))
	for _, s := range d.Measurement.Sources {
		names = append(names, s.Source)
	}
	registry, err := sources.Load(ctx, tx, names, tx.Store.Development)
	if err != nil {
		return nil, err
	}
	for i, s := range d.Measurement.Sources {
		if fault := registry.RequireForTerms(s.Source, d.Trigger.Kind, s.Stage); fault != nil {
			fault.Pointer = fmt.Sprintf("/document/measurement/sources/%d%s", i, fault.Pointer)
			fields = append(fields, *fault)
		}
	}
	return fields, nil
}

func publishProduct(ctx context.Context, tx *store.Tx, p *product.Product) (*productRow, bool, error) {
	row := &productRow{Key: p.Key(), Version: p.Version(), Document: string(p.Source()), Digest: p.Digest(), CreatedAt: tx.Now}
	res, err := tx.NewInsert().Model(row).On("conflict do nothing").Exec(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("publish product: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return row, true, err
	}
	if err := tx.NewSelect().Model(row).WherePK().Scan(ctx); err != nil {
		return nil, false, fmt.Errorf("read product: %w", err)
	}
	if row.Digest != p.Digest() {
		return nil, false, apperr.Fail(apperr.CodeStateConflict, "Version %d of %s is published with other content; publish a new version.", p.Version(), p.Key())
	}
	return row, false, nil
}

// PublishShipped publishes the products shipped with this release. It is idempotent.
func (s *Service) PublishShipped(ctx context.Context) error {
	for _, p := range product.Shipped() {
		if _, _, err := s.Publish(ctx, actor.System(), p.Source()); err != nil {
			return fmt.Errorf("publish %s version %d: %w", p.Key(), p.Version(), err)
		}
	}
	return nil
}
