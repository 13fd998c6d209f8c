package candidates

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard/reports"
	"parapet/model/kernel/store"
)

// Pair is a policy and an occurrence of one of its claims.
type Pair struct {
	OccurrenceID uuid.UUID `bun:"type:uuid"`
	ID           uuid.UUID `bun:"type:uuid"` // of the policy
}

// twiceApprovedQuery finds the policies that have an approved claim for each occurrence of a
// pair, or for one merged into it.
const twiceApprovedQuery = `select distinct pair.own as occurrence_id, c.policy_id as id from unnest(?0::uuid[], ?1::uuid[]) as pair (own, other)
join occurrences oc on oc.id = pair.own or oc.merged_into = pair.own
join claims c on c.occurrence_id = oc.id and c.status in ('approved', 'closed')
join occurrences od on od.id = pair.other or od.merged_into = pair.other
join claims d on d.occurrence_id = od.id and d.status in ('approved', 'closed') and d.policy_id = c.policy_id and d.partner = c.partner
where ?2::uuid[] is null or c.policy_id = any(?2::uuid[])`

// newTwiceApprovedQuery returns the query of occurrence_id and id, of the policy, for
// FindTwiceApproved; nil if no other occurrence may be the same event.
func newTwiceApprovedQuery(ctx context.Context, db bun.IDB, occurrences, policies []uuid.UUID) (*bun.RawQuery, error) {
	others, err := reports.FindOtherSources(ctx, db, occurrences)
	if err != nil || len(others) == 0 {
		return nil, err
	}
	var own, other []uuid.UUID
	for id, ids := range others {
		for _, o := range ids {
			own, other = append(own, id), append(other, o)
		}
	}
	return db.NewRaw(twiceApprovedQuery, pgdialect.Array(own), pgdialect.Array(other), pgdialect.Array(policies)), nil
}

// FindTwiceApproved returns, by occurrence, which of the policies have approved claims for
// it and for another one that may be the same event by now: a source revised one of them,
// or an operator merged them.
func FindTwiceApproved(ctx context.Context, db bun.IDB, occurrences, policies []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	query, err := newTwiceApprovedQuery(ctx, db, occurrences, policies)
	if err != nil || query == nil {
		return nil, err
	}
	var pairs []Pair
	if err := db.NewRaw("? order by 1, 2", query).Scan(ctx, &pairs); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find policies with two approved claims: %w", err))
	}
	found := make(map[uuid.UUID][]uuid.UUID)
	for _, each := range pairs {
		found[each.OccurrenceID] = append(found[each.OccurrenceID], each.ID)
	}
	return found, nil
}

// waitingQuery finds the claims for occurrences of policies with several sources that wait for
// their sources.
const waitingQuery = `select distinct c.occurrence_id, c.policy_id as id from claims c
join policies p on p.id = c.policy_id and p.partner = c.partner and json_array_length(p.cover::json->'measurement'->'sources') > 1
where c.occurrence_id in (?) and c.status = 'deferred' and c.reason_codes = array['source_preliminary'] order by 1, 2`

// FindWaiting returns the policies with several sources whose claims wait for their sources,
// by the occurrences of the claims: those that may be one event with one of the given ones,
// also when the source of that one retracted them.
func FindWaiting(ctx context.Context, db bun.IDB, occurrences []uuid.UUID) (waiting []Pair, err error) {
	others, err := reports.FindOtherSources(ctx, db, occurrences)
	if err != nil {
		return nil, err
	}
	retracted, err := reports.FindRetracted(ctx, db, occurrences)
	all := slices.Concat(append(slices.Collect(maps.Values(others)), retracted)...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if err := db.NewRaw(waitingQuery, bun.List(all)).Scan(ctx, &waiting); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find claims that wait for a source: %w", err))
	}
	return waiting, nil
}
