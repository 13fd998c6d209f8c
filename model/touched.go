package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// TouchedBy are the policies an occurrence touched, the newest first, judged by
// what its source says now: those with a claim for it, those it would pay, and
// the near misses, whose place it touched in their time but whose trigger it
// missed, unless they are left out. Partners see their own. Errors: not_found,
// parameter_invalid, cursor_invalid.
func (s *Service) TouchedBy(ctx context.Context, actor Actor, occurrence string, nearMisses bool, in PageRequest) (*Page[wire.Explanation], error) {
	if err := s.authorize(ctx, actor, ScopePoliciesRead); err != nil {
		return nil, err
	}
	row, err := s.occurrenceOf(ctx, actor, occurrence)
	if err != nil {
		return nil, err
	}
	p, err := s.page(actor, in, fmt.Sprintf("touched/%s?%t", occurrence, nearMisses))
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context, p page) (touched []verdict, err error) {
		return touched, s.view(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
			sc, err := past(ctx, tx, row, actor.Partner, now)
			if err == nil {
				touched, err = sc.touched(ctx, tx, p, nearMisses)
			}
			return err
		})
	}
	p.count = func(ctx context.Context) (int, error) {
		all, err := look(ctx, page{limit: MaxTotal})
		return len(all), err
	}
	touched, err := look(ctx, p)
	if err != nil {
		return nil, err
	}
	return paged(p, touched, func(v *verdict) string { return v.policy.ID.String() }, func(v *verdict) wire.Explanation { return *v.public() })
}

// touched reads on through the policies concerned until a page is full.
func (sc *scene) touched(ctx context.Context, db bun.IDB, p page, nearMisses bool) ([]verdict, error) {
	ids, err := sc.concerned(ctx, db)
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return p.after != "" && id.String() >= p.after })
	var found []verdict
	for slice := range slices.Chunk(ids, sliceSize) {
		policies, err := sc.among(ctx, db, slice, func(q *bun.SelectQuery) *bun.SelectQuery { return q })
		if err != nil {
			return nil, err
		}
		for _, policy := range slices.Backward(policies) {
			v := sc.verdicts(policy)[0]
			if v.touched() && (nearMisses || v.d.Met || v.claim != nil) {
				found = append(found, v)
			}
			if len(found) > p.limit {
				return found, nil
			}
		}
	}
	return found, nil
}
