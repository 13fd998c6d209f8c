package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// MaxPendingCalls is the largest number of calls that wait to be saved. Further ones are
// dropped: the log helps developers, and must not slow down what it shows.
const MaxPendingCalls = 200

// Call is a request of a partner that changed something or was refused.
type Call struct {
	bun.BaseModel `bun:"table:api_calls,alias:ac"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string
	At        time.Time `bun:"created_at"`
	RequestID string
	Client    string
	Operation string  // the operation of the REST API, or the field of GraphQL
	Status    int     // HTTP status of the response, or of the field's error
	Code      *string // of a refusal
	Detail    *string // of a refusal
}

// callLog collects calls until they are saved.
type callLog struct {
	mu      sync.Mutex
	calls   []Call
	dropped int64
}

// RecordCall notes a call of a partner; SaveCalls writes it. refusal is nil for a call that
// succeeded.
func (s *Service) RecordCall(caller actor.Actor, at time.Time, operation string, status int, refusal *apperr.Error) {
	call := Call{
		ID: store.NewID(), Partner: actor.BoundAuditText(caller.Partner, ""), At: at, RequestID: actor.BoundAuditText(caller.RequestID, ""),
		Client: actor.BoundAuditText(caller.Client, ""), Operation: actor.BoundAuditText(operation, "unnamed"), Status: status,
	}
	if refusal != nil {
		call.Code, call.Detail = new(string(refusal.Code)), new(actor.BoundAuditText(refusal.Detail, ""))
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	if len(s.calls.calls) >= MaxPendingCalls {
		s.calls.dropped++
		return
	}
	s.calls.calls = append(s.calls.calls, call)
}

// SaveCalls writes the calls since the last one, in one statement, and returns how many
// were dropped. Calls that cannot be written are lost.
func (s *Service) SaveCalls(ctx context.Context) (dropped int64, err error) {
	s.calls.mu.Lock()
	calls, dropped := s.calls.calls, s.calls.dropped
	s.calls.calls, s.calls.dropped = nil, 0
	s.calls.mu.Unlock()
	if len(calls) == 0 {
		return dropped, nil
	}
	if _, err := s.DB.NewInsert().Model(&calls).Exec(ctx); err != nil {
		return dropped + int64(len(calls)), fmt.Errorf("save calls: %w", err)
	}
	return dropped, nil
}

// CallFilter filters the calls. Empty fields do not filter.
type CallFilter struct {
	Partner   string // operators only
	RequestID string
	Refused   bool // only refusals
}

// ListCalls lists the calls of the last seven days that changed something or were refused,
// newest first. Partners see their own. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListCalls(ctx context.Context, caller actor.Actor, f CallFilter, in store.PageRequest) (*store.Page[Call], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
		return nil, err
	}
	partner, err := caller.PartnerScope(f.Partner)
	if err != nil {
		return nil, err
	}
	var rows []Call
	q := s.DB.NewSelect().Model(&rows)
	if partner != "" {
		q = q.Where("ac.partner = ?", partner)
	}
	if f.RequestID != "" {
		q = q.Where("ac.request_id = ?", f.RequestID)
	}
	if f.Refused {
		q = q.Where("ac.code is not null")
	}
	p, err := s.FetchPage(ctx, caller, q, in, fmt.Sprintf("api_calls?%q", []any{f.Partner, f.RequestID, f.Refused}), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, func(r *Call) string { return r.ID.String() }, func(r *Call) Call { return *r })
}

// PurgeCalls deletes calls that are too old, a step of the sweep.
func PurgeCalls(ctx context.Context, tx *store.Tx) (int, error) {
	res, err := tx.NewRaw("delete from api_calls where id in (select id from api_calls where created_at < clock_timestamp() - interval '7 days' order by created_at limit ?)", store.SweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("purge calls: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
