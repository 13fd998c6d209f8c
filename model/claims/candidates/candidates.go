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
const boxQuery = `select b.occurrence_id, p.partner, p.currency, p.id
from (values %s) as b (occurrence_id, scope, peril, first, last, box)
join policies p on p.footprint && b.box and p.status <> 'archived'
	and p.kind = b.peril and p.effective_at <= b.last and p.expires_at > b.first
	and (b.scope = '' or p.partner = b.scope)
union all `

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
	ID                uuid.UUID
	Partner, Currency string // of the policy
}

// Compare orders candidates by their ids.
func (c Candidate) Compare(other Candidate) int { return bytes.Compare(c.ID[:], other.ID[:]) }

// IDs returns the ids of candidates in the same order.
func IDs(all []Candidate) []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, each := range all {
		ids[i] = each.ID
	}
	return ids
}

// group is the candidates of an occurrence that have one partner and one currency. Large
// events have a hundred thousand: bytes of ids are read several times as fast as rows.
type group struct {
	OccurrenceID      uuid.UUID `bun:"type:uuid"`
	Partner, Currency string
	IDs               []byte `bun:"ids"` // 16 bytes each
}

// groupQuery reads groups from a query of occurrence_id, partner, currency and id.
const groupQuery = "select occurrence_id, partner, currency, string_agg(uuid_send(id), '') as ids from (?) c group by occurrence_id, partner, currency"

// readGroups adds the result of a query for groupQuery to candidates by their occurrence.
func readGroups(ctx context.Context, db bun.IDB, query *bun.RawQuery, found map[uuid.UUID][]Candidate) error {
	var groups []group
	if err := db.NewRaw(groupQuery, query).Scan(ctx, &groups); err != nil {
		return store.TranslateError(fmt.Errorf("find candidates: %w", err))
	}
	for _, g := range groups {
		all := slices.Grow(found[g.OccurrenceID], len(g.IDs)/len(uuid.UUID{}))
		for id := range slices.Chunk(g.IDs, len(uuid.UUID{})) {
			all = append(all, Candidate{uuid.UUID(id), g.Partner, g.Currency})
		}
		found[g.OccurrenceID] = all
	}
	return nil
}

// NewQuery returns the query for the candidates of occurrences: occurrence_id, partner,
// currency, and id. A policy may be in several of its rows. twice is another query of
// occurrence_id and id; nil for none.
func NewQuery(db bun.IDB, occurrences []occurrence.LoadedOccurrence, twice *bun.RawQuery) *bun.RawQuery {
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
	if twice != nil {
		claimed = db.NewRaw("? union all ?", claimed, twice)
	}
	claimed = db.NewRaw("select c.occurrence_id, p.partner, p.currency, p.id from (?) c join policies p on p.id = c.id", claimed)
	if len(values) == 0 { // every reading was retracted
		return claimed
	}
	return db.NewRaw(fmt.Sprintf(boxQuery, strings.Join(values, ", "))+"?", append(args, claimed)...)
}

// Find returns the policies that each occurrence may affect, in order of their ids: those
// whose box it touches, those that an index at their station can pay, and those with claims
// for it that it may change, also because it is one event with another occurrence by now.
func Find(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence) (map[uuid.UUID][]Candidate, error) {
	found := make(map[uuid.UUID][]Candidate)
	if err := findAtStations(ctx, db, occurrences, found); err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(occurrences))
	for i, o := range occurrences {
		ids[i] = o.Row.ID
	}
	twice, err := newTwiceApprovedQuery(ctx, db, ids, nil)
	if err != nil {
		return nil, err
	}
	if err := readGroups(ctx, db, NewQuery(db, occurrences, twice), found); err != nil {
		return nil, err
	}
	for of, all := range found {
		slices.SortFunc(all, Candidate.Compare)
		found[of] = slices.Compact(all)
	}
	return found, nil
}
