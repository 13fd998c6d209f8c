package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
)

// maxRefusalLines bounds the different refusals that one flush writes, so that a caller
// with thousands of invented names cannot fill the disk. One line counts the rest.
const maxRefusalLines = 50

// refusalLog collects refusals until they are written, so that repeated attempts cost
// one line per minute and not one transaction each.
type refusalLog struct {
	mu        sync.Mutex
	lines     map[refusalKey]*store.AuditRow
	uncounted int64
}

// refusalKey identifies equal refusals.
type refusalKey struct {
	kind                                           actor.Kind
	name, issuer, client, partner, operation, code string
}

// RecordRefusal notes a refusal for a missing permission; SaveRefusals writes it.
func (s *Service) RecordRefusal(caller actor.Actor, refusal *apperr.Error) {
	r := &s.refusalCounts
	r.mu.Lock()
	defer r.mu.Unlock()
	doing := actor.BoundAuditText(caller.Operation, "unnamed")
	name, issuer := actor.BoundAuditText(caller.SubjectOrName(), ""), actor.BoundAuditText(caller.Issuer, "")
	caller.Client, caller.Partner = actor.BoundAuditText(caller.Client, ""), actor.BoundAuditText(caller.Partner, "")
	key := refusalKey{caller.Kind, name, issuer, caller.Client, caller.Partner, doing, string(refusal.Code)}
	if line := r.lines[key]; line != nil {
		line.Times++
		return
	}
	if len(r.lines) >= maxRefusalLines {
		r.uncounted++
		return
	}
	if r.lines == nil {
		r.lines = make(map[refusalKey]*store.AuditRow)
	}
	reason := actor.BoundAuditText(refusal.Detail, "")
	r.lines[key] = &store.AuditRow{
		Outcome: store.AuditRefused, Operation: doing, ActorKind: caller.Kind, Actor: name, Issuer: optional.NonZero(issuer), Client: caller.Client,
		Partner: optional.NonZero(caller.Partner), Reason: &reason, Code: new(string(refusal.Code)), RequestID: optional.NonZero(caller.RequestID), Times: 1,
	}
}

// takeLines returns the collected lines, with the number of the uncounted ones, and clears
// them.
func (r *refusalLog) takeLines() (lines map[refusalKey]*store.AuditRow, uncounted int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, uncounted = r.lines, r.uncounted
	r.lines, r.uncounted = nil, 0
	return lines, uncounted
}

// restoreLines adds lines that could not be saved to those collected since.
func (r *refusalLog) restoreLines(lines map[refusalKey]*store.AuditRow, uncounted int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uncounted += uncounted
	for key, line := range r.lines {
		switch earlier := lines[key]; {
		case earlier != nil:
			earlier.Times += line.Times
		case len(lines) < maxRefusalLines:
			lines[key] = line
		default:
			r.uncounted += line.Times
		}
	}
	r.lines = lines
}

// SaveRefusals writes the refusals since the last call, in one transaction. It is
// called every minute and at shutdown, so a crash loses at most a minute's refusals. After
// an error the next call writes them.
func (s *Service) SaveRefusals(ctx context.Context) error {
	lines, uncounted := s.refusalCounts.takeLines()
	if len(lines) == 0 {
		return nil
	}
	err := s.InTx(ctx, actor.System(), func(_ context.Context, tx *store.Tx) error {
		rows := slices.Collect(maps.Values(lines))
		if uncounted > 0 {
			rows = append(rows, &store.AuditRow{Outcome: store.AuditRefused, Operation: "others", Times: uncounted})
		}
		for _, row := range rows {
			row.ID, row.CreatedAt = store.NewID(), tx.Now
			tx.QueueInsert(row)
		}
		return nil
	})
	if err != nil {
		s.refusalCounts.restoreLines(lines, uncounted)
		return fmt.Errorf("keep refusals: %w", err)
	}
	return nil
}
