package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/rail"
	"parapet/model"
)

// verifyPayoutMethod asks the rail whether an account takes money.
type verifyPayoutMethod struct {
	river.WorkerDefaults[model.VerifyPayoutMethod]

	service *model.Service
	rail    rail.Rail
}

// Work implements river.Worker.
func (w *verifyPayoutMethod) Work(ctx context.Context, job *river.Job[model.VerifyPayoutMethod]) error {
	payee, err := w.service.PayeeOf(ctx, job.Args.Partner, job.Args.ID)
	if err != nil || payee == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	answer, err := w.rail.Verify(asked, rail.Payee{Beneficiary: payee.Beneficiary, Number: payee.Number})
	if err != nil {
		return fmt.Errorf("verify %s: %w", job.Args.ID, err)
	}
	return w.service.RecordVerification(ctx, job.Args.Partner, job.Args.ID, answer.Method, answer.Code, answer.Verified)
}

// sliceSize is how many payouts go to a rail that takes slices in one call.
const sliceSize = 500

// retryHorizon is how long after its first call a payout in doubt may be sent
// again under its key. Later only a report or an operator settles it.
const retryHorizon = 30 * time.Minute

// errForgetful says that a rail cannot be trusted with the retries.
var errForgetful = errors.New("the rail forgets keys sooner than payouts are sent again: a payout could be made twice")

// Trustworthy refuses a rail that forgets a key while a payout in doubt may still
// be sent again under it.
func Trustworthy(r rail.Rail) error {
	if r.Capabilities().Forgets(retryHorizon, 2*railTimeout) {
		return fmt.Errorf("%w; rail %s remembers them for %s, at least %s are needed", errForgetful, r.Name(), r.Capabilities().KeyWindow, retryHorizon+2*railTimeout)
	}
	return nil
}

// Codes of doubt that are ours.
const (
	codeKeyForgotten = "key_forgotten" // not found, and too late to send again
	codeCannotAsk    = "cannot_ask"    // the rail answers no inquiries
	codeStopped      = "stopped"       // not found, and releases are stopped
)

// step is a point of a release at which a worker may die.
type step string

const (
	stepBefore   step = "before intent"
	stepIntended step = "after intent"
	stepAnswered step = "after answer"
	stepRecorded step = "after commit"
)

// releasePayout pays. The intent is committed before the call and the outcome
// after it; a worker that dies in between leaves a doubt that only the rail
// resolves, never a second payment.
type releasePayout struct {
	river.WorkerDefaults[model.ReleasePayout]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
	tracer  trace.Tracer // nil makes no spans
	gone    gone
	at      func(step) // tests let a worker die here; nil outside
}

// gone are payouts that went out with another's slice and are released for good:
// each spares its own job, of which there are hundreds to a slice, to look. It is a
// help only; what it does not know any more is looked up.
type gone struct {
	mu  sync.Mutex
	ids map[string]bool
}

// goneMost bounds what is remembered: the slices of a few workers.
const goneMost = 100 * sliceSize

func (g *gone) add(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ids == nil || len(g.ids) == goneMost {
		g.ids = make(map[string]bool)
	}
	g.ids[id] = true
}

// take tells whether a payout is gone, and forgets it.
func (g *gone) take(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.ids[id]
	delete(g.ids, id)
	return known
}

// Work implements river.Worker.
func (w *releasePayout) Work(ctx context.Context, job *river.Job[model.ReleasePayout]) error {
	most := 1
	if _, takes := w.rail.(rail.Slicer); takes {
		most = sliceSize
	}
	if w.gone.take(job.Args.ID) {
		return nil
	}
	w.reach(stepBefore)
	orders, wait, err := w.service.BeginReleases(ctx, w.rail.Name(), job.Args.Partner, job.Args.ID, most)
	switch {
	case err != nil:
		return err
	case wait > 0:
		return river.JobSnooze(wait)
	case len(orders) == 0:
		return nil
	}
	w.reach(stepIntended)
	answers := w.pay(ctx, orders)
	w.reach(stepAnswered)
	ended, err := record(ctx, w.service, w.log, w.rail, orders, answers)
	if err != nil {
		return err
	}
	w.reach(stepRecorded)
	for i, order := range orders {
		switch {
		case ended[i].Again > 0:
			wait = ended[i].Again // the sweep wakes the others of a slice
		case order.PayoutID != job.Args.ID && answers[i].Outcome == model.OutcomeAccepted && !ended[i].Mismatch:
			w.gone.add(order.PayoutID)
		}
	}
	if wait > 0 {
		return river.JobSnooze(wait)
	}
	return nil
}

func (w *releasePayout) reach(at step) {
	if w.at != nil {
		w.at(at)
	}
}

// pay calls the rail and returns an answer for each order, in its place.
func (w *releasePayout) pay(ctx context.Context, orders []*model.Release) []model.RailAnswer {
	ctx, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	ctx, ended := span(ctx, w.tracer, "rail "+w.rail.Name(), trace.SpanKindClient, attribute.String("parapet.payout", orders[0].PayoutID), attribute.Int("parapet.orders", len(orders)))
	defer ended()
	results := make([]rail.Result, len(orders))
	var fresh []int
	for i, order := range orders {
		if order.Doubt {
			results[i] = w.settle(ctx, order)
		} else {
			fresh = append(fresh, i)
		}
	}
	w.send(ctx, orders, fresh, results)
	answers := make([]model.RailAnswer, len(orders))
	for i, order := range orders {
		answers[i] = answer(results[i], instruction(order))
		callCount.WithLabelValues(w.rail.Name(), string(answers[i].Outcome)).Inc()
		if results[i].Err != nil {
			w.log.WarnContext(ctx, "rail in doubt", "order", instruction(order), "attempt", order.Attempt, "code", results[i].Code, "error", results[i].Err)
		}
	}
	return answers
}

// send pays what was never sent under its key: in one call where the rail takes
// slices.
func (w *releasePayout) send(ctx context.Context, orders []*model.Release, fresh []int, results []rail.Result) {
	slicer, takes := w.rail.(rail.Slicer)
	if !takes {
		for _, i := range fresh {
			results[i] = w.rail.Send(ctx, instruction(orders[i]))
		}
		return
	}
	if len(fresh) == 0 {
		return
	}
	instructions := make([]rail.Instruction, len(fresh))
	for at, i := range fresh {
		instructions[at] = instruction(orders[i])
	}
	for at, result := range slicer.SendAll(ctx, instructions) {
		results[fresh[at]] = result
	}
}

// settle asks what became of an order in doubt. «Not found» is no refusal: the
// order goes out again under the same key, which pays once at most as long as the
// rail remembers keys. A rail that cannot be asked is waited for.
func (w *releasePayout) settle(ctx context.Context, order *model.Release) rail.Result {
	able := w.rail.Capabilities()
	if !able.Inquirable {
		return rail.Result{Outcome: rail.Unknown, Code: codeCannotAsk}
	}
	result := w.rail.Inquire(ctx, order.Key)
	switch {
	case result.Outcome != rail.NotFound:
		return result
	case order.AskOnly:
		return rail.Result{Outcome: rail.NotFound, Code: codeStopped}
	case order.Age >= retryHorizon || able.Forgets(order.Age, 2*railTimeout):
		return rail.Result{Outcome: rail.NotFound, Code: codeKeyForgotten}
	default:
		return w.rail.Send(ctx, instruction(order))
	}
}

func instruction(order *model.Release) rail.Instruction {
	return rail.Instruction{
		Key: order.Key, PayoutID: order.PayoutID, Amount: order.Amount,
		Payee: rail.Payee{Beneficiary: order.Beneficiary, Number: order.Number},
	}
}

func answer(result rail.Result, instruction rail.Instruction) model.RailAnswer {
	said := model.RailAnswer{Outcome: model.OutcomeUnknown, Code: result.Code, Reference: result.Reference}
	switch result.Outcome {
	case rail.Accepted:
		said.Outcome = model.OutcomeAccepted
		if !result.Confirms(instruction) {
			said.Outcome = model.OutcomeMismatch
		}
	case rail.Refused:
		said.Outcome = model.OutcomeRefused
	case rail.Unknown, rail.NotFound:
	}
	return said
}
