package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/sync/singleflight"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
	"parapet/model/partners"
)

type priceHistoryRow struct {
	bun.BaseModel `bun:"table:price_histories,alias:ph"`

	DataSet   hazard.DataSet `bun:",pk"`
	Version   int            `bun:",pk"`
	Name      string
	Digest    string
	FirstYear int
	LastYear  int
	Rows      int
	Content   []byte // gzip
	CreatedAt time.Time
	RetiredAt *time.Time
}

// HistorySettings is the price history of the release.
type HistorySettings struct{ Shipped *hazard.History }

// historyCache caches the history of new quotes. Which editions it has is read again at
// most every productCacheTTL.
type historyCache struct {
	mu        sync.Mutex
	selected  historySelection
	current   *hazard.History
	expiresAt time.Time
	editions  map[string]*hazard.Edition // by digest
	loading   singleflight.Group
}

// maxCachedEditions bounds the parsed files in memory; each has some tens of megabytes.
const maxCachedEditions = 6

// historySelection is what distinguishes the history of new quotes from that of the release.
type historySelection struct {
	digests  []string // of the loaded editions
	disabled []string // stations
}

func (h historySelection) equal(other historySelection) bool {
	return slices.Equal(h.digests, other.digests) && slices.Equal(h.disabled, other.disabled)
}

// LoadHistory returns the history by which new quotes are priced: that of the release with
// the editions that operators loaded, without disabled stations.
func LoadHistory(ctx context.Context, s *store.Store) (*hazard.History, error) {
	cache := store.Local[historyCache](s)
	selected, current, fresh := cache.get()
	if fresh {
		return current, nil
	}
	now, err := selectHistory(ctx, s)
	if err != nil {
		return nil, err
	}
	if current == nil || !now.equal(selected) {
		if current, err = buildHistory(ctx, s, now); err != nil {
			return nil, err
		}
	}
	cache.save(now, current)
	return current, nil
}

func selectHistory(ctx context.Context, s *store.Store) (selected historySelection, err error) {
	if selected.digests, err = selectEditions(ctx, s); err != nil {
		return selected, err
	}
	err = s.DB.NewSelect().Model((*stationRow)(nil)).Column("name").Where("not enabled").OrderExpr("name").Scan(ctx, &selected.disabled)
	if err != nil {
		return selected, store.TranslateError(fmt.Errorf("select disabled stations: %w", err))
	}
	return selected, nil
}

// selectEditions returns the digests of the loaded editions that new quotes use.
func selectEditions(ctx context.Context, s *store.Store) (digests []string, err error) {
	err = s.DB.NewSelect().Model((*priceHistoryRow)(nil)).DistinctOn("data_set").Column("digest").Where("retired_at is null").
		OrderExpr("data_set, version desc").Scan(ctx, &digests)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("select price history: %w", err))
	}
	return digests, nil
}

func buildHistory(ctx context.Context, s *store.Store, selected historySelection) (*hazard.History, error) {
	h := shippedHistory(s)
	for _, digest := range selected.digests {
		edition, err := loadEdition(ctx, s, digest)
		if err != nil {
			return nil, err
		}
		h = h.WithEdition(edition)
	}
	if len(selected.disabled) > 0 {
		h = h.WithoutStations(selected.disabled)
	}
	return h, nil
}

func shippedHistory(s *store.Store) *hazard.History {
	if shipped := store.Local[HistorySettings](s).Shipped; shipped != nil {
		return shipped
	}
	return hazard.Shipped()
}

// LoadHistoryOf returns a history with the data set of a digest, for a quote that was
// priced by it. It returns the history of the release when the digest is unknown.
func LoadHistoryOf(ctx context.Context, s *store.Store, digest string) (*hazard.History, error) {
	h := shippedHistory(s)
	for _, set := range hazard.DataSets() {
		if h.Data(set).Digest == digest {
			return h, nil
		}
	}
	edition, err := loadEdition(ctx, s, digest)
	switch {
	case store.IsNoRows(err):
		return h, nil
	case err != nil:
		return nil, err
	}
	return h.WithEdition(edition), nil
}

// loadEdition reads a loaded file. It is parsed once, however many callers wait for it.
func loadEdition(ctx context.Context, s *store.Store, digest string) (*hazard.Edition, error) {
	cache := store.Local[historyCache](s)
	if known := cache.findEdition(digest); known != nil {
		return known, nil
	}
	loaded, err, _ := cache.loading.Do(digest, func() (any, error) {
		row := new(priceHistoryRow)
		err := s.DB.NewSelect().Model(row).Where("digest = ?", digest).OrderExpr("version desc").Limit(1).Scan(context.WithoutCancel(ctx))
		if err != nil {
			return nil, store.TranslateError(fmt.Errorf("read price history: %w", err))
		}
		file, err := hazard.UnpackFile(row.Content)
		if err != nil {
			return nil, fmt.Errorf("price history %s: %w", digest, err)
		}
		edition, faults := hazard.ParseEdition(file, row.CreatedAt)
		if len(faults) > 0 {
			return nil, fmt.Errorf("price history %s: %w", digest, faults[0])
		}
		cache.saveEdition(edition)
		return edition, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded.(*hazard.Edition), nil //nolint:forcetypeassert // the only type that is loaded
}

func (c *historyCache) get() (selected historySelection, current *hazard.History, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.selected, c.current, c.current != nil && !partners.ProcessClock().After(c.expiresAt)
}

func (c *historyCache) save(selected historySelection, current *hazard.History) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selected, c.current, c.expiresAt = selected, current, partners.ProcessClock().Add(productCacheTTL)
}

// expire makes a change visible on this node at once; other nodes read it after
// productCacheTTL.
func (c *historyCache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expiresAt = time.Time{}
}

func (c *historyCache) findEdition(digest string) *hazard.Edition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.editions[digest]
}

func (c *historyCache) saveEdition(edition *hazard.Edition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.editions == nil || len(c.editions) >= maxCachedEditions {
		c.editions = make(map[string]*hazard.Edition)
	}
	c.editions[strings.Clone(edition.Digest)] = edition
}
