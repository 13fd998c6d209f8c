package pricing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
)

// UninsurableError is the error for a premium above the product's largest rate on line:
// the event is so frequent that cover would only exchange money.
type UninsurableError struct { //nolint:errname // the contract's term
	Premium    money.Money     // premium of the refused cover
	RateOnLine decimal.Decimal // premium / limit
	Maximum    decimal.Decimal // the product's largest rate on line
	Remedy     *Remedy         // smaller cover that would be sold; nil if none was found
	Cheaper    []string        // other changes of the context that can lower the price, such as "a lower attach"
}

// Error returns a sentence that partners may see.
func (e *UninsurableError) Error() string {
	return fmt.Sprintf("the premium would be %s, a rate on line of %s; this product is sold up to %s; %s",
		e.Premium, e.RateOnLine.StringFixed(4), e.Maximum, e.Suggestion())
}

// Suggestion describes cover that would be sold and other ways to lower the price,
// without a full stop.
func (e *UninsurableError) Suggestion() string {
	cheaper := strings.Join(e.Cheaper, " or ")
	switch {
	case e.Remedy == nil && cheaper == "":
		return "this product has no cheaper cover there"
	case e.Remedy == nil:
		return "to lower the price, choose " + cheaper
	case cheaper == "":
		return e.Remedy.sentence()
	}
	return e.Remedy.sentence() + "; to lower the price otherwise, choose " + cheaper
}

// cheaper lists the context members that lower the price of the cover.
func (par Parameters) cheaper(c *trigger.Cover, start time.Time) (words []string) {
	beyond := "higher"
	if c.Trigger.Direction == trigger.AtMost {
		beyond = "lower"
	}
	isAtBound := map[string]bool{
		"days":    c.Trigger.Days == 1,
		"exhaust": c.Trigger.Direction == trigger.AtMost && c.Payout.Exhaust != nil && c.Payout.Exhaust.IsZero(),
	}
	ways := []struct{ member, words string }{
		{"location", "another location"},
		{"radius_km", "a smaller radius_km"},
		{"box", "another or a smaller box"},
		{"maximum_depth_km", "a smaller maximum_depth_km"},
		{"station", "another station"},
		{"steps", beyond + " thresholds"},
		{"attach", "a " + beyond + " attach"},
		{"exhaust", "a " + beyond + " exhaust"},
		{"days", "fewer days"},
	}
	end, err := trigger.AddDuration(start, c.Term)
	if c.Trigger.Calendar == trigger.Dekad && c.Trigger.Direction == trigger.AtMost && err == nil && holdsWhole(trigger.Month, c.PayableFrom(start), end) {
		ways = append(ways, struct{ member, words string }{"calendar", "months instead of dekads"})
	}
	isBox := c.Place.Kind == trigger.InBox
	ways = slices.DeleteFunc(ways, func(way struct{ member, words string }) bool {
		return isAtBound[way.member] || isBox && (way.member == "location" || way.member == "radius_km") || !isBox && way.member == "box"
	})
	for _, way := range ways {
		if par.chooses(way.member) {
			words = append(words, way.words)
		}
	}
	return words
}

func (par Parameters) chooses(member string) bool { return slices.Contains(par.Members, member) }

// UnpriceableError is the error for terms that the price data cannot answer.
type UnpriceableError struct { //nolint:errname // as above
	Member string // member of the context: location, box, station, steps, attach, term
	Detail string // what is wrong and what is allowed, without the subject: "must be at most P366D"
}

// Error returns a sentence that partners may see.
func (e *UnpriceableError) Error() string { return e.Member + " " + e.Detail }

// CheckPriceable returns an *UnpriceableError if the data cannot price a cover that
// starts at start: thresholds below what is recorded, a place outside the basin of the
// tracks, a station with too few years, a term of more than a year or not of whole
// days.
func CheckPriceable(c trigger.Cover, h *hazard.History, start time.Time) error {
	methods := methodsFor(&c)
	if methods == nil {
		return &UnpriceableError{"trigger", fmt.Sprintf("has no price data for %q", c.Trigger.Kind)}
	}
	if err := methods.checkPriceable(&c, h); err != nil {
		return err
	}
	return CheckTerm(c, start)
}

// CheckTerm is the part of CheckPriceable that depends on the start of cover, also on its
// time of day: a waiting period may be hours.
func CheckTerm(c trigger.Cover, start time.Time) error {
	end, err := trigger.AddDuration(start, c.Term)
	if err != nil {
		return fmt.Errorf("term: %w", err)
	}
	if latest, err := trigger.AddDuration(start, LongestTerm); err == nil && end.After(latest) {
		return &UnpriceableError{"term", "must be at most " + LongestTerm + ": prices are those of one year"}
	}
	if end.Sub(start)%(24*time.Hour) != 0 {
		return &UnpriceableError{"term", "must be whole days, such as P2D: prices count days"}
	}
	definition := c.Trigger.Definition()
	if definition == nil || definition.Calendar() == "" {
		return nil
	}
	calendar := definition.Calendar()
	if !holdsWhole(calendar, c.PayableFrom(start), end) {
		return &UnpriceableError{"term", fmt.Sprintf("must hold a whole %s after the waiting period, which ends at %s",
			calendar, c.PayableFrom(start).UTC().Format(time.RFC3339))}
	}
	return nil
}

// holdsWhole reports whether a whole period of the calendar lies between two times.
func holdsWhole(calendar trigger.Calendar, from, to time.Time) bool {
	first := calendar.FirstFrom(from)
	return !calendar.FirstFrom(first.AddDate(0, 0, 1)).After(to)
}
