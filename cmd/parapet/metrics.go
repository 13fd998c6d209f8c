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

	"parapet/internal/gateway"
	"parapet/jobs"
	"parapet/jobs/fetch"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/operations"
)

// metrics are the metrics of /metrics: requests, jobs and the health statistics, which
// are read from the database at each scrape. Every node shows the same statistics; alarms
// take the maximum.
type metrics struct {
	registry         *prometheus.Registry
	requestDurations *prometheus.HistogramVec
	jobDurations     *prometheus.HistogramVec
}

func newMetrics(service *model.Service, river *pgxpool.Pool, log *slog.Logger) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requestDurations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parapet_request_duration_seconds", Help: "Duration of requests, by route, method and status.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method", "status"}),
		jobDurations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parapet_job_duration_seconds", Help: "Duration of job attempts, by kind and outcome (done, later, failed).",
			Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 45},
		}, []string{"kind", "outcome"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requestDurations, m.jobDurations, &healthCollector{service: service, riverPool: river, log: log})
	m.registry.MustRegister(jobs.RailMetrics()...)
	return m
}

// registerWaiters shows the callers that wait for events in this process.
func (m *metrics) registerWaiters(waiters *gateway.Waiters) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parapet_waiters", Help: "Subscriptions, sockets and requests with wait that are open on this node.",
	}, func() float64 { return float64(waiters.Count()) }))
}

// httpMethods are the values of the label method, because a caller can invent any other.
var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// observeRequest records one response.
func (m *metrics) observeRequest(route, method string, status int, took time.Duration) {
	if !slices.Contains(httpMethods, method) {
		method = "other"
	}
	m.requestDurations.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// observeJob records one attempt.
func (m *metrics) observeJob(kind, outcome string, took time.Duration) {
	m.jobDurations.WithLabelValues(kind, outcome).Observe(took.Seconds())
}

func (m *metrics) httpHandler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// healthCollector reads the statistics behind the alarms. When the database does not
// answer it shows only parapet_db_stats_up, as 0.
type healthCollector struct {
	service   *model.Service
	riverPool *pgxpool.Pool
	log       *slog.Logger
}

const healthTimeout = 5 * time.Second

func newGaugeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("parapet_"+name, help, labels, nil)
}

var (
	dbStatsUp                 = newGaugeDesc("db_stats_up", "1 when the database answered this scrape.")
	oldestUnreleasedPayout    = newGaugeDesc("payout_oldest_unreleased_seconds", "Time since the payout that waits longest became due.")
	unsettledCount            = newGaugeDesc("payouts_unsettled", "Payouts that are reconciling or blocked.", "status", "reason", "currency")
	unsettledAmount           = newGaugeDesc("money_unsettled_minor_units", "Sum of the payouts that are reconciling or blocked, in minor units.", "status", "reason", "currency")
	unsettledAge              = newGaugeDesc("payouts_unsettled_oldest_seconds", "Time since the rail was first called for the oldest payout that is reconciling, or since the oldest blocked one was blocked.", "status", "reason", "currency")
	oldestUnconfirmedPayout   = newGaugeDesc("payout_oldest_unconfirmed_seconds", "Time since a rail accepted the oldest payout that none of its reports has confirmed.", "rail")
	exceptionCount            = newGaugeDesc("reconciliation_exceptions_open", "Open differences between rails' reports and payouts.", "kind")
	exceptionAge              = newGaugeDesc("findings_oldest_seconds", "Age of the oldest open difference between rails' reports and payouts.", "kind")
	unsequencedEvents         = newGaugeDesc("events_unnumbered", "Events that wait for the relay.")
	sequencingLag             = newGaugeDesc("event_sequencing_lag_seconds", "Age of the oldest event that waits for the relay.")
	failedDeliveries          = newGaugeDesc("deliveries_failed", "Webhook deliveries that are sent again only on request.")
	failingEndpoints          = newGaugeDesc("webhook_endpoints_failing", "Enabled endpoints where the last ten attempts failed.")
	disabledEndpoints         = newGaugeDesc("webhook_endpoints_disabled", "Endpoints that were disabled because all deliveries failed.")
	feedAge                   = newGaugeDesc("feed_age_seconds", "Time since a feed was polled; of feeds that differ only in their queries, the longest.", "source", "url")
	feedFailures              = newGaugeDesc("feed_failures", "Polls of a feed that failed in a row; of feeds that differ only in their queries, the most.", "source", "url")
	oldestUndecidedClaim      = newGaugeDesc("claim_oldest_undecided_seconds", "Time since opening of the claim that waits longest for its first decision.")
	oldestClaimAwaitingSource = newGaugeDesc("claim_oldest_awaiting_source_seconds", "Time since opening of the claim that waits longest for its source's final values.")
	overdueReviews            = newGaugeDesc("claim_reviews_overdue", "Deferred claims whose review is more than an hour overdue.")
	overdueExpiries           = newGaugeDesc("expiries_overdue", "Quotes and policies that ended more than ten minutes ago and still have their old state.")
	invariantViolations       = newGaugeDesc("invariant_violations", "Records that violate an invariant and are not acknowledged.")
	invariantCheckAge         = newGaugeDesc("invariants_unchecked_seconds", "Time since the oldest check of an invariant.")
	ordersExcluded            = newGaugeDesc("bank_orders_set_aside", "Accepted orders that are in no bank file, because they differ from what was accepted.")
	matchingLag               = newGaugeDesc("matching_lag_seconds", "How long the oldest slice of a matching has been due.")
	matchingCandidates        = newGaugeDesc("matching_candidates", "Policies that the events whose matching is incomplete may affect.")
	undecidedPolicies         = newGaugeDesc("matching_undecided_policies", "Candidates of events whose matching is incomplete that are not decided yet.")
	undecidablePolicies       = newGaugeDesc("undecidable_policies", "Policies that matching cannot decide for an occurrence; they are attempted again.")
	releaseStopAge            = newGaugeDesc("releases_stopped_seconds", "Time since releases were stopped; 0 while payouts are released.")
	partitionsOverdue         = newGaugeDesc("partitions_overdue_seconds", "How much the monthly partitions lack of 31 days ahead, of the table that lacks most.")
	defaultPartitionRows      = newGaugeDesc("default_partition_rows", "Rows of the last week in default partitions, because the partition of their month was missing.")
	jobCount                  = newGaugeDesc("jobs", "Jobs that are not done, and those that failed for good in the last day.", "queue", "kind", "state")
	oldestDueJob              = newGaugeDesc("jobs_oldest_due_seconds", "How long the oldest of them has been due.", "queue", "kind", "state")
)

// Describe implements prometheus.Collector.
func (h *healthCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		dbStatsUp, oldestUnreleasedPayout, unsettledCount, unsettledAmount, unsettledAge, oldestUnconfirmedPayout, exceptionCount, exceptionAge, unsequencedEvents, sequencingLag, failedDeliveries, failingEndpoints, disabledEndpoints,
		feedAge, feedFailures, oldestUndecidedClaim, oldestClaimAwaitingSource, overdueReviews, overdueExpiries, invariantViolations, invariantCheckAge, releaseStopAge, ordersExcluded, matchingLag, matchingCandidates, undecidedPolicies, undecidablePolicies, partitionsOverdue, defaultPartitionRows, jobCount, oldestDueJob,
	} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (h *healthCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	observe := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	figures, err := h.service.Operations.HealthStats(ctx, actor.System())
	if err != nil {
		h.log.WarnContext(ctx, "could not read health statistics", "error", err)
		observe(dbStatsUp, 0)
		return
	}
	observe(dbStatsUp, 1)
	observe(oldestUnreleasedPayout, figures.OldestUnsent.Seconds())
	observe(unsequencedEvents, float64(figures.Unsequenced))
	observe(sequencingLag, figures.SequencingLag.Seconds())
	observe(failedDeliveries, float64(figures.FailedDeliveries))
	observe(failingEndpoints, float64(figures.FailingEndpoints))
	observe(disabledEndpoints, float64(figures.DisabledEndpoints))
	observe(oldestUndecidedClaim, figures.OldestUndecided.Seconds())
	observe(oldestClaimAwaitingSource, figures.OldestAwaitingSource.Seconds())
	observe(overdueReviews, float64(figures.ReviewsOverdue))
	observe(overdueExpiries, float64(figures.ExpiryOverdue))
	observe(invariantViolations, float64(figures.Violations))
	observe(invariantCheckAge, figures.SinceInvariantCheck.Seconds())
	observe(releaseStopAge, figures.SinceReleaseStop.Seconds())
	observe(ordersExcluded, float64(figures.OrdersExcluded))
	observe(partitionsOverdue, figures.Partitions.Overdue.Seconds())
	observe(defaultPartitionRows, float64(figures.Partitions.Misplaced))
	observeMatching(observe, figures)
	for _, d := range figures.Unsettled {
		observe(unsettledCount, float64(d.Count), string(d.Status), d.Reason, d.Currency)
		observe(unsettledAmount, float64(d.Amount), string(d.Status), d.Reason, d.Currency)
		observe(unsettledAge, d.Oldest.Seconds(), string(d.Status), d.Reason, d.Currency)
	}
	for _, r := range figures.Unconfirmed {
		observe(oldestUnconfirmedPayout, r.Oldest.Seconds(), r.Rail)
	}
	for _, f := range figures.OpenExceptions {
		observe(exceptionCount, float64(f.Count), f.Kind)
		observe(exceptionAge, f.Oldest.Seconds(), f.Kind)
	}
	for _, f := range mergeFeedsByName(figures.Feeds) {
		observe(feedAge, f.Age.Seconds(), f.Source, f.URL)
		observe(feedFailures, float64(f.Failures), f.Source, f.URL)
	}
	h.collectQueueDepths(ctx, observe)
}

func observeMatching(observe func(*prometheus.Desc, float64, ...string), figures *operations.HealthStats) {
	observe(matchingLag, figures.MatchingLag.Seconds())
	observe(matchingCandidates, float64(figures.MatchingCandidates))
	observe(undecidedPolicies, float64(figures.UndecidedPolicies))
	observe(undecidablePolicies, float64(figures.UndecidablePolicies))
}

// mergeFeedsByName returns feeds under names without keys, in the order of their sources.
// Feeds with the same name show the oldest poll and the most failures.
func mergeFeedsByName(feeds []operations.FeedStats) (list []operations.FeedStats) {
	for _, f := range feeds {
		f.URL = fetch.DisplayAddress(f.URL)
		at := slices.IndexFunc(list, func(have operations.FeedStats) bool { return have.Source == f.Source && have.URL == f.URL })
		if at < 0 {
			list = append(list, f)
			continue
		}
		list[at].Age, list[at].Failures = max(list[at].Age, f.Age), max(list[at].Failures, f.Failures)
	}
	return list
}

func (h *healthCollector) collectQueueDepths(ctx context.Context, observe func(*prometheus.Desc, float64, ...string)) {
	depths, err := jobs.CountJobs(ctx, h.riverPool)
	if err != nil {
		h.log.WarnContext(ctx, "could not count jobs", "error", err)
		return
	}
	for _, d := range depths {
		observe(jobCount, float64(d.Count), d.Queue, d.Kind, d.State)
		observe(oldestDueJob, d.Overdue.Seconds(), d.Queue, d.Kind, d.State)
	}
}
