package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// read fetches what a decision needs to know, in one statement a kind.
func (j *judging) read(ctx context.Context, policies []*policyRow) error {
	j.policies = policies
	j.existing, j.others = make(map[uuid.UUID]*claimRow), make(map[uuid.UUID][]*claimRow)
	if len(policies) == 0 {
		return nil
	}
	if err := j.names(ctx); err != nil {
		return err
	}
	claims, err := j.lockRelevantClaims(ctx, policyIDs(policies))
	if err != nil {
		return err
	}
	for _, c := range claims {
		j.sinceTold(c)
		j.others[c.PolicyID] = append(j.others[c.PolicyID], c)
		if have := j.existing[c.PolicyID]; j.concerns(c) && !c.isRetracted() && (have == nil || c.standing() > have.standing()) {
			j.existing[c.PolicyID] = c
		}
	}
	if err := j.readHappened(ctx, claims); err != nil {
		return err
	}
	if err := j.loadPossibleDuplicates(ctx); err != nil {
		return err
	}
	if err := j.readVersions(ctx); err != nil {
		return err
	}
	if j.shown, err = claimsOf(ctx, j.unit, policyIDs(policies)); err != nil {
		return err
	}
	if j.paid, err = paidRuns(ctx, j.unit, policies); err != nil {
		return err
	}
	j.methods, err = methodsOf(ctx, j.unit, policies)
	return err
}

// lockRelevantClaims locks the claims of policies that a decision looks at: those for
// the occurrence under any of its names, those whose time is so close to it that they
// may be about the same event, and the claim that an operator decides. A policy may
// have any number of others, and none of them is read.
func (j *judging) lockRelevantClaims(ctx context.Context, policies []uuid.UUID) ([]*claimRow, error) {
	relevant := j.NewSelect().Model((*claimRow)(nil)).Column("id").Where("c.id = ?", j.decided)
	if occ := j.occurrence; occ != nil {
		reach := duplicateReach(occ.Kind)
		of := func() *bun.SelectQuery {
			return j.NewSelect().Model((*claimRow)(nil)).Column("id").Where("c.policy_id in (?)", bun.List(policies))
		}
		same := bun.List(slices.Collect(maps.Keys(j.same)))
		relevant = relevant.Union(of().Where("c.occurrence_id in (?)", same).Where(holdsOccurrence)).
			Union(of().Where("c.occurrence_id in (?)", same).Where(wasRetracted)).
			Union(of().Where("c.occurrence_id is not null").Where("c.occurred_at between ? and ?", occ.OccurredAt.Add(-reach), occ.LastAt.Add(reach)))
	}
	var claims []*claimRow
	err := j.NewSelect().Model(&claims).Where("c.id in (?)", relevant).Where("c.policy_id in (?)", bun.List(policies)).
		OrderExpr("c.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock claims: %w", err)
	}
	return claims, nil
}

// duplicateReach is how far the times of two claims may lie apart that are compared
// as duplicates: more than any rule of duplicates asks, and more than an occurrence of
// the kind lasts, because a claim has the time at which its occurrence began.
func duplicateReach(kind hazard.Kind) time.Duration {
	switch kind {
	case hazard.Earthquake:
		return 24 * time.Hour
	case hazard.StormFix:
		return 60 * 24 * time.Hour
	case hazard.StationDay:
	}
	return 400 * 24 * time.Hour
}

// names are the occurrence and everything that was merged into it.
func (j *judging) names(ctx context.Context) error {
	if j.occurrence == nil { // a claim for approval is about none
		return nil
	}
	var merged []uuid.UUID
	err := j.NewSelect().Model((*occurrenceRow)(nil)).Column("id").Where("merged_into = ?", j.occurrence.ID).Scan(ctx, &merged)
	if err != nil {
		return fmt.Errorf("read merged occurrences: %w", err)
	}
	j.same = map[uuid.UUID]bool{j.occurrence.ID: true}
	for _, id := range merged {
		j.same[id] = true
	}
	return nil
}

// concerns tells whether a claim is about the occurrence, by whatever name.
func (j *judging) concerns(c *claimRow) bool { return c.OccurrenceID != nil && j.same[*c.OccurrenceID] }

// standing orders a policy's claims for one occurrence, which were once two: who
// waits for the source is heard first, who was declined or withdrawn last.
func (r *claimRow) standing() int {
	switch {
	case r.provisional():
		return 2
	case r.counts():
		return 1
	default:
		return 0
	}
}

func (j *judging) readHappened(ctx context.Context, claims []*claimRow) error {
	j.happened = make(map[uuid.UUID]*occurrenceRow)
	var ids []uuid.UUID
	for _, c := range claims {
		if c.OccurrenceID != nil {
			ids = append(ids, *c.OccurrenceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []*occurrenceRow
	if err := j.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read occurrences of claims: %w", err)
	}
	for _, row := range rows {
		j.happened[row.ID] = row
	}
	return nil
}

func (j *judging) readVersions(ctx context.Context) error {
	j.restsOn = make(map[uuid.UUID]*determinationRow)
	j.parts, j.paying = make(map[uuid.UUID]int), make(map[uuid.UUID]claimParts)
	var ids []uuid.UUID
	var claims []uuid.UUID
	for _, c := range slices.Concat(slices.Collect(maps.Values(j.others))...) {
		if j.concerns(c) {
			ids, claims = append(ids, *c.DeterminationID), append(claims, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []determinationRow
	if err := j.NewSelect().Model(&rows).Column("id", "met", "amount", "body", "first_day", "last_day").Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read determinations: %w", err)
	}
	for i := range rows {
		j.restsOn[rows[i].ID] = &rows[i]
	}
	return j.readPayouts(ctx, claims)
}

// readPayouts reads the newest payouts of claims, and the highest part of all.
func (j *judging) readPayouts(ctx context.Context, claims []uuid.UUID) error {
	var highest []payoutRow
	err := j.NewSelect().Model(&highest).Column("claim_id").ColumnExpr("max(part) as part").Where("claim_id in (?)", bun.List(claims)).Group("claim_id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read parts of claims: %w", err)
	}
	for _, row := range highest {
		j.parts[row.ClaimID] = row.Part
	}
	var payouts []payoutRow
	err = j.NewSelect().Model(&payouts).ModelTableExpr("claims as c").Join(`cross join lateral (select * from payouts
		where claim_id = c.id and partner = c.partner order by claim_sequence desc limit ?) as po`, maxEmbedded).
		Where("c.id in (?)", bun.List(claims)).OrderExpr("po.claim_sequence").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	for i := range payouts {
		parts := j.paying[payouts[i].ClaimID]
		parts.payouts = append(parts.payouts, *payouts[i].public())
		parts.payoutsCount = payouts[i].ClaimSequence
		j.paying[payouts[i].ClaimID] = parts
	}
	return nil
}

// owedFor is what a policy's approved claims for the occurrence were granted on:
// more than one where two occurrences turned out to be one.
func (j *judging) owedFor(p *policyRow) (owed int64) {
	for _, c := range j.others[p.ID] {
		if j.concerns(c) && c.isApproved() {
			owed += j.restsOn[*c.DeterminationID].Amount
		}
	}
	return owed
}

// isApproved tells whether money is owed for the claim, paid or not.
func (r *claimRow) isApproved() bool { return r.Status == ClaimApproved || r.Status == ClaimClosed }

// write puts the slice into the database: one statement a table.
func (j *judging) write(ctx context.Context) error {
	writes := []struct {
		rows  int
		write func() error
	}{
		{len(j.determinations), func() error { return insert(ctx, j.unit, &j.determinations) }},
		{len(j.opened), func() error { return insert(ctx, j.unit, &j.opened) }},
		{len(j.moved), func() error {
			return j.update(ctx, &j.moved, "status", "determination_id", "occurred_at", "amount", "outcome", "reason_codes", "decided_at", "next_review_at", "closed_at", "timeline_sequence", "told_at")
		}},
		{len(j.shrunk), func() error { return j.update(ctx, &j.shrunk, "status", "limit_remaining") }},
		{len(j.payouts), func() error { return insert(ctx, j.unit, &j.payouts) }},
	}
	for _, w := range writes {
		if w.rows == 0 {
			continue
		}
		if err := w.write(); err != nil {
			return fmt.Errorf("write claims: %w", err)
		}
	}
	var declined []uuid.UUID
	for _, c := range j.moved {
		if c.Status == ClaimDeclined {
			declined = append(declined, c.PolicyID)
		}
	}
	return j.reevaluatePossibleDuplicates(ctx, declined)
}

func insert(ctx context.Context, u *unit, rows any) error {
	_, err := u.NewInsert().Model(rows).Exec(ctx)
	return err
}

// update writes locked rows back; their versions cannot have moved.
func (j *judging) update(ctx context.Context, rows any, columns ...string) error {
	_, err := j.NewUpdate().Model(rows).Column(append(columns, "version", "updated_at")...).Bulk().Exec(ctx)
	return err
}

func policyIDs(policies []*policyRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(policies))
	for i, p := range policies {
		ids[i] = p.ID
	}
	return ids
}
