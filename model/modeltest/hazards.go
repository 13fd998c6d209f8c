package modeltest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// Epicentre is a point 20 km from Hualien.
var Epicentre = hazard.Point{Latitude: 24.174, Longitude: 121.653}

// Hualien is the centre of the insured circles.
var Hualien = hazard.Point{Latitude: 23.98, Longitude: 121.61}

// NewUSD returns an amount in US cents.
func NewUSD(minor int64) *money.Money {
	m := money.New(minor, "USD")
	return &m
}

// StationDays returns consecutive days at a policy's station, one value a day; "-" is a
// missing day.
func StationDays(policy *wire.Policy, first time.Time, values ...string) (in []wire.ObservationInput) {
	for i, value := range values {
		if value != "-" {
			in = append(in, StationDay(policy.Cover.Place.Station, first.AddDate(0, 0, i), value))
		}
	}
	return in
}

// ObserveRain reports consecutive days at a policy's station and decides.
func ObserveRain(b *Bundle, policy *wire.Policy, first time.Time, values ...string) {
	b.Observe(StationDays(policy, first, values...)...)
	b.RunJobs()
}

// RainSpell returns wet days and the dry days that end the spell.
func RainSpell(policy *wire.Policy, first time.Time, values ...string) []wire.ObservationInput {
	return StationDays(policy, first, append(values, "0", "0", "0")...)
}

// NewRetraction retracts a quake's reading: it gives its id and no values.
func NewRetraction(id string) wire.ObservationInput {
	return wire.ObservationInput{Source: "usgs", SourceEventID: id, Kind: hazard.Earthquake, Stage: trigger.Retracted}
}

// OccurrenceStage returns the stage of the only occurrence of an event.
func OccurrenceStage(t *testing.T, b *Bundle, event string) (stage string) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select stage from occurrences where source_event_id = $1", event).Scan(&stage))
	return stage
}

// Miami is the insured centre of a cyclone-circle that gives no other.
var Miami = hazard.Point{Latitude: 25.7617, Longitude: -80.1918}

// FixInterval is the time between two fixes of a storm.
const FixInterval = 6 * time.Hour

// ObserveFix reports the storm's next fix over Miami and decides.
func ObserveFix(b *Bundle, storm, wind string, stage trigger.Stage) {
	b.AdvanceClock(FixInterval)
	fix := Fix(storm, b.Now(), Miami, wind)
	fix.Stage = stage
	b.Observe(fix)
	b.RunJobs()
}

// FirstWholeDay returns the first UTC day that lies wholly after a time.
func FirstWholeDay(at time.Time) time.Time {
	day := at.Truncate(24 * time.Hour)
	if day.Before(at) {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// RecordFinalTrack reports all fixes of a storm.
func RecordFinalTrack(t *testing.T, b *Bundle, fixes ...wire.ObservationInput) []wire.ObservationResult {
	t.Helper()
	for i := range fixes {
		fixes[i].Stage = trigger.Final
	}
	results, err := b.Service.Occurrences.RecordFinalTrack(t.Context(), b.Source, fixes, false)
	require.NoError(t, err)
	return results
}

// ScatterPolicies copies a bound policy with its quote over the whole earth: a circle every
// few degrees, away from the first one.
const ScatterPolicies = `with copies as (
		select gen_random_uuid() as quote, gen_random_uuid() as policy, -60 + 120 * random() as lat, -180 + 280 * random() as lon
		from generate_series(1, %d)
	), quoted as (
		insert into quotes select c.quote, q.partner, q.version, q.created_at, q.updated_at, null, q.metadata, q.status, q.product, q.product_version,
			q.context, q.ignored_context, q.cover, q.terms_hash, q.price, q.basis, q.history, q.premium_amount, q.currency, q.expires_at, c.policy, q.offer
		from quotes q, copies c where q.id = (select quote_id from policies limit 1) returning 1
	)
	insert into policies select c.policy, p.partner, p.version, p.created_at, p.updated_at, null, p.metadata, p.status, c.quote, p.product, p.product_version,
		p.policyholder, jsonb_set(p.cover::jsonb, '{place}', jsonb_build_object('kind', 'circle', 'latitude', c.lat, 'longitude', c.lon, 'radius_km', 50))::json,
		p.terms_hash, p.currency, p.premium_amount, p.limit_amount, p.limit_remaining, p.effective_at, p.payable_from, p.expires_at, p.reportable_until,
		p.cancelled_at, p.kind, box(point(c.lon + 0.9, c.lat + 0.5), point(c.lon - 0.9, c.lat - 0.5)), null
	from policies p, copies c where p.quote_id is not null`

// OneSource is the measurement of a product that one source decides.
func OneSource(source, stage string) string {
	return fmt.Sprintf(`measurement:
  sources: [{source: %s, stage: %s}]
  rule: {kind: first_of}
  wait: P7D
  fallback: none
  long_stop: P90D
  challenge_window: P30D

`, source, stage)
}

// PublishMeasured publishes a new version of a shipped product with a measurement, or
// without one for an empty text.
func (b *Bundle) PublishMeasured(key, measurement string, version int) {
	b.t.Helper()
	_, _, err := b.Service.Products.Publish(b.ctx, b.Operator, []byte(MeasuredDocument(key, measurement, version)))
	require.NoError(b.t, err)
}

// MeasuredDocument returns a shipped product's document with another measurement and
// version, at stations without a waiting period.
func MeasuredDocument(key, measurement string, version int) string {
	document := ""
	for _, p := range product.Shipped() {
		if p.Key() == key {
			document = strings.Replace(string(p.Source()), fmt.Sprintf("\nversion: %d\n", p.Version()), fmt.Sprintf("\nversion: %d\n", version), 1)
		}
	}
	document = strings.NewReplacer("\n  waiting_period: P7D\n", "\n  waiting_period: P0D\n", "\n  shortest_term: P8D\n", "\n  shortest_term: P1D\n").Replace(document)
	before, after, _ := strings.Cut(document, "\ntimes:\n")
	before, _, _ = strings.Cut(before, "\nmeasurement:\n")
	return before + "\n" + measurement + "times:\n" + after
}

// QuakeHistory returns a file of price history with every nth shipped earthquake.
func QuakeHistory(n int) []byte {
	var file bytes.Buffer
	file.WriteString("# data_set: earthquakes\n# name: Some earthquakes\n# first_year: 1965\n# last_year: 2022\n# minimum_magnitude: 5.5\n")
	for i, q := range hazard.Shipped().Quakes() {
		if i%n > 0 {
			continue
		}
		depth := ""
		if q.DepthKM != nil {
			depth = q.DepthKM.String()
		}
		_, _ = fmt.Fprintf(&file, "%s,%g,%g,%s,%s,%s\n", q.At.Format(time.RFC3339Nano), q.Where.Latitude, q.Where.Longitude, q.Magnitude, depth, q.EventID)
	}
	return file.Bytes()
}
