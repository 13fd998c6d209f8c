package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

var (
	callCount = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parapet_rail_calls_total", Help: "Orders for a rail, by how the call ended; not_sent also when releases were stopped before it.",
	}, []string{"rail", "outcome"})
	mismatchCount = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parapet_rail_mismatches_total", Help: "Payments that differ from their order, as the rail reports them. An operator must investigate any increase at once.",
	}, []string{"rail"})
	contradictionCount = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parapet_rail_contradictions_total", Help: "Contradictory answers of a rail: refused after accepted, or accepted after refused or given up. An operator must investigate any increase at once.",
	}, []string{"rail"})
)

// RailMetrics returns the rail metrics of /metrics.
func RailMetrics() []prometheus.Collector {
	return []prometheus.Collector{callCount, mismatchCount, contradictionCount}
}

// recordAnswer records a rail's answer, from a call or a notice.
func recordAnswer(ctx context.Context, service *model.Service, log *slog.Logger, from rail.Rail, order *release.Release, answer payouts.RailAnswer) (release.ReleaseResult, error) {
	ended, err := service.Releases.EndRelease(ctx, from.Name(), order, answer)
	if err == nil {
		reportMismatch(ctx, log, from, order, ended)
	}
	return ended, err
}

// reportMismatch logs and counts payments that differ from the order, and contradictory
// answers of a rail.
func reportMismatch(ctx context.Context, log *slog.Logger, from rail.Rail, order *release.Release, ended release.ReleaseResult) {
	if ended.Mismatch {
		mismatchCount.WithLabelValues(from.Name()).Inc()
		log.ErrorContext(ctx, "rail mismatch", "rail", from.Name(), "payout", order.PayoutID, "key", order.Key)
	}
	if ended.Contradiction {
		contradictionCount.WithLabelValues(from.Name()).Inc()
		log.ErrorContext(ctx, "rail contradiction", "rail", from.Name(), "payout", order.PayoutID, "key", order.Key)
	}
}

// ErrInFlight means that a refusal cannot be applied while a call about the same key is
// in flight; the rail must send it again.
var ErrInFlight = errors.New("a call about this key is under way; say it again later")

// NoticeRecorder records a rail's notices (callbacks). It uses the same guarded
// transition as an answer.
type NoticeRecorder struct {
	Service *model.Service
	Rail    rail.Rail
	Log     *slog.Logger
}

// Record records a rail's notice about a key. It may arrive any number of times, before
// the answer of the call or long after. Errors: not_found for a key that was never used
// with this rail, ErrInFlight.
func (n *NoticeRecorder) Record(ctx context.Context, key string, said rail.Result) error {
	sent, err := n.Service.Releases.SentOrders(ctx, IdentityOf(n.Rail), []string{key})
	if err != nil {
		return err
	}
	order := sent[key]
	switch {
	case order == nil:
		n.Log.ErrorContext(ctx, "rail reported an idempotency key that it was never sent", "rail", n.Rail.Name(), "key", key, "reference", said.Reference)
		return apperr.Fail(apperr.CodeNotFound, "There is no payment under this key.")
	case said.Outcome != rail.Accepted && said.Outcome != rail.Refused:
		return nil // nothing new
	case said.Outcome == rail.Refused && order.InFlight:
		return ErrInFlight
	case said.Outcome == rail.Refused && order.Unclear:
		// A call whose answer was lost may have moved the money: only the rail's answer
		// to an inquiry allows another key for the payout.
		noted, err := n.Service.Releases.RecordRefusalNotice(ctx, n.Rail.Name(), order)
		if err != nil || noted {
			return err
		}
	}
	_, err = recordAnswer(ctx, n.Service, n.Log, n.Rail, order, toRailAnswer(said, toInstruction(order)))
	return err
}

// HTTPRecorder adapts Record to the HTTP rail and its errors.
func (n *NoticeRecorder) HTTPRecorder() httprail.NoticeRecorder {
	return func(ctx context.Context, key string, said rail.Result) error {
		err := n.Record(ctx, key, said)
		switch {
		case errors.Is(err, ErrInFlight):
			return httprail.ErrRetryLater
		case err != nil && apperr.CodeOf(err) == apperr.CodeNotFound:
			return httprail.ErrUnknownKey
		case err != nil:
			n.Log.ErrorContext(ctx, "rail notice could not be processed", "rail", n.Rail.Name(), "key", key, "error", err)
		}
		return err
	}
}
