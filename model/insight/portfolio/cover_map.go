package portfolio

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/money"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// The largest numbers of covers that a map shows one by one, and of its cells.
const (
	MaxMapCovers = 2000
	MaxMapCells  = 1000
)

// maxMapZoom is the finest zoom: cells of 45 / 2^12 degrees, about a kilometre.
const maxMapZoom = 12

// MapRequest selects the covers of a map. Empty fields select everything.
type MapRequest struct {
	Box                        hazard.Box // West > East crosses the antimeridian
	Zoom                       int        // 0 to maxMapZoom: cells of 45 / 2^Zoom degrees
	Partner, Product, Currency string     // Partner: operators only
}

// mapPlacesSQL selects the active policies whose middle lies in a box, from the index
// policies_map_idx alone: one probe for each degree of latitude and each way in which the
// box may be wrapped. The subquery is planned alone (offset 0), because Postgres cannot
// estimate how many policies a box has.
const mapPlacesSQL = `select p.* from unnest(?0::float8[]) as band cross join unnest(?1::float8[]) as shift
	cross join lateral (
		select id, currency, limit_amount, (@@ footprint)[0] - 360 * floor(((@@ footprint)[0] + 180) / 360) as lon, (@@ footprint)[1] as lat
		from policies where status = 'active' and footprint is not null and floor((@@ footprint)[1]) = band
			and (@@ footprint)[0] between ?2::float8 + shift and ?3::float8 + shift and (@@ footprint)[1] between ?4::float8 and ?5::float8
			and (?6::text = '' or partner = ?6) and (?7::text = '' or product = ?7) and (?8::text = '' or currency = ?8)
		offset 0
	) as p`

// Map returns the covers of active policies with a circle or a box whose middle lies in a
// box: at most MaxMapCovers of them one by one, or else sums by cell. Cells are made larger
// until the box has at most MaxMapCells of them. Errors: parameter_invalid,
// partner_mismatch.
func (s *Service) Map(ctx context.Context, caller actor.Actor, in MapRequest) (*wire.CoverMap, error) {
	err := s.Authorize(ctx, caller, actor.ScopePoliciesRead)
	if err == nil {
		in.Partner, err = caller.PartnerScope(in.Partner)
	}
	if err != nil {
		return nil, err
	}
	if !in.Box.IsOnGlobe() {
		return nil, capacity.InvalidBox()
	}
	if in.Zoom < 0 || in.Zoom > maxMapZoom {
		return nil, apperr.InvalidParameter("zoom", fmt.Sprintf("Use a whole number from 0 to %d.", maxMapZoom))
	}
	drawn := &wire.CoverMap{CellDegrees: in.cellSize(), Covers: []wire.MapCover{}, Cells: []wire.MapCell{}}
	err = s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) error {
		var ids []uuid.UUID
		if err := from.DB.NewRaw("select id from ("+mapPlacesSQL+") as found limit ?9", append(in.args(), MaxMapCovers+1)...).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("read map: %w", err)
		}
		if len(ids) > MaxMapCovers {
			return in.sumCells(ctx, from.DB, drawn)
		}
		return loadMapCovers(ctx, from.DB, ids, drawn)
	})
	return drawn, store.TranslateError(err)
}

// cellSize returns the size of the cells in degrees.
func (in MapRequest) cellSize() float64 {
	box := in.Box.Unwrapped()
	for zoom := in.Zoom; ; zoom-- {
		size := math.Ldexp(45, -zoom)
		if (math.Ceil((box.East-box.West)/size)+1)*(math.Ceil((box.North-box.South)/size)+1) <= MaxMapCells || zoom == 0 {
			return size
		}
	}
}

// args returns the arguments of mapPlacesSQL.
func (in MapRequest) args() []any {
	box, shifts := in.Box.Unwrapped(), []float64{-360, 0, 360}
	if box.East-box.West >= 360 { // every longitude, each once
		box.West, box.East, shifts = -540, 540, []float64{0}
	}
	var bands []float64
	for band := math.Floor(box.South); band <= box.North; band++ {
		bands = append(bands, band)
	}
	return []any{pgdialect.Array(bands), pgdialect.Array(shifts), box.West, box.East, box.South, box.North, in.Partner, in.Product, in.Currency}
}

// sumCells adds the sums of the covers by cell and currency.
func (in MapRequest) sumCells(ctx context.Context, db bun.IDB, drawn *wire.CoverMap) error {
	var rows []struct {
		X, Y     int64
		Currency string
		Count    int64
		Limits   decimal.Decimal
		Lon, Lat float64
	}
	err := db.NewRaw(`select floor(lon / ?9)::bigint as x, floor(lat / ?9)::bigint as y, currency, count(*) as count, sum(limit_amount) as limits, avg(lon) as lon, avg(lat) as lat
		from (`+mapPlacesSQL+`) as found group by 1, 2, 3 order by 1, 2, 3`, append(in.args(), drawn.CellDegrees)...).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("sum map: %w", err)
	}
	var last [2]int64
	for i, row := range rows {
		sum := sums.Converter{Currency: row.Currency}
		limit := sum.ToMoney(row.Limits)
		if sum.Err != nil {
			return sum.Err
		}
		drawn.Policies += row.Count
		if at := [2]int64{row.X, row.Y}; i == 0 || at != last {
			last = at
			drawn.Cells = append(drawn.Cells, wire.MapCell{West: float64(row.X) * drawn.CellDegrees, South: float64(row.Y) * drawn.CellDegrees})
		}
		cell := &drawn.Cells[len(drawn.Cells)-1]
		cell.Policies += row.Count
		weight := float64(row.Count) / float64(cell.Policies)
		cell.Center.Longitude += (row.Lon - cell.Center.Longitude) * weight
		cell.Center.Latitude += (row.Lat - cell.Center.Latitude) * weight
		cell.Limits = append(cell.Limits, limit)
	}
	return nil
}

// loadMapCovers adds covers by the ids of their policies.
func loadMapCovers(ctx context.Context, db bun.IDB, ids []uuid.UUID, drawn *wire.CoverMap) error {
	if len(ids) == 0 {
		return nil
	}
	var rows []struct {
		ID                     uuid.UUID
		Partner, Product, Kind string
		Currency               string
		LimitAmount            int64
		Place                  trigger.Place `bun:"type:json"`
	}
	err := db.NewRaw("select id, partner, product, kind, currency, limit_amount, cover -> 'place' as place from policies where id in (?) order by id desc", bun.List(ids)).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read covers of map: %w", err)
	}
	drawn.Policies = int64(len(rows))
	for _, row := range rows {
		drawn.Covers = append(drawn.Covers, wire.MapCover{
			PolicyID: store.ResourcePolicy.FormatID(row.ID), Partner: row.Partner, Product: row.Product, Peril: row.Kind,
			Place: row.Place, Limit: money.New(row.LimitAmount, row.Currency),
		})
	}
	return nil
}
