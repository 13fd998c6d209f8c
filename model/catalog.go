package model

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/product"
)

type productRow struct {
	bun.BaseModel `bun:"table:products"`

	Key       string `bun:",pk"`
	Version   int    `bun:",pk"`
	Document  string
	Digest    string
	CreatedAt time.Time
}

// PublishProduct makes a product version available. A document whose worked
// examples fail is refused; a version that exists with other content too,
// because policies were bound under it.
func (s *Service) PublishProduct(ctx context.Context, actor Actor, document []byte) error {
	if err := actor.may(ScopeOperator); err != nil {
		return err
	}
	parsed, err := product.Parse(document)
	if err == nil {
		err = parsed.Check(s.history)
	}
	if err != nil {
		return Invalid(FieldError{Pointer: "/document", Code: "value", Detail: err.Error()})
	}
	return s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		return u.publish(ctx, parsed)
	})
}

func (u *unit) publish(ctx context.Context, p *product.Product) error {
	row := productRow{Key: p.Key(), Version: p.Version(), Document: string(p.Source()), Digest: p.Digest(), CreatedAt: u.now}
	if _, err := u.NewInsert().Model(&row).On("conflict do nothing").Exec(ctx); err != nil {
		return fmt.Errorf("publish product: %w", err)
	}
	if err := u.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
		return fmt.Errorf("read product: %w", err)
	}
	if row.Digest != p.Digest() {
		return Fail(CodeStateConflict, "Version %d of %s is published with other content; publish a new version.", p.Version(), p.Key())
	}
	return nil
}

// PublishShipped publishes the products that come with this release. Doing it
// again changes nothing.
func (s *Service) PublishShipped(ctx context.Context) error {
	for _, p := range product.Shipped() {
		if err := s.PublishProduct(ctx, System(), p.Source()); err != nil {
			return fmt.Errorf("publish %s version %d: %w", p.Key(), p.Version(), err)
		}
	}
	return nil
}

// catalog keeps parsed products. A version never changes, so only the list of
// versions is read again, at most every catalogFresh.
type catalog struct {
	mu     sync.Mutex
	parsed map[productID]*product.Product
	latest map[string]int
	until  time.Time
}

type productID struct {
	key     string
	version int
}

const catalogFresh = 2 * time.Second

// latestProduct is the newest published version of a product.
func (s *Service) latestProduct(ctx context.Context, key string) (*product.Product, error) {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	if now := monotonic(); now.After(s.catalog.until) {
		var rows []productRow
		err := s.db.NewSelect().Model(&rows).ColumnExpr("key, max(version) as version").GroupExpr("key").Scan(ctx)
		if err != nil {
			return nil, explain(fmt.Errorf("list products: %w", err))
		}
		s.catalog.latest = make(map[string]int, len(rows))
		for _, row := range rows {
			s.catalog.latest[row.Key] = row.Version
		}
		s.catalog.until = now.Add(catalogFresh)
	}
	version, ok := s.catalog.latest[key]
	if !ok {
		e := Fail(CodeProductUnknown, "There is no such product; GET /products lists them.")
		e.Fields = []FieldError{{Pointer: "/product", Code: "unknown", Detail: "Use the key of a published product, such as quake-circle."}}
		return nil, e
	}
	return s.load(ctx, productID{key, version})
}

// productVersion is one published version, as a policy was bound under.
func (s *Service) productVersion(ctx context.Context, key string, version int) (*product.Product, error) {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	return s.load(ctx, productID{key, version})
}

func (s *Service) load(ctx context.Context, id productID) (*product.Product, error) {
	if p, ok := s.catalog.parsed[id]; ok {
		return p, nil
	}
	row := productRow{Key: id.key, Version: id.version}
	if err := s.db.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
		return nil, explain(fmt.Errorf("read product: %w", err))
	}
	p, err := product.Parse([]byte(row.Document))
	if err != nil {
		return nil, fmt.Errorf("published product %s version %d: %w", id.key, id.version, err)
	}
	if s.catalog.parsed == nil {
		s.catalog.parsed = make(map[productID]*product.Product)
	}
	s.catalog.parsed[id] = p
	return p, nil
}
