package capacity

import (
	"time"

	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// activeMoratoriumSQL is the condition for moratoria that are active at the start of the
// transaction.
const activeMoratoriumSQL = "mo.lifted_at is null and mo.starts_at <= (" + store.TransactionNowSQL + ") and mo.ends_at > (" + store.TransactionNowSQL + ")"

// FindActiveMoratorium returns the moratorium that closes a cover with the given start
// time, the one that ends last if there are several; nil when the cover can be bound.
func FindActiveMoratorium(all []MoratoriumRow, cover trigger.Cover, starts time.Time) *wire.QuoteMoratorium {
	var last *wire.QuoteMoratorium
	for i := range all {
		if ends, closed := all[i].closesCover(cover, starts); closed && (last == nil || ends.After(last.EndsAt)) {
			last = &wire.QuoteMoratorium{Reason: all[i].Reason, EndsAt: ends.UTC()}
		}
	}
	return last
}

// closesCover reports whether an active moratorium closes a cover that starts at a time,
// and when it ends for the cover's place. Circles and boxes must overlap, stations be equal,
// and each of several readings closes the places around it until its own end.
func (r *MoratoriumRow) closesCover(cover trigger.Cover, starts time.Time) (ends time.Time, closed bool) {
	place := cover.Place
	switch {
	case r.Kind != nil && *r.Kind != cover.Trigger.Kind:
	case r.Station != nil && place.Station != *r.Station:
	case r.Station != nil || r.Latitude == nil:
		ends = r.EndsAt
	case place.Kind == trigger.AtStation:
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

// isWithinRadius reports whether any part of a circle or box lies within a radius of a
// point, bounds included.
func isWithinRadius(latitude, longitude, radiusKM float64, place trigger.Place) bool {
	return place.DistanceKM(hazard.Point{Latitude: latitude, Longitude: longitude}) <= radiusKM
}

// ActiveMoratoriaSQL selects the active moratoria, with columns of the names of their rows'
// fields.
func ActiveMoratoriaSQL(db *bun.DB) string {
	return "select " + rowscan.GoColumnAliases(db, (*MoratoriumRow)(nil)) + " from moratoria as mo where " + activeMoratoriumSQL
}

// QueueMoratoria queues a query for the active moratoria; the next flush reads them.
func QueueMoratoria(tx *store.Tx, into *[]MoratoriumRow) {
	tx.QueueRead(into, tx.Store.Statements.Get((*MoratoriumRow)(nil), "active", func() string { return ActiveMoratoriaSQL(tx.Store.DB) }))
}
