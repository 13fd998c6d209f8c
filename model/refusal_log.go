package model

import (
	"context"
	"fmt"
	"sync"
)

// maxRefusalLines bounds the different refusals that one flush writes, so that a caller
// with thousands of invented names cannot fill the disk. One line counts the rest.
const maxRefusalLines = 50

// refusalLog collects refusals until they are written, so that repeated attempts cost
// one line per minute and not one transaction each.
type refusalLog struct {
	mu        sync.Mutex
	lines     map[refusalKey]*auditRow
	uncounted int64
}

// refusalKey identifies equal refusals.
type refusalKey struct {
	kind                                           ActorKind
	name, issuer, client, partner, operation, code string
}

// RecordRefusal notes a refusal for a missing permission; SaveRefusals writes it.
func (s *Service) RecordRefusal(actor Actor, refusal *Error) {
	r := &s.refusalCounts
	r.mu.Lock()
	defer r.mu.Unlock()
	doing := boundAuditText(actor.Operation, "unnamed")
	name, issuer := boundAuditText(actor.subjectOrName(), ""), boundAuditText(actor.Issuer, "")
	actor.Client, actor.Partner = boundAuditText(actor.Client, ""), boundAuditText(actor.Partner, "")
	key := refusalKey{actor.Kind, name, issuer, actor.Client, actor.Partner, doing, string(refusal.Code)}
	if line := r.lines[key]; line != nil {
		line.Times++
		return
	}
	if len(r.lines) >= maxRefusalLines {
		r.uncounted++
		return
	}
	if r.lines == nil {
		r.lines = make(map[refusalKey]*auditRow)
	}
	reason := boundAuditText(refusal.Detail, "")
	r.lines[key] = &auditRow{
		Outcome: AuditRefused, Operation: doing, ActorKind: actor.Kind, Actor: name, Issuer: stringOrNil(issuer), Client: actor.Client,
		Partner: stringOrNil(actor.Partner), Reason: &reason, Code: new(string(refusal.Code)), RequestID: stringOrNil(actor.RequestID), Times: 1,
	}
}

// takeLines returns the collected lines and clears them.
func (r *refusalLog) takeLines() []*auditRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []*auditRow
	for _, line := range r.lines {
		lines = append(lines, line)
	}
	if r.uncounted > 0 {
		lines = append(lines, &auditRow{Outcome: AuditRefused, Operation: "others", Times: r.uncounted})
	}
	r.lines, r.uncounted = nil, 0
	return lines
}

// SaveRefusals writes the refusals since the last call, in one transaction. It is
// called every minute and at shutdown, so a crash loses at most a minute's refusals.
func (s *Service) SaveRefusals(ctx context.Context) error {
	lines := s.refusalCounts.takeLines()
	if len(lines) == 0 {
		return nil
	}
	err := s.InTx(ctx, System(), func(_ context.Context, tx *Tx) error {
		for _, line := range lines {
			line.ID, line.CreatedAt = newID(), tx.now
			tx.queueInsert(line)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep refusals: %w", err)
	}
	return nil
}
