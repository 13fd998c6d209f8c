package catalog

import (
	"context"
	"errors"
	"fmt"

	"parapet/model/hazard"
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
	history, err := s.loadFullHistory(ctx)
	if err != nil {
		return nil, false, err
	}
	parsed, fields := parsePublishable(document, history)
	if len(fields) > 0 {
		return nil, false, apperr.Invalid(fields...)
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		var row *productRow
		if row, created, err = publishProduct(ctx, tx, parsed); err != nil {
			return err
		}
		if created {
			if err := checkMeasurement(ctx, tx, parsed.Document()); err != nil {
				return err
			}
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
func parsePublishable(document []byte, history *hazard.History) (*product.Product, []apperr.FieldError) {
	if len(document) > maxDocumentSize {
		return nil, []apperr.FieldError{apperr.NewFieldError("/document", "length", fmt.Sprintf("Use at most %d bytes.", maxDocumentSize))}
	}
	parsed, err := product.Parse(document)
	if err == nil {
		err = parsed.Check(history)
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

// PublishShipped publishes the products shipped with this release. It is idempotent. held
// names the versions that are not published, and why: those with a measurement while older
// releases may run on the database, or while their source is disabled. The versions that
// were published before stay in use.
func (s *Service) PublishShipped(ctx context.Context) (held []string, err error) {
	for _, p := range product.Shipped() {
		_, _, err := s.Publish(ctx, actor.System(), p.Source())
		switch fault := measurementFault(err); {
		case fault != "":
			held = append(held, fmt.Sprintf("%s version %d: %s", p.Key(), p.Version(), fault))
		case err != nil:
			return nil, fmt.Errorf("publish %s version %d: %w", p.Key(), p.Version(), err)
		}
	}
	return held, nil
}
