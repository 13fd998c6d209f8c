package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/hazard/occurrence"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// timings are the durations of cases: the first run, and the median and the slowest of
// further runs.
type timings struct {
	b                     *testing.B
	first, usual, slowest time.Duration
}

// measure measures a case. After five runs Postgres may use a generic plan for a prepared
// statement.
func (m *timings) measure(name string, ask func(context.Context) error) {
	m.b.Helper()
	const further = 9
	times := make([]time.Duration, 1+further)
	for i := range times {
		began := time.Now()
		require.NoError(m.b, ask(m.b.Context()), name)
		times[i] = time.Since(began)
	}
	first, rest := times[0], times[1:]
	slices.Sort(rest)
	usual, slowest := rest[further/2], rest[further-1]
	m.b.Logf("%8.1f first %8.1f median %8.1f slowest ms: %s", inMilliseconds(first), inMilliseconds(usual), inMilliseconds(slowest), name)
	m.first, m.usual, m.slowest = max(m.first, first), max(m.usual, usual), max(m.slowest, slowest)
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reportMetrics reports the worst case of each.
func (m *timings) reportMetrics() {
	m.b.ReportMetric(inMilliseconds(m.first), "first-ms")
	m.b.ReportMetric(inMilliseconds(m.usual), "median-ms")
	m.b.ReportMetric(inMilliseconds(m.slowest), "slowest-ms")
}

// bookActors returns a large, a medium and a small partner, one without records, and an
// operator.
func bookActors(m *modeltest.Bundle) []actor.Actor {
	return []actor.Actor{m.Acme, modeltest.Partner("umbrella"), modeltest.Partner("hooli"), modeltest.Partner("small-001"), m.Operator}
}

// BenchmarkBookLists reads pages of every list of a book, with filters that match
// much, little and nothing.
func BenchmarkBookLists(b *testing.B) {
	m := modeltest.Book(b)
	for name, filters := range bookFilters(m) {
		list := lists[name]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				at := timings{b: b}
				for _, actor := range bookActors(m) {
					for _, f := range filters {
						for _, order := range []store.Order{store.NewestFirst, store.OldestFirst} {
							at.measure(fmt.Sprintf("%s %s %s", actor.Name, describeFilter(f), order), func(ctx context.Context) error {
								return list.page(ctx, m, actor, f, store.PageRequest{Order: order})
							})
						}
						at.measure(fmt.Sprintf("%s %s total", actor.Name, describeFilter(f)), func(ctx context.Context) error { return list.total(ctx, m, actor, f) })
					}
				}
				at.reportMetrics()
			}
		})
	}
}

func describeFilter(f store.Filter) string {
	text := fmt.Sprintf("%s %s %s %s", f.Status, f.Product, f.Partner, f.PartnerReference)
	if f.CreatedFrom != nil {
		text += f.CreatedFrom.Format(" from " + time.DateOnly)
	}
	if f.CreatedTo != nil {
		text += f.CreatedTo.Format(" to " + time.DateOnly)
	}
	return text
}

// bookFilters returns the filters of each list.
func bookFilters(m *modeltest.Bundle) map[string][]store.Filter {
	statuses := map[string][]string{
		"quotes": {"priced", "bound", "expired"}, "policies": {"active", "expired", "exhausted", "cancelled"}, "claims": {"closed", "approved", "declined", "deferred"},
		"payouts": {"blocked", "reconciled", "returned", "pending"}, "payout methods": {"pending", "verified", "rejected"},
	}
	now := m.Now()
	old, middle, future := now.AddDate(0, 0, -299), now.AddDate(0, 0, -150), now.AddDate(1, 0, 0)
	all := map[string][]store.Filter{}
	for name, words := range statuses {
		filters := []store.Filter{{}, {CreatedFrom: &middle}, {CreatedTo: &middle}, {CreatedTo: &old}, {CreatedFrom: &future}, {CreatedFrom: &old, CreatedTo: &middle}}
		for _, word := range words {
			filters = append(filters, store.Filter{Status: word}, store.Filter{Status: word, CreatedTo: &middle}, store.Filter{Status: word, CreatedFrom: &future})
		}
		if name == "quotes" || name == "policies" || name == "claims" {
			for _, product := range []string{"quake-circle", "rain-excess", "rain-deficit", "unknown"} {
				filters = append(filters, store.Filter{Product: product}, store.Filter{Product: product, Status: words[0]}, store.Filter{Product: product, CreatedTo: &old})
			}
		}
		if name != "payouts" {
			filters = append(filters, store.Filter{PartnerReference: "copy-000001/200"}, store.Filter{PartnerReference: "unknown"}, store.Filter{PartnerReference: "unknown", Status: words[0]})
		}
		all[name] = filters
	}
	return all
}

// BenchmarkBookFeed reads pages of the feed with frequent, rare and absent types.
func BenchmarkBookFeed(b *testing.B) {
	m := modeltest.Book(b)
	for b.Loop() {
		at := timings{b: b}
		for _, partner := range []string{"acme", "umbrella", "hooli"} {
			for _, types := range [][]event.Type{
				nil,
				{event.QuoteCreated},
				{event.PolicyCancelled},
				{event.PolicyArchived},
				{event.PolicyArchived, event.PolicyCancelled},
				{event.WebhookEndpointOn},
			} {
				for _, after := range []int64{0, 1_000_000} {
					f := events.Filter{Types: types, After: after}
					at.measure(fmt.Sprintf("%s %v after %d", partner, types, after), func(ctx context.Context) error {
						_, err := m.Service.Events.List(ctx, modeltest.Partner(partner), f, store.PageRequest{})
						return err
					})
					at.measure(fmt.Sprintf("%s %v after %d total", partner, types, after), func(ctx context.Context) error {
						page, err := m.Service.Events.List(ctx, modeltest.Partner(partner), f, store.PageRequest{Limit: 1})
						require.NoError(b, err)
						_, _, err = page.Total(ctx)
						return err
					})
				}
			}
		}
		at.reportMetrics()
	}
}

// BenchmarkBookDeliveries reads pages of the deliveries to acme's endpoint.
func BenchmarkBookDeliveries(b *testing.B) {
	m := modeltest.Book(b)
	endpoints, err := m.Service.Webhooks.ListEndpoints(b.Context(), m.Acme, store.Filter{}, store.PageRequest{})
	require.NoError(b, err)
	require.NotEmpty(b, endpoints.Data)
	for b.Loop() {
		at := timings{b: b}
		for _, status := range []string{"", "pending", "delivered", "failed"} {
			at.measure("deliveries "+status, func(ctx context.Context) error {
				_, err := m.Service.Webhooks.ListDeliveries(ctx, m.Acme, endpoints.Data[0].ID, status, store.PageRequest{})
				return err
			})
			at.measure("deliveries of "+status, func(ctx context.Context) error {
				_, err := m.Service.Webhooks.DeliveriesOf(status)(ctx, m.Acme, []string{endpoints.Data[0].ID}, store.PageRequest{})
				return err
			})
		}
		at.reportMetrics()
	}
}

// BenchmarkBookOccurrences reads pages of occurrences and observations.
func BenchmarkBookOccurrences(b *testing.B) {
	m := modeltest.Book(b)
	past, future := m.Now().AddDate(-10, 0, 0), m.Now().AddDate(1, 0, 0)
	for b.Loop() {
		at := timings{b: b}
		for _, f := range []occurrence.HazardFilter{{}, {Kind: "storm_fix"}, {Source: "nhc"}, {Source: "usgs"}, {From: &future}, {To: &past}} {
			at.measure(fmt.Sprintf("occurrences %+v", f), func(ctx context.Context) error {
				_, err := m.Service.Occurrences.List(ctx, m.Acme, f, store.PageRequest{})
				return err
			})
			at.measure(fmt.Sprintf("observations %+v", f), func(ctx context.Context) error {
				_, err := m.Service.Occurrences.ListObservations(ctx, m.Operator, f, store.PageRequest{})
				return err
			})
		}
		at.reportMetrics()
	}
}

// BenchmarkBookExposure computes the exposure to an earthquake under a tenth of the book.
func BenchmarkBookExposure(b *testing.B) {
	m := modeltest.Book(b)
	ask := func(ctx context.Context, actor actor.Actor) (touched int) {
		total, _, err := m.Service.Scenarios.Expose(ctx, actor, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Earthquake: &scenario.WhatIfEarthquake{Location: bookHualien, Magnitude: "7.0"}}}, store.PageRequest{})
		require.NoError(b, err)
		for _, sum := range total.Totals {
			touched += sum.Touched
		}
		return touched
	}
	for _, actor := range []actor.Actor{m.Operator, m.Acme, modeltest.Partner("umbrella")} {
		b.Run(actor.Name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(ask(b.Context(), actor)), "policies")
			}
		})
	}
}
