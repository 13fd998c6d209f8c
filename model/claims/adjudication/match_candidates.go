package adjudication

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/claims/candidates"
	"parapet/model/claims/watches"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

type coversByPolicy map[uuid.UUID]trigger.Cover

// findDecidable returns the candidates that a decision may change: the trigger is met and
// there is no claim, a claim waits, a storm owes more than before, two claims were
// approved before their occurrences were one event, or readings of an approved claim were
// retracted or reported again. It returns all candidates for an occurrence that an operator
// merged or split. It also returns the covers of all candidates, which never change, and
// counts those within reach of preliminary readings.
func findDecidable(ctx context.Context, tx *store.Tx, row *occurrence.OccurrenceRow, facts trigger.Occurrence, ids []uuid.UUID) ([]uuid.UUID, coversByPolicy, watches.Counts, error) {
	var policies []*underwriting.PolicyRow
	claims := `left join lateral (select coalesce(bool_or(c.status in ('opened', 'deferred') or c.retraction is not null), false)
				or count(*) filter (where c.status in ('approved', 'closed')) > 1
				or exists (select from occurrence_relations r join occurrences oc on oc.id in (r.first_id, r.second_id) where oc.id = $2 or oc.merged_into = $2) as waits,
			count(*) as claims,
			(sum(d.amount) filter (where c.status in ('approved', 'closed')))::bigint as owed
		from claims c left join determinations d on d.id = c.determination_id and d.partner = c.partner
		where c.policy_id = p.id and c.occurrence_id in (select id from occurrences where id = $2 or merged_into = $2) and ` + holdsOccurrenceSQL + `) as cl on true`
	read := tx.NewSelect().Model(&policies).Column("id", "partner", "currency", "limit_remaining", "cover", "effective_at", "payable_from", "expires_at", "cancelled_at").
		ColumnExpr("cl.waits, cl.claims, cl.owed").Join(claims).
		Where("p.id = any ($1)").OrderExpr("p.id")
	if err := tx.ScanRows(ctx, read, &policies, ids, row.ID); err != nil {
		return nil, nil, nil, fmt.Errorf("read candidates: %w", err)
	}
	var hits, paid []uuid.UUID // paid: by several sources
	covers, reached := make(coversByPolicy, len(policies)), make(watches.Counts)
	for i, p := range policies {
		pacing.YieldEvery(64, i)
		covers[p.ID] = p.Cover
		d := trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, facts)
		changed := p.Owed != nil && (row.FactsWithRetracted != nil || (facts.Grows() || p.Cover.Measurement != nil) && d.Amount > *p.Owed)
		severalRetracted := row.FactsWithRetracted != nil && p.Cover.HasSeveralSources() // its claim may be for another source's occurrence
		switch {
		case p.Waits || changed || severalRetracted || (d.Met || d.Reason == trigger.EvidenceNeeded) && p.Claims == 0:
			hits = append(hits, p.ID)
		case p.Owed != nil && p.Cover.HasSeveralSources():
			paid = append(paid, p.ID)
		}
		if row.Stage == trigger.Preliminary && p.LimitRemaining > 0 && p.Cover.Trigger.IsWithinReach(d) {
			reached[watches.Key{Partner: p.Partner, Currency: p.Currency}]++
		}
	}
	if len(paid) == 0 {
		return hits, covers, reached, nil
	}
	twice, err := candidates.FindTwiceApproved(ctx, tx, []uuid.UUID{row.ID}, paid)
	return append(hits, twice[row.ID]...), covers, reached, err
}
