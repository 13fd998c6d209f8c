package adjudication

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
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
)

// boxQuery finds policies by box. It probes the index once for each box of an occurrence,
// so the cost depends on the matching policies and not on all policies.
const boxQuery = `select distinct b.occurrence_id, p.id
from (values %s) as b (occurrence_id, scope, peril, first, last, box)
join policies p on p.footprint && b.box and p.status <> 'archived'
	and p.kind = b.peril and p.effective_at <= b.last and p.expires_at > b.first
	and (b.scope = '' or p.partner = b.scope)
union `

// claimedQuery finds the policies with a waiting claim, independent of the occurrence's
// present place. It also finds those with an approved claim when its occurrence was
// merged, because it may have been paid twice, or had readings retracted.
const claimedQuery = `select coalesce(oc.merged_into, oc.id) as occurrence_id, c.policy_id as id
from occurrences oc join claims c on c.occurrence_id = oc.id
where (oc.id in (?0) or oc.merged_into in (?0)) and (c.status in ('opened', 'deferred') or c.status in ('approved', 'closed')
	and (oc.merged_into is not null or c.retraction is not null or oc.id in (?1)))
order by 1, 2`

// candidateBoxSQL is one row of the values in boxQuery.
const candidateBoxSQL = "(?::uuid, ?, ?, ?::timestamptz, ?::timestamptz, ?::box)"

// newCandidateQuery returns the query for the candidates of occurrences.
func newCandidateQuery(db bun.IDB, occurrences []occurrence.LoadedOccurrence) *bun.RawQuery {
	var values []string
	var args []any
	ids, retracted := []uuid.UUID{uuid.Nil}, []uuid.UUID{uuid.Nil}
	for _, h := range occurrences {
		ids = append(ids, h.Row.ID)
		if h.Row.FactsWithRetracted != nil {
			retracted = append(retracted, h.Row.ID)
		}
		for _, box := range capacity.SearchBoxes(trigger.OccurrenceBoxes(h.Facts)) {
			values = append(values, candidateBoxSQL)
			args = append(args, h.Row.ID, h.Row.Scope, string(h.Row.Kind.Rules().Peril), h.Row.OccurredAt, h.Row.LastAt, box)
		}
	}
	claimed := db.NewRaw(claimedQuery, bun.List(ids), bun.List(retracted))
	if len(values) == 0 { // every reading was retracted
		return claimed
	}
	return db.NewRaw(fmt.Sprintf(boxQuery, strings.Join(values, ", "))+"?", append(args, claimed)...)
}

// FindCandidates returns the policies that each occurrence may affect: those whose box it
// touches, those that an index at their station can pay, and those with claims for it
// that it may change.
func FindCandidates(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence) (map[uuid.UUID][]uuid.UUID, error) {
	found, err := findStationCandidates(ctx, db, occurrences)
	if err != nil {
		return nil, err
	}
	var pairs []struct{ OccurrenceID, ID uuid.UUID }
	if err := newCandidateQuery(db, occurrences).Scan(ctx, &pairs); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find candidates: %w", err))
	}
	for _, pair := range pairs {
		found[pair.OccurrenceID] = append(found[pair.OccurrenceID], pair.ID)
	}
	for of, ids := range found {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		found[of] = slices.Compact(ids)
	}
	return found, nil
}

// findDecidable returns the candidates that a decision may change: the trigger is met and
// there is no claim, a claim waits, a storm owes more than before, two claims were
// approved before their occurrences were merged, or readings of an approved claim were
// retracted or reported again. It also counts the covers within reach of preliminary
// readings.
func findDecidable(ctx context.Context, tx *store.Tx, row *occurrence.OccurrenceRow, facts trigger.Occurrence, candidates []uuid.UUID) ([]uuid.UUID, coversInReach, error) {
	var policies []*underwriting.PolicyRow
	claims := `left join lateral (select coalesce(bool_or(c.status in ('opened', 'deferred') or c.retraction is not null), false)
				or count(*) filter (where c.status in ('approved', 'closed')) > 1 as waits,
			count(*) as claims,
			sum(d.amount) filter (where c.status in ('approved', 'closed')) as owed
		from claims c left join determinations d on d.id = c.determination_id and d.partner = c.partner
		where c.policy_id = p.id and c.occurrence_id in (select id from occurrences where id = ?0 or merged_into = ?0) and ` + holdsOccurrenceSQL + `) as cl on true`
	err := tx.NewSelect().Model(&policies).Column("id", "partner", "currency", "limit_remaining", "cover", "effective_at", "payable_from", "expires_at", "cancelled_at").
		ColumnExpr("cl.waits, cl.claims, cl.owed").Join(claims, row.ID).
		Where("p.id in (?)", bun.List(candidates)).OrderExpr("p.id").Scan(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read candidates: %w", err)
	}
	var hits []uuid.UUID
	reached := make(coversInReach)
	for _, p := range policies {
		d := trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, facts)
		changed := p.Owed != nil && (row.FactsWithRetracted != nil || (facts.Grows() || p.Cover.Measurement != nil) && d.Amount > *p.Owed)
		if p.Waits || changed || (d.Met || d.Reason == trigger.EvidenceNeeded) && p.Claims == 0 {
			hits = append(hits, p.ID)
		}
		if row.Stage == trigger.Preliminary && p.LimitRemaining > 0 && p.Cover.Trigger.IsWithinReach(d) {
			reached[figureKey{p.Partner, p.Currency}]++
		}
	}
	return hits, reached, nil
}
