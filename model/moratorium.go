package model

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// moratoriumRow is a time and a place without sales of cover. Without a kind it applies
// to every peril, without a place to the whole world.
type moratoriumRow struct {
	bun.BaseModel `bun:"table:moratoria,alias:mo"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	Version      int64
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Kind         *hazard.Kind
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
	Readings []moratoriumReading `bun:"type:json,nullzero"`
	Reason   string
	Author   personID
}

// MoratoriumRequest stops sales.
type MoratoriumRequest struct {
	Kind     *hazard.Kind   // nil: every peril
	Place    *trigger.Place // nil: everywhere
	StartsAt *time.Time     // nil: now
	EndsAt   time.Time
	Reason   string // public: partners read it when a bind is rejected
}

// maxMoratoriumDuration bounds a moratorium. To stop sales permanently, operators
// withdraw the product from sale.
const maxMoratoriumDuration = 366 * 24 * time.Hour

func (in *MoratoriumRequest) validate(v *validator) {
	v.require(in.Kind == nil || *in.Kind == hazard.Earthquake || *in.Kind == hazard.StormFix || *in.Kind == hazard.StationDay, "/kind", "enum", "Use earthquake, storm_fix or station_day; leave it out for every peril.")
	v.requireNote(&in.Reason, "/reason")
	if in.Place != nil {
		valid := in.Place.Kind == trigger.AtStation && in.Place.Station != "" ||
			in.Place.Kind == trigger.Circle && math.Abs(in.Place.Latitude) <= 90 && math.Abs(in.Place.Longitude) <= 180 && in.Place.RadiusKM > 0 && in.Place.RadiusKM <= 20_100
		v.require(valid, "/place", "value", "Use a circle with latitude, longitude and radius_km, or a station; leave it out for everywhere.")
	}
}

// DeclareMoratorium stops the sale of cover by place, peril and time: during it, binds of
// cover that starts before its end are rejected with moratorium_active. Operators only.
// Errors: validation_failed.
func (s *Service) DeclareMoratorium(ctx context.Context, actor Actor, in MoratoriumRequest) (*wire.Moratorium, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	v := newValidator(ctx)
	in.validate(v)
	if err := v.err(); err != nil {
		return nil, err
	}
	var moratorium *wire.Moratorium
	err := s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row := tx.newMoratorium(in)
		if !row.StartsAt.Before(row.EndsAt) || !tx.now.Before(row.EndsAt) || row.EndsAt.Sub(row.StartsAt) > maxMoratoriumDuration {
			return Invalid(newFieldError("/ends_at", "value", "Use a time after its start and after now, at most 366 days later."))
		}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("insert moratorium: %w", err)
		}
		moratorium = row.toRecord()
		tx.describe("", moratorium.ID, &in.Reason)
		return tx.storeResponse(statusCreated, moratorium.ID, moratorium)
	})
	return moratorium, err
}

func (tx *Tx) newMoratorium(in MoratoriumRequest) *moratoriumRow {
	row := &moratoriumRow{
		ID: newID(), Version: 1, CreatedAt: tx.now, UpdatedAt: tx.now, Kind: in.Kind,
		StartsAt: tx.now, EndsAt: in.EndsAt, Reason: in.Reason, Author: tx.actor.personID(),
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
func (s *Service) LiftMoratorium(ctx context.Context, actor Actor, id string) (*wire.Moratorium, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	key, err := resourceMoratorium.parseID(id)
	if err != nil {
		return nil, err
	}
	var moratorium *wire.Moratorium
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row := new(moratoriumRow)
		if err := tx.NewSelect().Model(row).Where("id = ?", key).For("NO KEY UPDATE").Scan(ctx); err != nil {
			if isNoRows(err) {
				return resourceMoratorium.notFoundError()
			}
			return fmt.Errorf("lock moratorium: %w", err)
		}
		if row.LiftedAt == nil && tx.now.Before(row.EndsAt) {
			row.LiftedAt, row.UpdatedAt = &tx.now, tx.now
			row.Version++
			if _, err := tx.NewUpdate().Model(row).Column("lifted_at", "updated_at", "version").WherePK().Exec(ctx); err != nil {
				return fmt.Errorf("lift moratorium: %w", err)
			}
		}
		moratorium = row.toRecord()
		return tx.storeResponse(statusOK, moratorium.ID, moratorium)
	})
	return moratorium, err
}

// GetMoratorium returns one moratorium. Errors: not_found, also for partners before it
// begins.
func (s *Service) GetMoratorium(ctx context.Context, actor Actor, id string) (*wire.Moratorium, error) {
	return oneOrNotFound[wire.Moratorium](resourceMoratorium, id)(s.MoratoriaByID(ctx, actor, []string{id}))
}

// MoratoriaByID returns, by id, the moratoria that the actor may see.
func (s *Service) MoratoriaByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Moratorium, error) {
	if err := s.authorize(ctx, actor, ScopeProductsRead); err != nil {
		return nil, err
	}
	return getManyByID(ctx, s, resourceMoratorium, ids, actor.restrictToStarted, func(r *moratoriumRow) (string, *wire.Moratorium) {
		return resourceMoratorium.formatID(r.ID), r.toRecordFor(actor)
	})
}

// ListMoratoria returns present and future moratoria, and with past also ended ones,
// newest first. Every actor that may read products sees the present ones. Only operators
// see future ones, because an announcement would cause purchases before the start.
// Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListMoratoria(ctx context.Context, actor Actor, past bool, in PageRequest) (*Page[wire.Moratorium], error) {
	if err := s.authorize(ctx, actor, ScopeProductsRead); err != nil {
		return nil, err
	}
	var rows []moratoriumRow
	q := actor.restrictToStarted(s.db.NewSelect().Model(&rows))
	if !past {
		q = q.Where("mo.lifted_at is null").Where("mo.ends_at > " + businessNowSQL)
	}
	p, err := s.fetchPage(ctx, actor, q, in, fmt.Sprintf("moratoria/%t", past), newestFirst)
	if err != nil {
		return nil, err
	}
	return newPage(p, rows, func(r *moratoriumRow) string { return r.ID.String() }, func(r *moratoriumRow) wire.Moratorium { return *r.toRecordFor(actor) })
}

// restrictToStarted restricts a query over moratoria to those that the actor may see.
func (a Actor) restrictToStarted(q *bun.SelectQuery) *bun.SelectQuery {
	if a.isAllowed(ScopeOperator) {
		return q
	}
	return q.Where("mo.starts_at <= " + businessNowSQL)
}

// toRecordFor returns the record without the members that only operators may see, unless
// the actor is an operator.
func (r *moratoriumRow) toRecordFor(actor Actor) *wire.Moratorium {
	m := r.toRecord()
	if !actor.isAllowed(ScopeOperator) {
		m.Author, m.AuthorIssuer = nil, nil
	}
	return m
}

func (r *moratoriumRow) toRecord() *wire.Moratorium {
	m := &wire.Moratorium{
		ID: resourceMoratorium.formatID(r.ID), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		StartsAt: r.StartsAt, EndsAt: r.EndsAt, LiftedAt: r.LiftedAt, OccurrenceID: resourceOccurrence.formatOptionalID(r.OccurrenceID),
		Reason: r.Reason, Author: new(r.Author.name()), AuthorIssuer: r.Author.issuer(), Station: r.Station, Latitude: r.Latitude, Longitude: r.Longitude, RadiusKM: r.RadiusKM,
	}
	if r.Kind != nil {
		m.Kind = new(string(*r.Kind))
	}
	return m
}

// moratoriumReading is one reading that closes the places around it until a time.
type moratoriumReading struct {
	Latitude  float64   `json:"latitude"`
	Longitude float64   `json:"longitude"`
	EndsAt    time.Time `json:"ends_at"`
}
