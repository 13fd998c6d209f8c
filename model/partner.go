package model

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/uptrace/bun"
)

// PartnerStatus tells whether a partner may act.
type PartnerStatus string

const (
	// PartnerEnabled partners may act.
	PartnerEnabled PartnerStatus = "enabled"
	// PartnerDisabled partners are answered partner_disabled.
	PartnerDisabled PartnerStatus = "disabled"
)

type partnerRow struct {
	bun.BaseModel `bun:"table:partners"`

	Slug      string `bun:",pk"`
	Name      string
	Status    PartnerStatus
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

var slug = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// RegisterPartner makes a partner known under an immutable slug. Registering it
// again changes nothing.
func (s *Service) RegisterPartner(ctx context.Context, actor Actor, name, title string) error {
	if err := actor.May(ScopeOperator); err != nil {
		return err
	}
	if !slug.MatchString(name) {
		return Invalid(FieldError{Pointer: "/slug", Code: "pattern", Detail: "Use 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen."})
	}
	return s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row := partnerRow{Slug: name, Name: title, Status: PartnerEnabled, Version: 1, CreatedAt: u.now, UpdatedAt: u.now}
		_, err := u.NewInsert().Model(&row).On("conflict do nothing").Exec(ctx)
		return err
	})
}

// partnerCache answers «is this partner enabled» without a query a request. A
// disabled partner is refused everywhere within partnerFresh.
type partnerCache struct {
	mu    sync.Mutex
	known map[string]partnerAnswer
}

type partnerAnswer struct {
	enabled bool
	until   time.Time
}

const (
	partnerFresh = 2 * time.Second
	partnerCap   = 10_000 // more partners than this are asked for each time
	retrySoon    = 2 * time.Second
)

func (c *partnerCache) enabled(ctx context.Context, db *bun.DB, name string) error {
	c.mu.Lock()
	answer, ok := c.known[name]
	c.mu.Unlock()
	if now := monotonic(); !ok || now.After(answer.until) {
		exists, err := db.NewSelect().Model((*partnerRow)(nil)).Where("slug = ?", name).Where("status = ?", PartnerEnabled).Exists(ctx)
		if err != nil {
			return explain(fmt.Errorf("look up partner: %w", err))
		}
		answer = partnerAnswer{exists, now.Add(partnerFresh)}
		c.keep(name, answer)
	}
	if !answer.enabled {
		return Fail(CodePartnerDisabled, "The partner %q is not registered or is disabled; ask Parapet's operators.", name)
	}
	return nil
}

func (c *partnerCache) keep(name string, answer partnerAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= partnerCap {
		c.known = make(map[string]partnerAnswer)
	}
	c.known[name] = answer
}

// monotonic is the process's clock, for the age of caches only: business time
// is always the database's.
func monotonic() time.Time { return time.Now() }
