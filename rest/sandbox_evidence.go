package rest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/sandbox"
)

// retryWaits remembers, by partner, the last answer that asked to wait.
type retryWaits struct {
	mu    sync.Mutex
	waits map[string]retryWait
}

type retryWait struct {
	answeredAt, until time.Time
	operation         string
}

// noteEvidence stores what a request shows of the sandbox's checklist. It never fails the
// request.
func (s *server) noteEvidence(ctx context.Context, c *requestContext) {
	if !s.Development || c.actor.Kind != actor.KindPartner {
		return
	}
	show := func(shown bool, item sandbox.Item, evidence string) {
		if shown {
			_ = s.Service.Sandbox.Show(ctx, c.actor, item, evidence)
		}
	}
	operation := c.route.method + " " + c.route.path
	show(c.Header().Get("Idempotent-Replayed") == "true", sandbox.IdempotencyReplayed, operation+" was sent again and replayed.")
	show(c.readToEnd, sandbox.ListReadToEnd, operation+" was read page by page to its end.")
	show(c.route.operationID == "listEvents", sandbox.FeedReadAgain, "The feed was read after a delivery had failed.")
	if s.Now != nil {
		honoured, evidence := s.retryWaits.note(c, operation, s.Now)
		show(honoured, sandbox.RetryAfterHonoured, evidence)
	}
}

// note stores an answer with Retry-After, and reports whether the request waited for as long
// as the answer before it asked. A request that came too early voids that answer; one that
// was on its way already does not.
func (r *retryWaits) note(c *requestContext, operation string, clock func() time.Time) (honoured bool, evidence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait, waits := r.waits[c.actor.Partner]
	if waits && c.startedAt.After(wait.answeredAt) {
		delete(r.waits, c.actor.Partner)
		honoured = !c.startedAt.Before(wait.until)
		evidence = fmt.Sprintf("After %s had asked to wait until %s, the next request came at %s.", wait.operation, wait.until.UTC().Format(time.RFC3339), c.startedAt.UTC().Format(time.RFC3339))
	}
	if seconds, err := strconv.Atoi(c.Header().Get("Retry-After")); err == nil {
		if r.waits == nil {
			r.waits = map[string]retryWait{}
		}
		now := clock()
		r.waits[c.actor.Partner] = retryWait{now, now.Add(time.Duration(seconds) * time.Second), operation}
	}
	return honoured, evidence
}
