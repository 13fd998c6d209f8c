package catalog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/quoting/product"
)

type productRow struct {
	bun.BaseModel `bun:"table:products"`

	Key       string `bun:",pk"`
	Version   int    `bun:",pk"`
	Document  string
	Digest    string
	CreatedAt time.Time
	RetiredAt *time.Time // new quotes do not use the version from then on
}

// productCache caches parsed products. A published version is immutable, so only the list
// of versions is reloaded, at most every productCacheTTL. The lock is never held while
// waiting for a connection.
type productCache struct {
	mu        sync.Mutex
	parsed    map[productID]*product.Product
	latest    map[string]int
	expiresAt time.Time
}

type productID struct {
	key     string
	version int
}

const productCacheTTL = 2 * time.Second

// LoadProductOnSale returns the version of a product that a partner's new quotes use.
func LoadProductOnSale(ctx context.Context, s *store.Store, partner, key string) (*product.Product, error) {
	terms, err := partners.LoadTerms(ctx, s, partner)
	if err != nil {
		return nil, err
	}
	if terms.Products != nil && !slices.Contains(terms.Products, key) {
		return nil, unknownProduct()
	}
	return LoadLatestProduct(ctx, s, key)
}

func unknownProduct() error {
	e := apperr.Fail(apperr.CodeProductUnknown, "There is no product with this key; use a key of the list of products.")
	e.Fields = []apperr.FieldError{{Pointer: "/product", Code: "unknown", Detail: "Use the key of a published product, such as quake-circle."}}
	return e
}

// LoadLatestProduct returns the newest published version of a product that is not
// retired.
func LoadLatestProduct(ctx context.Context, s *store.Store, key string) (*product.Product, error) {
	products := store.Local[productCache](s)
	versions, fresh := products.latestVersions()
	if !fresh {
		var rows []productRow
		err := s.DB.NewSelect().Model(&rows).ColumnExpr("key, max(version) as version").Where("retired_at is null").GroupExpr("key").Scan(ctx)
		if err != nil {
			return nil, store.TranslateError(fmt.Errorf("list products: %w", err))
		}
		versions = make(map[string]int, len(rows))
		for _, row := range rows {
			versions[row.Key] = row.Version
		}
		products.saveLatestVersions(versions)
	}
	version, ok := versions[key]
	if !ok {
		return nil, unknownProduct()
	}
	return LoadProductVersion(ctx, s, s.DB, key, version)
}

// LoadProductVersion returns one published version, such as the one a policy was bound
// under. It reads through db, so that a transaction never waits for a second
// connection.
func LoadProductVersion(ctx context.Context, s *store.Store, db bun.IDB, key string, version int) (*product.Product, error) {
	id, products := productID{key, version}, store.Local[productCache](s)
	if p := products.findProduct(id); p != nil {
		return p, nil
	}
	row := productRow{Key: key, Version: version}
	if err := db.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read product: %w", err))
	}
	p, err := product.Parse([]byte(row.Document))
	if err != nil {
		return nil, fmt.Errorf("published product %s version %d: %w", key, version, err)
	}
	products.saveProduct(id, p)
	return p, nil
}

// latestVersions returns the newest versions; fresh is false when they must be
// reloaded.
func (c *productCache) latestVersions() (latest map[string]int, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest, !partners.ProcessClock().After(c.expiresAt)
}

func (c *productCache) saveLatestVersions(latest map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest, c.expiresAt = latest, partners.ProcessClock().Add(productCacheTTL)
}

// expireVersions makes a new version visible on this node at once; other nodes reload
// the list after productCacheTTL.
func (c *productCache) expireVersions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expiresAt = time.Time{}
}

func (c *productCache) findProduct(id productID) *product.Product {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parsed[id]
}

func (c *productCache) saveProduct(id productID, p *product.Product) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil {
		c.parsed = make(map[productID]*product.Product)
	}
	c.parsed[id] = p
}
