package model

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// standing are the moratoria that hold at an instant of SQL.
func standing(now string) string {
	return "mo.lifted_at is null and mo.starts_at <= " + now + " and mo.ends_at > " + now
}

// transactionNow is the business time at which a statement outside a transaction, or
// its transaction, began: a constant to the planner, unlike businessNow.
const transactionNow = "now() + (select shift from clock)"

// refuseInMoratorium refuses the policy that is being inserted while a moratorium
// closes its peril and place for cover that starts when its cover does. It is sent with
// the insert.
func (u *unit) refuseInMoratorium(row *policyRow) {
	u.later.Queue("select latitude, longitude, radius_km, station, ends_at, readings, reason from moratoria as mo where "+standing("$1")+" and (kind is null or kind = $2)", u.now, row.Kind).
		Query(func(rows pgx.Rows) error {
			var all []moratoriumRow
			for rows.Next() {
				var m moratoriumRow
				if err := rows.Scan(&m.Latitude, &m.Longitude, &m.RadiusKM, &m.Station, &m.EndsAt, &m.Readings, &m.Reason); err != nil {
					return err
				}
				all = append(all, m)
			}
			if m := closing(all, row.Cover, row.EffectiveAt); m != nil {
				return Fail(CodeMoratoriumActive, "No cover that starts before %s is sold at this place: %s", m.EndsAt.Format(time.RFC3339), m.Reason)
			}
			return rows.Err()
		})
}

// closing is what closes a cover that starts at a time: of several moratoria the one
// that ends last; nil when it can be bound.
func closing(all []moratoriumRow, cover trigger.Cover, starts time.Time) *wire.QuoteMoratorium {
	var last *wire.QuoteMoratorium
	for i := range all {
		if ends, closed := all[i].closes(cover, starts); closed && (last == nil || ends.After(last.EndsAt)) {
			last = &wire.QuoteMoratorium{Reason: all[i].Reason, EndsAt: ends.UTC()}
		}
	}
	return last
}

// closes tells whether a moratorium that stands closes a cover that starts at a time,
// and when it ends for the cover's place: circles must overlap, stations be the same,
// and of several readings each closes its own surroundings for its own time.
func (r *moratoriumRow) closes(cover trigger.Cover, starts time.Time) (ends time.Time, closed bool) {
	place := cover.Place
	switch {
	case r.Kind != nil && *r.Kind != cover.Trigger.Kind:
	case r.Station != nil && place.Station != *r.Station:
	case r.Station != nil || r.Latitude == nil:
		ends = r.EndsAt
	case place.Kind != trigger.Circle:
	case len(r.Readings) == 0:
		if near(*r.Latitude, *r.Longitude, *r.RadiusKM, place) {
			ends = r.EndsAt
		}
	default:
		for _, reading := range r.Readings {
			if reading.EndsAt.After(ends) && near(reading.Latitude, reading.Longitude, *r.RadiusKM, place) {
				ends = reading.EndsAt
			}
		}
	}
	return ends, starts.Before(ends)
}

// near tells whether any of a circular place lies within a radius, bounds included.
func near(latitude, longitude, radiusKM float64, place trigger.Place) bool {
	centre := hazard.Point{Latitude: place.Latitude, Longitude: place.Longitude}
	return hazard.Distance(hazard.Point{Latitude: latitude, Longitude: longitude}, centre) <= radiusKM+place.RadiusKM
}

// offered is a quote's record at a time: as long as it can be bound it shows what would
// refuse that.
func (r *quoteRow) offered(now time.Time, all []moratoriumRow) *wire.Quote {
	quote := r.public()
	if r.Status == QuotePriced {
		starts := now
		if r.Cover.StartsAt != nil {
			starts = *r.Cover.StartsAt
		}
		quote.Moratorium = closing(all, r.Cover, starts)
	}
	return quote
}

// readMoratoria has the moratoria that stand read with what is sent next.
func (u *unit) readMoratoria(into *[]moratoriumRow) {
	u.read(into, fmt.Sprintf("%s where %s", u.svc.selectText((*moratoriumRow)(nil)), standing("("+transactionNow+")")))
}
