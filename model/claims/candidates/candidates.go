package candidates

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/underwriting/capacity"
)

// boxQuery finds policies by box. It probes the index once for each box of an occurrence,
// so the cost depends on the matching policies and not on all policies.
const boxQuery = `select b.occurrence_id, p.id
from (values %s) as b (occurrence_id, scope, peril, first, last, box)
join policies p on p.footprint && b.box and p.status <> 'archived'
	and p.kind = b.peril and p.effective_at <= b.last and p.expires_at > b.first
	and (b.scope = '' or p.partner = b.scope)
union `

// claimedQuery finds the policies with a waiting claim, independent of the occurrence's
// present place. It also finds those with an approved claim when its occurrence was
// merged, because it may have been paid twice, or had readings retracted; and those whose
// claim was determined by retracted readings, also if it is for the occurrence of another
// source.
const claimedQuery = `select coalesce(oc.merged_into, oc.id) as occurrence_id, c.policy_id as id
from occurrences oc join claims c on c.occurrence_id = oc.id
where (oc.id in (?0) or oc.merged_into in (?0)) and (c.status in ('opened', 'deferred') or c.status in ('approved', 'closed')
	and (oc.merged_into is not null or c.retraction is not null or oc.id in (?1)))
union select coalesce(oc.merged_into, oc.id), c.policy_id
from occurrences oc join determinations d on d.occurrence_id = oc.id join claims c on c.policy_id = d.policy_id and c.determination_id = d.id and c.partner = d.partner
where (oc.id in (?1) or oc.merged_into in (?1)) and c.status in ('opened', 'deferred', 'approved', 'closed')`

// boxSQL is one row of the values in boxQuery.
const boxSQL = "(?::uuid, ?, ?, ?::timestamptz, ?::timestamptz, ?::box)"

// Candidate is a policy that an occurrence may affect.
type Candidate struct {
	OccurrenceID uuid.UUID `bun:"type:uuid"`
	ID           uuid.UUID `bun:"type:uuid"` // of the policy
}

// NewQuery returns the query for the candidates of occurrences.
func NewQuery(db bun.IDB, occurrences []occurrence.LoadedOccurrence) *bun.RawQuery {
	var values []string
	var args []any
	ids, retracted := []uuid.UUID{uuid.Nil}, []uuid.UUID{uuid.Nil}
	for _, h := range occurrences {
		ids = append(ids, h.Row.ID)
		if h.Row.FactsWithRetracted != nil {
			retracted = append(retracted, h.Row.ID)
		}
		for _, box := range capacity.SearchBoxes(trigger.OccurrenceBoxes(h.Facts)) {
			values = append(values, boxSQL)
			args = append(args, h.Row.ID, h.Row.Scope, string(h.Row.Kind.Rules().Peril), h.Row.OccurredAt, h.Row.LastAt, box)
		}
	}
	claimed := db.NewRaw(claimedQuery, bun.List(ids), bun.List(retracted))
	if len(values) == 0 { // every reading was retracted
		return claimed
	}
	return db.NewRaw(fmt.Sprintf(boxQuery, strings.Join(values, ", "))+"?", append(args, claimed)...)
}

// Find returns the policies that each occurrence may affect: those whose box it
// touches, those that an index at their station can pay, and those with claims for it
// that it may change, also because it is one event with another occurrence by now.
func Find(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence) (map[uuid.UUID][]uuid.UUID, error) {
	found, err := findAtStations(ctx, db, occurrences)
	if err != nil {
		return nil, err
	}
	var pairs []Candidate
	if err := NewQuery(db, occurrences).Scan(ctx, &pairs); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find candidates: %w", err))
	}
	for _, pair := range pairs {
		found[pair.OccurrenceID] = append(found[pair.OccurrenceID], pair.ID)
	}
	ids := make([]uuid.UUID, len(occurrences))
	for i, o := range occurrences {
		ids[i] = o.Row.ID
	}
	twice, err := FindTwiceApproved(ctx, db, ids, nil)
	if err != nil {
		return nil, err
	}
	for of, policies := range twice {
		found[of] = append(found[of], policies...)
	}
	for of, ids := range found {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		found[of] = slices.Compact(ids)
	}
	return found, nil
}
