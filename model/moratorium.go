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

// moratoriumRow is a time and a place where no cover is sold. Without a kind it is
// for every peril, without a place for the whole world.
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
	OccurrenceID *uuid.UUID `bun:"type:uuid"` // of the event that caused it; nil when an operator did
	// Readings are the readings of that event that close the places around them. The
	// coordinates above are those of the newest one.
	Readings []moratoriumReading `bun:"type:json,nullzero"`
	Reason   string
	Author   personID
}

// MoratoriumRequest stops sales.
type MoratoriumRequest struct {
	Kind     *hazard.Kind   // every peril without
	Place    *trigger.Place // everywhere without
	StartsAt *time.Time     // now without
	EndsAt   time.Time
	Reason   string // public: partners who are refused read it
}

// maxMoratoriumDuration bounds a moratorium: who wants to stop for ever takes the product
// off sale.
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

// DeclareMoratorium stops the sale of cover by place, peril and time: binds of cover
// that starts before its end are refused with moratorium_active while it holds. Operators only. Errors:
// validation_failed.
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

// LiftMoratorium ends a moratorium before its time; one that is over stays as it
// is. Operators only. Errors: not_found.
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

// GetMoratorium is one moratorium. Errors: not_found, also for one that has not
// begun when a partner asks.
func (s *Service) GetMoratorium(ctx context.Context, actor Actor, id string) (*wire.Moratorium, error) {
	return oneOrNotFound[wire.Moratorium](resourceMoratorium, id)(s.MoratoriaByID(ctx, actor, []string{id}))
}

// MoratoriaByID are those of the moratoria that the actor may know of, by id.
func (s *Service) MoratoriaByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Moratorium, error) {
	if err := s.authorize(ctx, actor, ScopeProductsRead); err != nil {
		return nil, err
	}
	return getManyByID(ctx, s, resourceMoratorium, ids, actor.restrictToStarted, func(r *moratoriumRow) (string, *wire.Moratorium) {
		return resourceMoratorium.formatID(r.ID), r.toRecordFor(actor)
	})
}

// ListMoratoria are moratoria that hold or will, and with past those that held,
// newest first. Whoever may read products may know where they are not sold, but
// only operators what is about to be stopped: nobody shall hurry to buy it. Errors:
// parameter_invalid, cursor_invalid.
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

// restrictToStarted narrows a query over moratoria to what the actor may know of.
func (a Actor) restrictToStarted(q *bun.SelectQuery) *bun.SelectQuery {
	if a.isAllowed(ScopeOperator) {
		return q
	}
	return q.Where("mo.starts_at <= " + businessNowSQL)
}

// toRecordFor is public without what is for operators' eyes.
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
