package scenario

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// AffectedPolicies returns, for each occurrence, the policies with a claim, those it
// would pay and, on request, the near misses, newest first.
func (s *Service) AffectedPolicies(ctx context.Context, caller actor.Actor, occurrences []string, nearMisses bool, in store.PageRequest) (map[string]*store.Page[wire.Explanation], error) {
	if err := cmp.Or(s.Authorize(ctx, caller, actor.ScopePoliciesRead), s.Authorize(ctx, caller, actor.ScopeClaimsRead)); err != nil {
		return nil, err
	}
	checked := make(map[string]store.PageSpec, len(occurrences))
	var one store.PageSpec // the pages differ only in the cursor, which is valid for one occurrence
	for _, id := range occurrences {
		var err error
		if one, err = s.ParsePage(caller, in, fmt.Sprintf("touched/%s?%t", id, nearMisses), store.SortNewestFirst); err != nil {
			return nil, err
		}
		checked[id] = one
	}
	l := affectedQuery{svc: s, actor: caller, occurrences: store.ResourceOccurrence.ParseIDs(occurrences), nearMisses: nearMisses}
	touched := map[uuid.UUID][]Evaluation{}
	err := l.forEachAffected(ctx, one, func(id uuid.UUID, v *Evaluation) (enough bool) {
		touched[id] = append(touched[id], *v)
		return len(touched[id]) > one.Limit
	})
	if err != nil {
		return nil, err
	}
	counts := sync.OnceValues(func() (map[uuid.UUID]int, error) { return l.countByOccurrence(ctx) })
	pages := make(map[string]*store.Page[wire.Explanation], len(occurrences))
	for id, p := range checked {
		key, _ := store.ResourceOccurrence.ParseID(id) // an invalid id affected no policies
		p.Count = func(context.Context) (int, error) {
			all, err := counts()
			return all[key], err
		}
		if pages[id], err = store.NewPage(p, touched[key], func(v *Evaluation) string { return v.policy.ID.String() }, func(v *Evaluation) wire.Explanation { return *v.toRecord() }); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// affectedQuery finds the policies affected by several occurrences.
type affectedQuery struct {
	svc         *Service
	actor       actor.Actor
	occurrences []uuid.UUID
	nearMisses  bool
}

func (l affectedQuery) countByOccurrence(ctx context.Context) (map[uuid.UUID]int, error) {
	counts := make(map[uuid.UUID]int, len(l.occurrences))
	return counts, l.forEachAffected(ctx, store.PageSpec{Limit: store.MaxTotal}, func(id uuid.UUID, _ *Evaluation) (enough bool) {
		counts[id]++
		return counts[id] > store.MaxTotal
	})
}

// forEachAffected calls take for the policies that each occurrence affected, newest
// first, until take returns true.
func (l affectedQuery) forEachAffected(ctx context.Context, p store.PageSpec, take func(uuid.UUID, *Evaluation) bool) error {
	if len(l.occurrences) == 0 {
		return nil
	}
	return l.svc.ReadSnapshot(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		var rows []*occurrence.OccurrenceRow
		if err := occurrence.RestrictToScope(l.actor, tx.NewSelect().Model(&rows).Where("oc.id in (?)", bun.List(l.occurrences))).Scan(ctx); err != nil {
			return fmt.Errorf("read occurrences: %w", err)
		}
		all, err := loadRecordedScenarios(ctx, tx, rows, l.actor.Partner, now)
		if err != nil || len(all) == 0 {
			return err
		}
		left, err := l.findCandidates(ctx, tx, all, p)
		// The first batch is large enough for a page of which half the candidates are not
		// affected.
		for size := 2 * (p.Limit + 1); err == nil && len(left) > 0; size *= 2 {
			err = l.evaluateBatch(ctx, tx, all, left, min(size, adjudication.MatchBatchSize), take)
		}
		return err
	})
}

// findCandidates returns the candidate policies of each scenario, newest first.
func (affectedQuery) findCandidates(ctx context.Context, db bun.IDB, all map[uuid.UUID]*Scenario, p store.PageSpec) (map[uuid.UUID][]uuid.UUID, error) {
	found, err := scenarios(slices.Collect(maps.Values(all))).findCandidates(ctx, db)
	left := make(map[uuid.UUID][]uuid.UUID, len(all))
	for id, sc := range all {
		ids := slices.DeleteFunc(slices.Clone(found[sc.Row.ID]), func(policy uuid.UUID) bool { return p.After != "" && policy.String() >= p.After })
		if slices.Reverse(ids); len(ids) > 0 {
			left[id] = ids
		}
	}
	return left, err
}

// evaluateBatch evaluates the next policies of every scenario that is not complete.
func (l affectedQuery) evaluateBatch(ctx context.Context, db bun.IDB, all map[uuid.UUID]*Scenario, left map[uuid.UUID][]uuid.UUID, size int, take func(uuid.UUID, *Evaluation) bool) error {
	var ids []uuid.UUID
	var asked scenarios
	for id, these := range left {
		ids, asked = append(ids, these[:min(size, len(these))]...), append(asked, all[id])
	}
	policies, err := asked.loadPolicies(ctx, db, ids, func(q *bun.SelectQuery) *bun.SelectQuery { return q })
	if err != nil {
		return err
	}
	of := make(map[uuid.UUID]*underwriting.PolicyRow, len(policies))
	for _, policy := range policies {
		of[policy.ID] = policy
	}
	for id, these := range left {
		next := these[:min(size, len(these))]
		enough := slices.ContainsFunc(next, func(policy uuid.UUID) bool {
			if of[policy] == nil {
				return false // the actor may not see it
			}
			v := all[id].evaluatePolicy(of[policy])[0]
			return v.isAffected() && (l.nearMisses || v.determination.Met || v.claim != nil) && take(id, &v)
		})
		if left[id] = these[len(next):]; enough || len(left[id]) == 0 {
			delete(left, id)
		}
	}
	return nil
}
