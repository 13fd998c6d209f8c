package main

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/model"
)

// metrics are what /metrics shows: how requests and jobs go, and the vitals, read
// from the database at each scrape. Every node shows the same vitals; alarms take
// the maximum.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	worked   *prometheus.HistogramVec
}

func newMetrics(service *model.Service, river *pgxpool.Pool, log *slog.Logger) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parapet_request_duration_seconds", Help: "How long requests took, by route, method and status.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method", "status"}),
		worked: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parapet_job_duration_seconds", Help: "How long attempts of jobs took, by kind and outcome (done, later, failed).",
			Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 45},
		}, []string{"kind", "outcome"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.worked, &vitals{service: service, river: river, log: log})
	m.registry.MustRegister(jobs.RailFigures()...)
	return m
}

// methods are what the label method may say: a caller can make up any other.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// request counts one answer.
func (m *metrics) request(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// job counts one attempt.
func (m *metrics) job(kind, outcome string, took time.Duration) {
	m.worked.WithLabelValues(kind, outcome).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// vitals reads the figures that page somebody. When the database does not answer
// only parapet_vitals_up is shown, as 0.
type vitals struct {
	service *model.Service
	river   *pgxpool.Pool
	log     *slog.Logger
}

const vitalsTimeout = 5 * time.Second

func vital(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("parapet_"+name, help, labels, nil)
}

var (
	vitalsUp       = vital("vitals_up", "1 when the database answered this scrape.")
	oldestUnpaid   = vital("payout_oldest_unreleased_seconds", "Time since the payout that waits longest could have gone out.")
	doubtCount     = vital("payouts_in_doubt", "Payouts that are reconciling or blocked.", "status", "reason", "currency")
	doubtAmount    = vital("money_in_doubt_minor_units", "Their sum, in minor units.", "status", "reason", "currency")
	doubtAge       = vital("payouts_in_doubt_oldest_seconds", "Time since the rail was first called for the oldest of them, or since it was blocked.", "status", "reason", "currency")
	unconfirmedAge = vital("payout_oldest_unconfirmed_seconds", "Time since a rail accepted the oldest payout that none of its reports has confirmed.", "rail")
	findingCount   = vital("findings_open", "Differences between rails' reports and payouts that nobody has closed.", "kind")
	findingAge     = vital("findings_oldest_seconds", "Age of the oldest of them.", "kind")
	relayWaiting   = vital("events_unnumbered", "Events that wait for the relay.")
	relayLag       = vital("relay_lag_seconds", "Age of the oldest event that waits for the relay.")
	parked         = vital("deliveries_parked", "Webhook deliveries that are sent again by hand only.")
	failing        = vital("webhook_endpoints_failing", "Enabled endpoints where the last ten attempts failed.")
	disabled       = vital("webhook_endpoints_disabled", "Endpoints that were disabled because nothing arrived.")
	feedAge        = vital("feed_age_seconds", "Time since a feed was polled; of feeds that differ in their queries only, the worst.", "source", "url")
	feedFailures   = vital("feed_failures", "Polls of a feed that failed in a row; of feeds that differ in their queries only, the worst.", "source", "url")
	undecided      = vital("claim_oldest_undecided_seconds", "Time since the claim was opened that waits longest for its first decision.")
	awaitingSource = vital("claim_oldest_awaiting_source_seconds", "Time since the claim was opened that waits longest for its source's final values.")
	reviewsOverdue = vital("claim_reviews_overdue", "Deferred claims whose review is more than an hour overdue.")
	expiryOverdue  = vital("expiries_overdue", "Quotes and policies that no sweep has expired in ten minutes.")
	violations     = vital("invariant_violations", "Records of which an invariant is not true and that nobody acknowledged.")
	unchecked      = vital("invariants_unchecked_seconds", "Time since the invariant that was checked longest ago was.")
	ordersAside    = vital("bank_orders_set_aside", "Accepted orders that no bank file has, because they are not what was accepted.")
	stopped        = vital("releases_stopped_seconds", "Time since the release of payouts was stopped; 0 while it goes on.")
	queueDepth     = vital("jobs", "Jobs that are not done, and those that failed for good in the last day.", "queue", "kind", "state")
	queueOverdue   = vital("jobs_oldest_due_seconds", "How long the first of them has been due.", "queue", "kind", "state")
)

// Describe implements prometheus.Collector.
func (v *vitals) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		vitalsUp, oldestUnpaid, doubtCount, doubtAmount, doubtAge, unconfirmedAge, findingCount, findingAge, relayWaiting, relayLag, parked, failing, disabled,
		feedAge, feedFailures, undecided, awaitingSource, reviewsOverdue, expiryOverdue, violations, unchecked, stopped, ordersAside, queueDepth, queueOverdue,
	} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (v *vitals) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), vitalsTimeout)
	defer cancel()
	tell := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	figures, err := v.service.Vitals(ctx, model.System())
	if err != nil {
		v.log.WarnContext(ctx, "vitals", "error", err)
		tell(vitalsUp, 0)
		return
	}
	tell(vitalsUp, 1)
	tell(oldestUnpaid, figures.OldestUnpaid.Seconds())
	tell(relayWaiting, float64(figures.Unnumbered))
	tell(relayLag, figures.RelayLag.Seconds())
	tell(parked, float64(figures.Parked))
	tell(failing, float64(figures.Failing))
	tell(disabled, float64(figures.Disabled))
	tell(undecided, figures.Undecided.Seconds())
	tell(awaitingSource, figures.AwaitingSource.Seconds())
	tell(reviewsOverdue, float64(figures.ReviewsOverdue))
	tell(expiryOverdue, float64(figures.ExpiryOverdue))
	tell(violations, float64(figures.Violations))
	tell(unchecked, figures.Unchecked.Seconds())
	tell(stopped, figures.Stopped.Seconds())
	tell(ordersAside, float64(figures.OrdersAside))
	for _, d := range figures.Doubt {
		tell(doubtCount, float64(d.Count), string(d.Status), d.Reason, d.Currency)
		tell(doubtAmount, float64(d.Amount), string(d.Status), d.Reason, d.Currency)
		tell(doubtAge, d.Oldest.Seconds(), string(d.Status), d.Reason, d.Currency)
	}
	for _, r := range figures.Unconfirmed {
		tell(unconfirmedAge, r.Oldest.Seconds(), r.Rail)
	}
	for _, f := range figures.Findings {
		tell(findingCount, float64(f.Count), f.Kind)
		tell(findingAge, f.Oldest.Seconds(), f.Kind)
	}
	for _, f := range named(figures.Feeds) {
		tell(feedAge, f.Age.Seconds(), f.Source, f.URL)
		tell(feedFailures, float64(f.Failures), f.Source, f.URL)
	}
	v.depths(ctx, tell)
}

// named are feeds under names that hold no keys, in the order of their sources: of
// those that share a name, the oldest poll and the most failures.
func named(feeds []model.FeedVital) (list []model.FeedVital) {
	for _, f := range feeds {
		f.URL = feed.Name(f.URL)
		at := slices.IndexFunc(list, func(have model.FeedVital) bool { return have.Source == f.Source && have.URL == f.URL })
		if at < 0 {
			list = append(list, f)
			continue
		}
		list[at].Age, list[at].Failures = max(list[at].Age, f.Age), max(list[at].Failures, f.Failures)
	}
	return list
}

func (v *vitals) depths(ctx context.Context, tell func(*prometheus.Desc, float64, ...string)) {
	depths, err := jobs.Depths(ctx, v.river)
	if err != nil {
		v.log.WarnContext(ctx, "vitals", "error", err)
		return
	}
	for _, d := range depths {
		tell(queueDepth, float64(d.Count), d.Queue, d.Kind, d.State)
		tell(queueOverdue, d.Overdue.Seconds(), d.Queue, d.Kind, d.State)
	}
}
