package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// TouchedBy are the policies that each of several occurrences touched, the newest
// first, judged by what its source says now: those with a claim for it, those it
// would pay, and the near misses, whose place it touched in their time but whose
// trigger it missed, unless they are left out. Partners see their own; an occurrence
// that the actor may not see has an empty page. However many occurrences there are,
// they are judged in as many statements as the one that needs most: one read, and
// others as long as too few of those that lie near are touched. A cursor is good for
// one occurrence only. Errors: parameter_invalid, cursor_invalid.
func (s *Service) TouchedBy(ctx context.Context, actor Actor, occurrences []string, nearMisses bool, in PageRequest) (map[string]*Page[wire.Explanation], error) {
	if err := firstOf(s.authorize(ctx, actor, ScopePoliciesRead), s.authorize(ctx, actor, ScopeClaimsRead)); err != nil {
		return nil, err
	}
	checked := make(map[string]page, len(occurrences))
	var one page // they differ in nothing but the cursor, which is one occurrence's
	for _, id := range occurrences {
		var err error
		if one, err = s.page(actor, in, fmt.Sprintf("touched/%s?%t", id, nearMisses)); err != nil {
			return nil, err
		}
		checked[id] = one
	}
	l := looking{s: s, actor: actor, occurrences: nounOccurrence.parseAll(occurrences), nearMisses: nearMisses}
	touched := map[uuid.UUID][]verdict{}
	err := l.look(ctx, one, func(id uuid.UUID, v *verdict) (enough bool) {
		touched[id] = append(touched[id], *v)
		return len(touched[id]) > one.limit
	})
	if err != nil {
		return nil, err
	}
	counts := sync.OnceValues(func() (map[uuid.UUID]int, error) { return l.count(ctx) })
	pages := make(map[string]*Page[wire.Explanation], len(occurrences))
	for id, p := range checked {
		key, _ := nounOccurrence.parse(id) // what is no id touched nothing
		p.count = func(context.Context) (int, error) {
			all, err := counts()
			return all[key], err
		}
		if pages[id], err = paged(p, touched[key], func(v *verdict) string { return v.policy.ID.String() }, func(v *verdict) wire.Explanation { return *v.public() }); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// looking is at what occurrences touched.
type looking struct {
	s           *Service
	actor       Actor
	occurrences []uuid.UUID
	nearMisses  bool
}

func (l looking) count(ctx context.Context) (map[uuid.UUID]int, error) {
	counts := make(map[uuid.UUID]int, len(l.occurrences))
	return counts, l.look(ctx, page{limit: MaxTotal}, func(id uuid.UUID, _ *verdict) (enough bool) {
		counts[id]++
		return counts[id] > MaxTotal
	})
}

// look hands on what each occurrence touched, the newest policy first, until take
// has enough of it.
func (l looking) look(ctx context.Context, p page, take func(uuid.UUID, *verdict) bool) error {
	if len(l.occurrences) == 0 {
		return nil
	}
	return l.s.view(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		var rows []*occurrenceRow
		if err := l.actor.scoped(tx.NewSelect().Model(&rows).Where("oc.id in (?)", bun.List(l.occurrences))).Scan(ctx); err != nil {
			return fmt.Errorf("read occurrences: %w", err)
		}
		all, err := pasts(ctx, tx, rows, l.actor.Partner, now)
		if err != nil || len(all) == 0 {
			return err
		}
		left, err := l.concerned(ctx, tx, all, p)
		// A first slice is a page with as many misses among it.
		for size := 2 * (p.limit + 1); err == nil && len(left) > 0; size *= 2 {
			err = l.slice(ctx, tx, all, left, min(size, sliceSize), take)
		}
		return err
	})
}

// concerned are the policies to ask for each scene, the newest first.
func (looking) concerned(ctx context.Context, db bun.IDB, all map[uuid.UUID]*scene, p page) (map[uuid.UUID][]uuid.UUID, error) {
	found, err := scenes(slices.Collect(maps.Values(all))).concerned(ctx, db)
	left := make(map[uuid.UUID][]uuid.UUID, len(all))
	for id, sc := range all {
		ids := slices.DeleteFunc(slices.Clone(found[sc.row.ID]), func(policy uuid.UUID) bool { return p.after != "" && policy.String() >= p.after })
		if slices.Reverse(ids); len(ids) > 0 {
			left[id] = ids
		}
	}
	return left, err
}

// slice asks the next policies of every scene that has not enough yet.
func (l looking) slice(ctx context.Context, db bun.IDB, all map[uuid.UUID]*scene, left map[uuid.UUID][]uuid.UUID, size int, take func(uuid.UUID, *verdict) bool) error {
	var ids []uuid.UUID
	var asked scenes
	for id, these := range left {
		ids, asked = append(ids, these[:min(size, len(these))]...), append(asked, all[id])
	}
	policies, err := asked.among(ctx, db, ids, func(q *bun.SelectQuery) *bun.SelectQuery { return q })
	if err != nil {
		return err
	}
	of := make(map[uuid.UUID]*policyRow, len(policies))
	for _, policy := range policies {
		of[policy.ID] = policy
	}
	for id, these := range left {
		next := these[:min(size, len(these))]
		enough := slices.ContainsFunc(next, func(policy uuid.UUID) bool {
			if of[policy] == nil {
				return false // it is not for these eyes
			}
			v := all[id].verdicts(of[policy])[0]
			return v.touched() && (l.nearMisses || v.d.Met || v.claim != nil) && take(id, &v)
		})
		if left[id] = these[len(next):]; enough || len(left[id]) == 0 {
			delete(left, id)
		}
	}
	return nil
}
