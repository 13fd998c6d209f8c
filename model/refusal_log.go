package model

import (
	"context"
	"fmt"
	"sync"
)

// mostRefusals is how many different refusals one flush writes: who makes up
// thousands must not fill the disk. The others are counted in one line.
const mostRefusals = 50

// refusals are those that are not written yet, so that one who tries without end
// costs a line a minute, not a transaction each.
type refusals struct {
	mu     sync.Mutex
	lines  map[refused]*auditRow
	others int64
}

// refused is what makes two refusals the same.
type refused struct {
	kind                                       ActorKind
	name, issuer, client, partner, doing, code string
}

// Refused notes that somebody was refused for want of a permission; KeepRefusals
// writes it.
func (s *Service) Refused(actor Actor, refusal *Error) {
	r := &s.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	doing := bounded(actor.Doing, "unnamed")
	name, issuer := bounded(actor.subject(), ""), bounded(actor.Issuer, "")
	actor.Client, actor.Partner = bounded(actor.Client, ""), bounded(actor.Partner, "")
	key := refused{actor.Kind, name, issuer, actor.Client, actor.Partner, doing, string(refusal.Code)}
	if line := r.lines[key]; line != nil {
		line.Times++
		return
	}
	if len(r.lines) >= mostRefusals {
		r.others++
		return
	}
	if r.lines == nil {
		r.lines = make(map[refused]*auditRow)
	}
	reason := bounded(refusal.Detail, "")
	r.lines[key] = &auditRow{
		Outcome: AuditRefused, Operation: doing, ActorKind: actor.Kind, Actor: name, Issuer: textOrNil(issuer), Client: actor.Client,
		Partner: textOrNil(actor.Partner), Reason: &reason, Code: new(string(refusal.Code)), RequestID: textOrNil(actor.Request), Times: 1,
	}
}

// take hands the lines out once.
func (r *refusals) take() []*auditRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []*auditRow
	for _, line := range r.lines {
		lines = append(lines, line)
	}
	if r.others > 0 {
		lines = append(lines, &auditRow{Outcome: AuditRefused, Operation: "others", Times: r.others})
	}
	r.lines, r.others = nil, 0
	return lines
}

// KeepRefusals writes what was refused since the last time, in one transaction.
// Called every minute and at the end, it loses at most a minute's refusals when the
// process dies.
func (s *Service) KeepRefusals(ctx context.Context) error {
	lines := s.refusals.take()
	if len(lines) == 0 {
		return nil
	}
	err := s.change(ctx, System(), func(_ context.Context, u *unit) error {
		for _, line := range lines {
			line.ID, line.CreatedAt = newID(), u.now
			u.insert(line)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep refusals: %w", err)
	}
	return nil
}
