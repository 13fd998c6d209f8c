package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// MoratoriumRow is a time and a place without sales of cover. Without a kind it applies
// to every peril, without a place to the whole world.
type MoratoriumRow struct {
	bun.BaseModel `bun:"table:moratoria,alias:mo"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	Version      int64
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Kind         *hazard.Peril
	Latitude     *float64
	Longitude    *float64
	RadiusKM     *float64 `bun:"radius_km"`
	Station      *string
	StartsAt     time.Time
	EndsAt       time.Time
	LiftedAt     *time.Time
	OccurrenceID *uuid.UUID `bun:"type:uuid"` // the event that caused it; nil when an operator declared it
	// Readings are the readings of the event that close the places around them. The
	// coordinates above are those of the newest reading.
	Readings []MoratoriumReading `bun:"type:json,nullzero"`
	Reason   string
	Author   actor.PersonID
}

// MoratoriumRequest stops sales.
type MoratoriumRequest struct {
	Kind     *hazard.Peril  // nil: every peril
	Place    *trigger.Place // nil: everywhere
	StartsAt *time.Time     // nil: now
	EndsAt   time.Time
	Reason   string // public: partners read it when a bind is rejected
}

// maxMoratoriumDuration bounds a moratorium. To stop sales permanently, operators
// withdraw the product from sale.
const maxMoratoriumDuration = 366 * 24 * time.Hour

func (in *MoratoriumRequest) validate(v *apperr.Validator) {
	v.Require(in.Kind == nil || slices.Contains(trigger.Perils(), *in.Kind), "/kind", "enum", "Use one of "+trigger.PerilNames()+"; leave it out for every peril.")
	audit.RequireNote(v, &in.Reason, "/reason")
	if in.Place != nil {
		valid := in.Place.Kind == trigger.AtStation && in.Place.Station != "" ||
			in.Place.Kind == trigger.Circle && math.Abs(in.Place.Latitude) <= 90 && math.Abs(in.Place.Longitude) <= 180 && in.Place.RadiusKM > 0 && in.Place.RadiusKM <= 20_100
		v.Require(valid, "/place", "value", "Use a circle with latitude, longitude and radius_km, or a station; leave it out for everywhere.")
	}
}

// DeclareMoratorium stops the sale of cover by place, peril and time: during it, binds of
// cover that starts before its end are rejected with moratorium_active. Operators only.
// Errors: validation_failed.
func (s *Service) DeclareMoratorium(ctx context.Context, caller actor.Actor, in MoratoriumRequest) (*wire.Moratorium, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.validate(v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	var moratorium *wire.Moratorium
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := newMoratorium(tx, in)
		if !row.StartsAt.Before(row.EndsAt) || !tx.Now.Before(row.EndsAt) || row.EndsAt.Sub(row.StartsAt) > maxMoratoriumDuration {
			return apperr.Invalid(apperr.NewFieldError("/ends_at", "value", "Use a time after its start and after now, at most 366 days later."))
		}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("insert moratorium: %w", err)
		}
		moratorium = row.toRecord()
		tx.Describe("", moratorium.ID, &in.Reason)
		return tx.StoreResponse(store.StatusCreated, moratorium.ID, moratorium)
	})
	return moratorium, err
}

func newMoratorium(tx *store.Tx, in MoratoriumRequest) *MoratoriumRow {
	row := &MoratoriumRow{
		ID: store.NewID(), Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now, Kind: in.Kind,
		StartsAt: tx.Now, EndsAt: in.EndsAt, Reason: in.Reason, Author: tx.Actor.PersonID(),
	}
	if in.StartsAt != nil {
		row.StartsAt = *in.StartsAt
	}
	if p := in.Place; p != nil && p.Kind == trigger.Circle {
		row.Latitude, row.Longitude, row.RadiusKM = &p.Latitude, &p.Longitude, &p.RadiusKM
	} else if p != nil {
		row.Station = &p.Station
	}
	return row
}

// LiftMoratorium ends a moratorium early; one that is over does not change. Operators
// only. Errors: not_found.
func (s *Service) LiftMoratorium(ctx context.Context, caller actor.Actor, id string) (*wire.Moratorium, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	key, err := store.ResourceMoratorium.ParseID(id)
	if err != nil {
		return nil, err
	}
	var moratorium *wire.Moratorium
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(MoratoriumRow)
		if err := tx.NewSelect().Model(row).Where("id = ?", key).For("NO KEY UPDATE").Scan(ctx); err != nil {
			if store.IsNoRows(err) {
				return store.ResourceMoratorium.NotFoundError()
			}
			return fmt.Errorf("lock moratorium: %w", err)
		}
		if row.LiftedAt == nil && tx.Now.Before(row.EndsAt) {
			row.LiftedAt, row.UpdatedAt = &tx.Now, tx.Now
			row.Version++
			if _, err := tx.NewUpdate().Model(row).Column("lifted_at", "updated_at", "version").WherePK().Exec(ctx); err != nil {
				return fmt.Errorf("lift moratorium: %w", err)
			}
		}
		moratorium = row.toRecord()
		return tx.StoreResponse(store.StatusOK, moratorium.ID, moratorium)
	})
	return moratorium, err
}

// GetMoratorium returns one moratorium. Errors: not_found, also for partners before it
// begins.
func (s *Service) GetMoratorium(ctx context.Context, actor actor.Actor, id string) (*wire.Moratorium, error) {
	return store.OneOrNotFound[wire.Moratorium](store.ResourceMoratorium, id)(s.MoratoriaByID(ctx, actor, []string{id}))
}

// MoratoriaByID returns, by id, the moratoria that the actor may see.
func (s *Service) MoratoriaByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.Moratorium, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	return store.GetManyByID(ctx, s.Store, store.ResourceMoratorium, ids, func(q *bun.SelectQuery) *bun.SelectQuery { return restrictToStarted(caller, q) }, func(r *MoratoriumRow) (string, *wire.Moratorium) {
		return store.ResourceMoratorium.FormatID(r.ID), r.toRecordFor(caller)
	})
}

// ListMoratoria returns present and future moratoria, and with past also ended ones,
// newest first. Every actor that may read products sees the present ones. Only operators
// see future ones, because an announcement would cause purchases before the start.
// Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListMoratoria(ctx context.Context, caller actor.Actor, past bool, in store.PageRequest) (*store.Page[wire.Moratorium], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	var rows []MoratoriumRow
	q := restrictToStarted(caller, s.DB.NewSelect().Model(&rows))
	if !past {
		q = q.Where("mo.lifted_at is null").Where("mo.ends_at > " + store.BusinessNowSQL)
	}
	p, err := s.FetchPage(ctx, caller, q, in, fmt.Sprintf("moratoria/%t", past), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, func(r *MoratoriumRow) string { return r.ID.String() }, func(r *MoratoriumRow) wire.Moratorium { return *r.toRecordFor(caller) })
}

// restrictToStarted restricts a query over moratoria to those that the actor may see.
func restrictToStarted(a actor.Actor, q *bun.SelectQuery) *bun.SelectQuery {
	if a.IsAllowed(actor.ScopeOperator) {
		return q
	}
	return q.Where("mo.starts_at <= " + store.BusinessNowSQL)
}

// toRecordFor returns the record without the members that only operators may see, unless
// the actor is an operator.
func (r *MoratoriumRow) toRecordFor(caller actor.Actor) *wire.Moratorium {
	m := r.toRecord()
	if !caller.IsAllowed(actor.ScopeOperator) {
		m.Author, m.AuthorIssuer = nil, nil
	}
	return m
}

func (r *MoratoriumRow) toRecord() *wire.Moratorium {
	m := &wire.Moratorium{
		ID: store.ResourceMoratorium.FormatID(r.ID), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		StartsAt: r.StartsAt, EndsAt: r.EndsAt, LiftedAt: r.LiftedAt, OccurrenceID: store.ResourceOccurrence.FormatOptionalID(r.OccurrenceID),
		Reason: r.Reason, Author: new(r.Author.Name()), AuthorIssuer: r.Author.Issuer(), Station: r.Station, Latitude: r.Latitude, Longitude: r.Longitude, RadiusKM: r.RadiusKM,
	}
	if r.Kind != nil {
		m.Kind = new(string(*r.Kind))
	}
	return m
}

// MoratoriumReading is one reading that closes the places around it until a time.
type MoratoriumReading struct {
	Latitude  float64   `json:"latitude"`
	Longitude float64   `json:"longitude"`
	EndsAt    time.Time `json:"ends_at"`
}
