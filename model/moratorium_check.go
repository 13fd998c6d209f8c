package model

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// activeMoratoriumSQL are the moratoria that hold at an instant of SQL.
func activeMoratoriumSQL(now string) string {
	return "mo.lifted_at is null and mo.starts_at <= " + now + " and mo.ends_at > " + now
}

// transactionNowSQL is the business time at which a statement outside a transaction, or
// its transaction, began: a constant to the planner, unlike businessNowSQL.
const transactionNowSQL = "now() + (select shift from clock)"

// queueMoratoriumCheck refuses the policy that is being inserted while a moratorium
// closes its peril and place for cover that starts when its cover does. It is sent with
// the insert.
func (tx *Tx) queueMoratoriumCheck(row *policyRow) {
	tx.batch.Queue("select latitude, longitude, radius_km, station, ends_at, readings, reason from moratoria as mo where "+activeMoratoriumSQL("$1")+" and (kind is null or kind = $2)", tx.now, row.Kind).
		Query(func(rows pgx.Rows) error {
			var all []moratoriumRow
			for rows.Next() {
				var m moratoriumRow
				if err := rows.Scan(&m.Latitude, &m.Longitude, &m.RadiusKM, &m.Station, &m.EndsAt, &m.Readings, &m.Reason); err != nil {
					return err
				}
				all = append(all, m)
			}
			if m := findActiveMoratorium(all, row.Cover, row.EffectiveAt); m != nil {
				return Fail(CodeMoratoriumActive, "No cover that starts before %s is sold at this place: %s", m.EndsAt.Format(time.RFC3339), m.Reason)
			}
			return rows.Err()
		})
}

// findActiveMoratorium is what closes a cover that starts at a time: of several moratoria the one
// that ends last; nil when it can be bound.
func findActiveMoratorium(all []moratoriumRow, cover trigger.Cover, starts time.Time) *wire.QuoteMoratorium {
	var last *wire.QuoteMoratorium
	for i := range all {
		if ends, closed := all[i].closesCover(cover, starts); closed && (last == nil || ends.After(last.EndsAt)) {
			last = &wire.QuoteMoratorium{Reason: all[i].Reason, EndsAt: ends.UTC()}
		}
	}
	return last
}

// closesCover tells whether a moratorium that stands closes a cover that starts at a time,
// and when it ends for the cover's place: circles must overlap, stations be the same,
// and of several readings each closes its own surroundings for its own time.
func (r *moratoriumRow) closesCover(cover trigger.Cover, starts time.Time) (ends time.Time, closed bool) {
	place := cover.Place
	switch {
	case r.Kind != nil && *r.Kind != cover.Trigger.Kind:
	case r.Station != nil && place.Station != *r.Station:
	case r.Station != nil || r.Latitude == nil:
		ends = r.EndsAt
	case place.Kind != trigger.Circle:
	case len(r.Readings) == 0:
		if isWithinRadius(*r.Latitude, *r.Longitude, *r.RadiusKM, place) {
			ends = r.EndsAt
		}
	default:
		for _, reading := range r.Readings {
			if reading.EndsAt.After(ends) && isWithinRadius(reading.Latitude, reading.Longitude, *r.RadiusKM, place) {
				ends = reading.EndsAt
			}
		}
	}
	return ends, starts.Before(ends)
}

// isWithinRadius tells whether any of a circular place lies within a radius, bounds included.
func isWithinRadius(latitude, longitude, radiusKM float64, place trigger.Place) bool {
	centre := hazard.Point{Latitude: place.Latitude, Longitude: place.Longitude}
	return hazard.Distance(hazard.Point{Latitude: latitude, Longitude: longitude}, centre) <= radiusKM+place.RadiusKM
}

// toRecordAt is a quote's record at a time: as long as it can be bound it shows what would
// refuse that.
func (r *quoteRow) toRecordAt(now time.Time, all []moratoriumRow) *wire.Quote {
	quote := r.toRecord()
	if r.Status == QuotePriced {
		starts := now
		if r.Cover.StartsAt != nil {
			starts = *r.Cover.StartsAt
		}
		quote.Moratorium = findActiveMoratorium(all, r.Cover, starts)
	}
	return quote
}

// queueMoratoria has the moratoria that stand read with what is sent next.
func (tx *Tx) queueMoratoria(into *[]moratoriumRow) {
	tx.queueSelect(into, fmt.Sprintf("%s where %s", tx.svc.selectStatement((*moratoriumRow)(nil)), activeMoratoriumSQL("("+transactionNowSQL+")")))
}
