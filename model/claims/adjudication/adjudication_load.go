package adjudication

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
)

// load reads the data that decisions need, in one statement per kind.
func (adj *adjudication) load(ctx context.Context, policies []*underwriting.PolicyRow) error {
	adj.policies = policies
	adj.claimByPolicy, adj.relatedClaims = make(map[uuid.UUID]*claims.ClaimRow), make(map[uuid.UUID][]*claims.ClaimRow)
	if len(policies) == 0 {
		return nil
	}
	if err := adj.loadOccurrenceIDs(ctx); err != nil {
		return err
	}
	var err error
	if adj.shownClaims, err = underwriting.LoadPolicyClaims(ctx, adj.Tx, underwriting.PolicyIDs(policies)); err != nil {
		return err
	}
	relevant, err := adj.lockRelevantClaims(ctx)
	if err != nil {
		return err
	}
	for _, c := range relevant {
		claims.AdvanceClockPastTimeline(adj.Tx, c)
		adj.relatedClaims[c.PolicyID] = append(adj.relatedClaims[c.PolicyID], c)
		if have := adj.claimByPolicy[c.PolicyID]; adj.isFor(c) && !c.IsRetracted() && (have == nil || priority(c) > priority(have)) {
			adj.claimByPolicy[c.PolicyID] = c
		}
	}
	if err := adj.loadClaimOccurrences(ctx, relevant); err != nil {
		return err
	}
	if err := adj.loadPossibleDuplicates(ctx); err != nil {
		return err
	}
	if err := adj.loadDeterminations(ctx); err != nil {
		return err
	}
	if adj.paidDays, err = claims.LoadPaidDays(ctx, adj.Tx, policies); err != nil {
		return err
	}
	if adj.retractedAmounts, err = claims.LoadRetractedAmounts(ctx, adj.Tx, relevant); err != nil {
		return err
	}
	adj.methods, err = payouts.LoadUsableMethods(ctx, adj.Tx, policies)
	return err
}

// lockRelevantClaims locks and returns the claims that relevantClaims selects. It does not
// look up policies without claims. They stay without: opening a claim needs the lock of its
// policy, which the caller holds.
func (adj *adjudication) lockRelevantClaims(ctx context.Context) ([]*claims.ClaimRow, error) {
	var claimed []uuid.UUID
	for _, p := range adj.policies {
		if len(adj.shownClaims[p.ID].Newest) > 0 {
			claimed = append(claimed, p.ID)
		}
	}
	if len(claimed) == 0 {
		return nil, nil
	}
	q, args := adj.relevantClaims(claimed)
	var relevant []*claims.ClaimRow
	if err := adj.ScanRows(ctx, q, &relevant, args...); err != nil {
		return nil, fmt.Errorf("lock claims: %w", err)
	}
	return relevant, nil
}

// relevantClaims returns a query, with its arguments, that locks the claims on which
// decisions for policies depend: those for the occurrence or one merged with it, those close
// enough in time to be about the same event, and the claim that an operator decides. A
// policy may have any number of other claims; they are not read. Each policy is looked up
// separately: one condition for all policies would let Postgres read the claims of the whole
// event.
func (adj *adjudication) relevantClaims(policies []uuid.UUID) (q *bun.SelectQuery, args []any) {
	lock := func(ids *bun.SelectQuery) *bun.SelectQuery {
		return adj.NewSelect().Model((*claims.ClaimRow)(nil)).Where("c.id = any (array(?))", ids).OrderExpr("c.id").For("NO KEY UPDATE")
	}
	relevant := adj.NewSelect().Model((*claims.ClaimRow)(nil)).Column("id").Where("c.id = $1")
	occ := adj.occurrence
	if occ == nil {
		return lock(relevant), []any{adj.decidedClaimID}
	}
	of := func() *bun.SelectQuery {
		return adj.NewSelect().Model((*claims.ClaimRow)(nil)).Column("id").Where("c.policy_id = p.id")
	}
	ofPolicy := of().Where("c.occurrence_id = any ($3)").Where(holdsOccurrenceSQL).
		UnionAll(of().Where("c.occurrence_id = any ($3)").Where(wasRetractedSQL)).
		UnionAll(of().Where("c.occurrence_id is not null").Where("c.occurred_at between $4 and $5"))
	reach := occ.Kind.Rules().Duplicates.Window
	relevant = relevant.UnionAll(adj.NewSelect().ColumnExpr("r.id").TableExpr("unnest($2::uuid[]) as p (id)").Join("cross join lateral (?) as r", ofPolicy))
	return lock(relevant), []any{adj.decidedClaimID, policies, slices.Collect(maps.Keys(adj.occurrenceIDs)), occ.OccurredAt.Add(-reach), occ.LastAt.Add(reach)}
}

// loadOccurrenceIDs loads the ids of the occurrence, of those that an operator merged with
// it or split from it, and of all occurrences merged into them.
func (adj *adjudication) loadOccurrenceIDs(ctx context.Context) error {
	if adj.occurrence == nil { // an approval claim has no occurrence
		return nil
	}
	var merged []uuid.UUID
	event := []uuid.UUID{adj.occurrence.ID}
	for _, row := range adj.events {
		event = append(event, row.ID)
	}
	related, err := reports.LoadRelations(ctx, adj.Tx, event)
	if err != nil {
		return err
	}
	adj.separated = make(map[uuid.UUID]bool)
	for _, decided := range related {
		for id, same := range decided {
			if adj.separated[id] = !same; same {
				event = append(event, id)
			}
		}
	}
	err = adj.NewSelect().Model((*occurrence.OccurrenceRow)(nil)).Column("id").Where("merged_into in (?)", bun.List(event)).Scan(ctx, &merged)
	if err != nil {
		return fmt.Errorf("read merged occurrences: %w", err)
	}
	adj.occurrenceIDs = make(map[uuid.UUID]bool, len(event)+len(merged))
	for _, id := range append(event, merged...) {
		adj.occurrenceIDs[id] = true
	}
	return nil
}

// isFor reports whether the claim is for the occurrence or one merged with it.
func (adj *adjudication) isFor(c *claims.ClaimRow) bool {
	return c.OccurrenceID != nil && adj.occurrenceIDs[*c.OccurrenceID]
}

// priority orders a policy's claims for one occurrence after occurrences were merged:
// claims that wait for the source first, declined and withdrawn ones last.
func priority(r *claims.ClaimRow) int {
	switch {
	case awaitsSource(r):
		return 2
	case IsActive(r):
		return 1
	default:
		return 0
	}
}

func (adj *adjudication) loadClaimOccurrences(ctx context.Context, claims []*claims.ClaimRow) error {
	adj.claimOccurrences = make(map[uuid.UUID]*occurrence.OccurrenceRow)
	var ids []uuid.UUID
	for _, c := range claims {
		if c.OccurrenceID != nil {
			ids = append(ids, *c.OccurrenceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []*occurrence.OccurrenceRow
	if err := adj.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read occurrences of claims: %w", err)
	}
	for _, row := range rows {
		adj.claimOccurrences[row.ID] = row
	}
	return nil
}

func (adj *adjudication) loadDeterminations(ctx context.Context) error {
	adj.claimDeterminations = make(map[uuid.UUID]*claims.DeterminationRow)
	adj.installments, adj.claimPayouts = make(map[uuid.UUID]int), make(map[uuid.UUID]claims.ClaimRelations)
	var ids []uuid.UUID
	var claimIDs []uuid.UUID
	for _, c := range slices.Concat(slices.Collect(maps.Values(adj.relatedClaims))...) {
		if adj.isFor(c) {
			ids, claimIDs = append(ids, *c.DeterminationID), append(claimIDs, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []claims.DeterminationRow
	if err := adj.NewSelect().Model(&rows).Column("id", "met", "amount", "body", "first_day", "last_day").Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read determinations: %w", err)
	}
	for i := range rows {
		adj.claimDeterminations[rows[i].ID] = &rows[i]
	}
	return adj.loadPayouts(ctx, claimIDs)
}

// loadPayouts reads the newest payouts of the claims, and the highest installment of each
// claim.
func (adj *adjudication) loadPayouts(ctx context.Context, claimIDs []uuid.UUID) error {
	var highest []claims.PayoutRow
	err := adj.NewSelect().Model(&highest).Column("claim_id").ColumnExpr("max(installment) as installment").Where("claim_id in (?)", bun.List(claimIDs)).Group("claim_id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read parts of claims: %w", err)
	}
	for _, row := range highest {
		adj.installments[row.ClaimID] = row.Installment
	}
	var payouts []claims.PayoutRow
	err = adj.NewSelect().Model(&payouts).ModelTableExpr("claims as c").Join(`cross join lateral (select * from payouts
		where claim_id = c.id and partner = c.partner order by claim_sequence desc limit ?) as po`, store.MaxEmbedded).
		Where("c.id in (?)", bun.List(claimIDs)).OrderExpr("po.claim_sequence").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	for i := range payouts {
		parts := adj.claimPayouts[payouts[i].ClaimID]
		parts.Payouts = append(parts.Payouts, *payouts[i].ToRecord())
		parts.PayoutsCount = payouts[i].ClaimSequence
		adj.claimPayouts[payouts[i].ClaimID] = parts
	}
	return nil
}

// owedFor returns what the approved claims of a policy cover of the amount that the occurrence
// owes. There are several claims when occurrences were merged; a determination after that is
// for the whole occurrence. A claim has more than determined after an accepted challenge, and
// less if an operator determined its amount.
func (adj *adjudication) owedFor(p *underwriting.PolicyRow) int64 {
	var approved, determined int64
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && isApproved(c) {
			approved += *c.Amount
			determined = max(determined, adj.claimDeterminations[*c.DeterminationID].Amount)
		}
	}
	return max(approved, determined)
}

// isApproved reports whether money is owed for the claim, paid or not.
func isApproved(r *claims.ClaimRow) bool {
	return r.Status == claims.ClaimApproved || r.Status == claims.ClaimClosed
}

// save writes the results to the database in one statement per table. Payouts are inserted
// before policies are updated, because the foreign key of a payout locks its policy: the lock
// that the transaction holds suffices for the former row version, not for a new one.
func (adj *adjudication) save(ctx context.Context) error {
	if len(adj.newDeterminations) > 0 {
		rows := adj.events // with the reported occurrence, if there are any
		if rows == nil {
			rows = []*occurrence.OccurrenceRow{adj.reportedOccurrence()}
		}
		for _, row := range rows {
			row.QueueReading(adj.Tx)
		}
	}
	err := cmp.Or(
		adj.QueueInsertRows(adj.newDeterminations),
		adj.QueueInsertRows(adj.newClaims),
		adj.QueueUpdateRows(adj.changedClaims, "status", "determination_id", "occurrence_key", "occurred_at", "amount", "outcome", "reason_codes", "decided_at", "next_review_at", "closed_at", "timeline_sequence", "timeline_updated_at", "version", "updated_at"),
		adj.QueueInsertRows(adj.newPayouts),
		adj.QueueUpdateRows(adj.changedPolicies, "status", "limit_remaining", "version", "updated_at"),
	)
	if err == nil {
		err = adj.Flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("write claims: %w", err)
	}
	var declined []uuid.UUID
	for _, c := range adj.changedClaims {
		if c.Status == claims.ClaimDeclined {
			declined = append(declined, c.PolicyID)
		}
	}
	return reevaluatePossibleDuplicates(ctx, adj.Tx, declined)
}
