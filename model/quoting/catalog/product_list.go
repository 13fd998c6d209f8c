package catalog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// List lists the newest versions of the products on sale, ordered by key; a partner's
// list has those that it may sell. Errors: cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, in store.PageRequest) (*store.Page[wire.Product], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "products", store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	onSale, err := s.onSale(ctx, caller)
	if err != nil {
		return nil, err
	}
	p.Count = s.NewCounter(onSale(s.DB.NewSelect().Model((*productRow)(nil)).ColumnExpr("distinct key")))
	var rows []productRow
	err = onSale(newestProductsQuery(s.DB, &rows)).Where("key > ?", p.After).Limit(p.FetchLimit()).Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list products: %w", err))
	}
	return s.newProductPage(ctx, p, rows, func(r *productRow) string { return r.Key })
}

// onSale returns a filter: versions that are not retired, of the products that a partner
// may sell.
func (s *Service) onSale(ctx context.Context, caller actor.Actor) (func(*bun.SelectQuery) *bun.SelectQuery, error) {
	var terms wire.PartnerTerms
	var err error
	if caller.Partner != "" {
		terms, err = partners.LoadTerms(ctx, s.Store, caller.Partner)
	}
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if terms.Products != nil {
			q = q.Where("key in ?", bun.Tuple(terms.Products))
		}
		return q.Where("retired_at is null")
	}, err
}

func (s *Service) newProductPage(ctx context.Context, p store.PageSpec, rows []productRow, cursor func(*productRow) string) (*store.Page[wire.Product], error) {
	records := make(map[string]*wire.Product, len(rows))
	var err error
	for i := range rows {
		if records[cursor(&rows[i])], err = s.toProductRecord(ctx, rows[i]); err != nil {
			return nil, err
		}
	}
	return store.NewPage(p, rows, cursor, func(r *productRow) wire.Product { return *records[cursor(r)] })
}

// Versions lists all versions of a product, the newest first. Errors: cursor_invalid.
func (s *Service) Versions(ctx context.Context, caller actor.Actor, key string, in store.PageRequest) (*store.Page[wire.Product], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "product_versions/"+key, store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	if !partners.SlugPattern.MatchString(key) {
		key = "" // no product has it; Postgres rejects some texts
	}
	q := s.DB.NewSelect().Model((*productRow)(nil)).Where("key = ?", key)
	p.Count = s.NewCounter(q.Clone().ColumnExpr("1"))
	if p.After != "" {
		q = q.Where("version < ?::int", p.After)
	}
	var rows []productRow
	if err := q.OrderExpr("version desc").Limit(p.FetchLimit()).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list versions: %w", err))
	}
	return s.newProductPage(ctx, p, rows, func(r *productRow) string { return strconv.Itoa(r.Version) })
}

// Get returns the newest version of a product that is not retired, else the newest one.
// Errors: not_found.
func (s *Service) Get(ctx context.Context, caller actor.Actor, key string) (*wire.Product, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	none := apperr.Fail(apperr.CodeNotFound, "There is no product with this key.")
	if !partners.SlugPattern.MatchString(key) { // keys are slugs; Postgres rejects some other texts
		return nil, none
	}
	var row productRow
	err := newestProductsQuery(s.DB, &row).Where("key = ?", key).Scan(ctx)
	if store.IsNoRows(err) {
		return nil, none
	}
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read product: %w", err))
	}
	return s.toProductRecord(ctx, row)
}

// GetVersion returns one version of a product. Errors: not_found.
func (s *Service) GetVersion(ctx context.Context, caller actor.Actor, key string, version int) (*wire.Product, error) {
	id := ProductID(key, version)
	found, err := s.ByID(ctx, caller, []string{id})
	if err == nil && found[id] == nil {
		err = apperr.Fail(apperr.CodeNotFound, "There is no product with this key and version.")
	}
	return found[id], err
}

// ProductID returns the id of one version of a product, such as quake-circle/1.
func ProductID(key string, version int) string { return fmt.Sprintf("%s/%d", key, version) }

// ByID returns versions of products by their ProductID, in one statement.
func (s *Service) ByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.Product, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	var rows []productRow
	const text = "select key, version, created_at, retired_at from products where key || '/' || version = any($1)"
	if err := s.QueryPreparedRows(ctx, s.Pool, &rows, text, ids); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read products: %w", err))
	}
	found := make(map[string]*wire.Product, len(rows))
	for _, row := range rows {
		record, err := s.toProductRecord(ctx, row)
		if err != nil {
			return nil, err
		}
		found[ProductID(row.Key, row.Version)] = record
	}
	return found, nil
}

// newestProductsQuery reads the newest version of each product, if there is one that is
// not retired.
func newestProductsQuery(db bun.IDB, rows any) *bun.SelectQuery {
	return db.NewSelect().Model(rows).DistinctOn("key").OrderExpr("key, (retired_at is null) desc, version desc")
}

func (s *Service) toProductRecord(ctx context.Context, row productRow) (*wire.Product, error) {
	p, err := LoadProductVersion(ctx, s.Store, s.DB, row.Key, row.Version)
	if err != nil {
		return nil, err
	}
	return row.toRecord(p)
}

// toRecord returns the product as partners see it; its id is its key.
func (r productRow) toRecord(p *product.Product) (*wire.Product, error) {
	d := p.Document()
	record := &wire.Product{
		Header:    wire.Header{ID: r.Key, Object: "product", CreatedAt: r.CreatedAt, UpdatedAt: r.CreatedAt, Version: int64(r.Version)},
		RetiredAt: r.RetiredAt, Key: r.Key, Title: d.Title, Summary: d.Summary, Place: d.Place, Context: p.ContextSchema(),
		Trigger: d.Trigger, Payout: d.Payout, Measurement: d.Measurement, Notes: d.Notes,
	}
	for _, part := range []struct {
		from any
		into *jsontext.Value
	}{
		{d.Times, &record.Times},
		{d.Settlement, &record.Settlement},
		{d.Loadings, &record.Price},
		{d.Currencies, &record.Currencies},
		{d.Examples, &record.Examples},
	} {
		text, err := wire.Encode(part.from)
		if err != nil {
			return nil, fmt.Errorf("encode product %s: %w", r.Key, err)
		}
		*part.into = text
	}
	return record, nil
}
