package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

type stationRow struct {
	bun.BaseModel `bun:"table:stations,alias:st"`

	Name                string `bun:",pk"`
	AgencyID            *string
	Latitude, Longitude *float64
	Enabled             bool
	Version             int64
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// StationRequest registers a station or changes its registration. A member that is nil
// keeps its value.
type StationRequest struct {
	Name                string // as in observations and the price history; immutable
	AgencyID            *string
	Latitude, Longitude *float64
	Enabled             *bool  // by default true; false stops new quotes
	Reason              string // private
}

func (in *StationRequest) validate(v *apperr.Validator) {
	name := func(text, at string) {
		v.Require(text != "" && utf8.RuneCountInString(text) <= 128 && audit.IsStorableText(text), at, "length", "Use 1 to 128 characters.")
	}
	name(in.Name, "/name")
	if in.AgencyID != nil {
		name(*in.AgencyID, "/agency_id")
	}
	v.Require((in.Latitude == nil) == (in.Longitude == nil), "/longitude", "required", "Give latitude and longitude, or neither.")
	v.Require(in.Latitude == nil || *in.Latitude >= -90 && *in.Latitude <= 90, "/latitude", "value", "Use degrees from -90 to 90.")
	v.Require(in.Longitude == nil || *in.Longitude >= -180 && *in.Longitude <= 180, "/longitude", "value", "Use degrees from -180 to 180.")
	audit.RequireNote(v, &in.Reason, "/reason")
}

// RegisterStation registers a station, or changes the members that the request gives. New
// quotes cannot insure a disabled station, on every node within seconds; policies keep it.
// Operators only. Errors: validation_failed.
func (s *Service) RegisterStation(ctx context.Context, caller actor.Actor, in StationRequest) (station *wire.Station, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.validate(v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	history, err := s.loadFullHistory(ctx)
	if err != nil {
		return nil, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := &stationRow{
			Name: in.Name, AgencyID: in.AgencyID, Latitude: in.Latitude, Longitude: in.Longitude, Enabled: in.Enabled == nil || *in.Enabled,
			Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now,
		}
		query := tx.NewInsert().Model(row).On("conflict (name) do update").Set("version = st.version + 1").Set("updated_at = excluded.updated_at")
		for column, given := range map[string]bool{"agency_id": in.AgencyID != nil, "latitude": in.Latitude != nil, "longitude": in.Longitude != nil, "enabled": in.Enabled != nil} {
			if given {
				query.Set("? = excluded.?", bun.Ident(column), bun.Ident(column))
			}
		}
		if err := query.Returning("*").Scan(ctx); err != nil {
			return fmt.Errorf("register station: %w", err)
		}
		station = row.toRecord(history)
		tx.Describe("", row.Name, &in.Reason)
		return tx.StoreResponse(store.StatusOK, row.Name, station)
	})
	store.Local[historyCache](s.Store).expire()
	return station, err
}

// loadFullHistory returns the history of new quotes with its disabled stations.
func (s *Service) loadFullHistory(ctx context.Context) (*hazard.History, error) {
	digests, err := selectEditions(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	return buildHistory(ctx, s.Store, historySelection{digests: digests})
}

// Stations lists the stations of the price history and the registered ones, by name.
// Errors: cursor_invalid.
func (s *Service) Stations(ctx context.Context, caller actor.Actor, in store.PageRequest) (*store.Page[wire.Station], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "stations", store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	history, err := s.loadFullHistory(ctx)
	if err != nil {
		return nil, err
	}
	var registered []stationRow
	if err := s.DB.NewSelect().Model(&registered).Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list stations: %w", err))
	}
	byName := make(map[string]stationRow, len(registered))
	for _, name := range history.StationNames() {
		byName[name] = stationRow{Name: name, Enabled: true}
	}
	for _, row := range registered {
		byName[row.Name] = row
	}
	p.Count = func(context.Context) (int, error) { return len(byName), nil }
	rows := slices.SortedFunc(maps.Values(byName), func(a, b stationRow) int { return strings.Compare(a.Name, b.Name) })
	rows = slices.DeleteFunc(rows, func(row stationRow) bool { return row.Name <= p.After })
	rows = rows[:min(len(rows), int(p.FetchLimit()))]
	return store.NewPage(p, rows, func(r *stationRow) string { return r.Name }, func(r *stationRow) wire.Station { return *r.toRecord(history) })
}

func (r *stationRow) toRecord(history *hazard.History) *wire.Station {
	record := &wire.Station{Name: r.Name, AgencyID: r.AgencyID, Latitude: r.Latitude, Longitude: r.Longitude, Enabled: r.Enabled}
	if known, ok := history.Station(r.Name); ok {
		record.PrecipitationYears = len(known.WholeYears(func(d hazard.Day) bool { return d.PrecipitationMM != nil }))
		record.TemperatureYears = len(known.WholeYears(func(d hazard.Day) bool { return d.HighestC != nil }))
		record.FirstDay, record.LastDay = &known.Days[0].Date, &known.Days[len(known.Days)-1].Date
	}
	return record
}
