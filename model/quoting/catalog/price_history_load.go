package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// LoadHistoryRequest loads an edition of a data set.
type LoadHistoryRequest struct {
	Content io.Reader // the file, or the file compressed by gzip; nil when it was not base64
	Reason  string    // private
	DryRun  bool      // checks the file and compares prices, and changes nothing
}

// LoadedHistory is an edition and what it changes.
type LoadedHistory struct {
	PriceHistory wire.PriceHistory
	Prices       []wire.PriceChange
}

// LoadPriceHistory checks a file of past events and makes it the history of new quotes, on
// every node within seconds. Each product on sale must pass its examples with it. What was
// quoted keeps its price and its digest. The file that is in use already changes nothing.
// Operators only. Errors: validation_failed with the lines of the file, state_conflict.
func (s *Service) LoadPriceHistory(ctx context.Context, caller actor.Actor, in LoadHistoryRequest) (loaded *LoadedHistory, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	audit.RequireNote(v, &in.Reason, "/reason")
	if err := v.Err(); err != nil {
		return nil, err
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	file, edition, err := readEdition(in.Content, now)
	if err != nil {
		return nil, err
	}
	prices, err := s.comparePrices(ctx, edition, now)
	if err != nil {
		return nil, err
	}
	row := &priceHistoryRow{
		DataSet: edition.DataSet, Version: 1, Name: edition.Name, Digest: edition.Digest, FirstYear: edition.FirstYear, LastYear: edition.LastYear,
		Rows: edition.Rows, CreatedAt: now,
	}
	if in.DryRun {
		return &LoadedHistory{row.toRecord(false), prices}, nil
	}
	if row.Content, err = hazard.PackFile(file); err != nil {
		return nil, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if err := row.save(ctx, tx); err != nil {
			return err
		}
		loaded = &LoadedHistory{row.toRecord(true), prices}
		tx.Describe("", row.id(), &in.Reason)
		return tx.StoreResponse(store.StatusOK, row.id(), loaded)
	})
	store.Local[historyCache](s.Store).expire()
	return loaded, err
}

// readEdition reads a file and reports its faults by their lines.
func readEdition(content io.Reader, now time.Time) (file []byte, edition *hazard.Edition, err error) {
	if file, err = io.ReadAll(content); err == nil {
		file, err = hazard.UnpackFile(file)
	}
	if err != nil {
		return nil, nil, apperr.Invalid(apperr.NewFieldError("/content_base64", "format", "The file cannot be unpacked: "+err.Error()+"."))
	}
	edition, faults := hazard.ParseEdition(file, now)
	fields := make([]apperr.FieldError, 0, len(faults))
	for _, fault := range faults[:min(len(faults), apperr.MaxFieldErrors)] {
		fields = append(fields, apperr.NewFieldError("/content_base64", "value", fault.Error()+"."))
	}
	if len(fields) > 0 {
		return nil, nil, apperr.Invalid(fields...)
	}
	return file, edition, nil
}

// comparePrices checks the products on sale against an edition and returns how the premium
// of their defaults changes.
func (s *Service) comparePrices(ctx context.Context, edition *hazard.Edition, now time.Time) ([]wire.PriceChange, error) {
	before, err := s.loadFullHistory(ctx)
	if err != nil {
		return nil, err
	}
	var rows []productRow
	if err := newestProductsQuery(s.DB, &rows).Where("retired_at is null").Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list products: %w", err))
	}
	after, changes, fields := before.WithEdition(edition), []wire.PriceChange{}, []apperr.FieldError(nil)
	for _, row := range rows {
		p, err := LoadProductVersion(ctx, s.Store, s.DB, row.Key, row.Version)
		if err != nil {
			return nil, err
		}
		if err := p.Check(after); err != nil {
			fields = append(fields, productFaults(p, err)...)
			continue
		}
		change := wire.PriceChange{Product: p.Key()}
		for h, into := range map[*hazard.History]*wire.Money{before: &change.Before, after: &change.After} {
			if *into, err = p.DefaultPremium(now, h); err != nil {
				return nil, fmt.Errorf("price %s: %w", p.Key(), err)
			}
		}
		changes = append(changes, change)
	}
	if len(fields) > 0 {
		return nil, apperr.Invalid(fields...)
	}
	return changes, nil
}

func productFaults(p *product.Product, err error) (fields []apperr.FieldError) {
	var invalid *product.DocumentError
	if !errors.As(err, &invalid) {
		invalid = &product.DocumentError{Fields: []product.Field{{Detail: err.Error()}}}
	}
	for _, fault := range invalid.Fields {
		fields = append(fields, apperr.NewFieldError("/content_base64", "value", fmt.Sprintf("%s version %d cannot be priced by it: %s", p.Key(), p.Version(), fault.Detail)))
	}
	return fields
}

// save inserts the edition as the newest version, unless it is in use already.
func (r *priceHistoryRow) save(ctx context.Context, tx *store.Tx) error {
	var newest []priceHistoryRow
	err := tx.NewSelect().Model(&newest).ExcludeColumn("content").Where("data_set = ?", r.DataSet).OrderExpr("version desc").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for _, row := range newest {
		if row.RetiredAt != nil {
			continue
		}
		if row.Digest == r.Digest {
			*r = row
			return nil
		}
		break
	}
	if len(newest) > 0 {
		r.Version = newest[0].Version + 1
	}
	r.CreatedAt = tx.Now
	res, err := tx.NewInsert().Model(r).On("conflict do nothing").Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert price history: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return apperr.Fail(apperr.CodeStateConflict, "Another file was loaded at the same time; look at it, and load this one again.")
}

// id is how the audit log names the edition.
func (r *priceHistoryRow) id() string { return fmt.Sprintf("%s/%d", r.DataSet, r.Version) }

func (r *priceHistoryRow) toRecord(inUse bool) wire.PriceHistory {
	return wire.PriceHistory{
		DataSet: string(r.DataSet), Version: r.Version, Name: r.Name, Digest: r.Digest, FirstYear: r.FirstYear, LastYear: r.LastYear,
		Rows: r.Rows, InUse: inUse, LoadedAt: &r.CreatedAt, RetiredAt: r.RetiredAt,
	}
}
