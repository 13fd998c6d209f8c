package model

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// scenes are looked at together, through the same eyes: whatever their verdicts
// need is read for all of them at once.
type scenes []*scene

// of are the scenes that happened, or might, without rain or of rain alone.
func (all scenes) of(rain bool) scenes {
	return slices.DeleteFunc(slices.Clone(all), func(sc *scene) bool { return (sc.rain != nil) != rain })
}

// happened are the scenes that were recorded, not supposed.
func (all scenes) happened() scenes {
	return slices.DeleteFunc(slices.Clone(all), func(sc *scene) bool { return sc.mere })
}

func (all scenes) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, sc := range all {
		ids[i] = sc.row.ID
	}
	return ids
}

// concerned are the policies that each scene may touch, by the scene's occurrence,
// in order of id: those the matcher would look at, and those with a claim for it.
func (all scenes) concerned(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	concerned, err := all.of(false).near(ctx, db)
	if err != nil {
		return nil, err
	}
	insured, err := all.of(true).insured(ctx, db)
	if err != nil {
		return nil, err
	}
	maps.Copy(concerned, insured)
	happened := all.happened()
	if len(happened) == 0 {
		return concerned, nil
	}
	var claims []claimOf
	if err := happened.claims(db, &claims).Column("policy_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read claims of occurrences: %w", err)
	}
	for _, claim := range claims {
		concerned[claim.Of] = append(concerned[claim.Of], claim.PolicyID)
	}
	for of, ids := range concerned {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		concerned[of] = slices.Compact(ids)
	}
	return concerned, nil
}

// near are the policies by whose boxes something happened, or might.
func (all scenes) near(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	looked := make([]happening, len(all))
	for i, sc := range all {
		row := *sc.row
		if row.Scope == "" {
			row.Scope = sc.eyes
		}
		looked[i] = happening{&row, sc.facts}
	}
	return candidates(ctx, db, looked)
}

// insured are the policies at the gauges where it rained.
func (all scenes) insured(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	if len(all) == 0 {
		return nil, nil
	}
	gauges := map[gauge]int{}
	var each *bun.SelectQuery
	for _, sc := range all {
		if _, known := gauges[sc.rain.gauge]; known {
			continue
		}
		q := sc.own(sc.rain.insured(db, (*policyRow)(nil)).Column("id").ColumnExpr("? as gauge", len(gauges)))
		if gauges[sc.rain.gauge] = len(gauges); each == nil {
			each = q
		} else {
			each = each.UnionAll(q)
		}
	}
	var found []struct {
		ID    uuid.UUID
		Gauge int
	}
	if err := db.NewSelect().TableExpr("(?) as p", each).OrderExpr("p.id").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("read policies at stations: %w", err)
	}
	at := make([][]uuid.UUID, len(gauges))
	for _, f := range found {
		at[f.Gauge] = append(at[f.Gauge], f.ID)
	}
	insured := make(map[uuid.UUID][]uuid.UUID, len(all))
	for _, sc := range all {
		insured[sc.row.ID] = slices.Clone(at[gauges[sc.rain.gauge]])
	}
	return insured, nil
}

// among reads policies of the ids that may be looked at, in order of id, with
// what the verdicts of every scene need to know of them.
func (all scenes) among(ctx context.Context, db bun.IDB, ids []uuid.UUID, narrow func(*bun.SelectQuery) *bun.SelectQuery) ([]*policyRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var policies []*policyRow
	q := db.NewSelect().Model(&policies).
		Column("id", "partner", "product", "currency", "cover", "terms_hash", "limit_remaining", "station",
			"effective_at", "payable_from", "expires_at", "reportable_until", "cancelled_at").
		Where("p.id in (?)", bun.List(ids)).OrderExpr("p.id")
	if err := narrow(all[0].own(q)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	if len(policies) == 0 {
		return nil, nil
	}
	if err := all.of(true).taken(ctx, db, policies); err != nil {
		return nil, err
	}
	return policies, all.claimed(ctx, db, policies)
}

// taken reads the windows of rain that policies claimed already.
func (all scenes) taken(ctx context.Context, db bun.IDB, policies []*policyRow) error {
	if len(all) == 0 {
		return nil
	}
	sources := make([]string, len(all))
	for i, sc := range all {
		sources[i] = sc.rain.source
	}
	taken, err := takenWindows(ctx, db, sources, policies)
	for _, sc := range all {
		sc.rain.taken = taken[sc.rain.source]
	}
	return err
}

// claimOf is a claim of an occurrence, under the name that the occurrence has now.
type claimOf struct {
	claimRow `bun:",extend"`

	Of uuid.UUID `bun:",scanonly"`
}

// claims asks for what was claimed of occurrences, by whatever name they had.
func (all scenes) claims(db bun.IDB, into *[]claimOf) *bun.SelectQuery {
	ids := bun.List(all.ids())
	return all[0].own(db.NewSelect().Model(into).ColumnExpr("coalesce(oc.merged_into, oc.id) as of").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("(oc.id in (?0) or oc.merged_into in (?0))", ids))
}

// claimed reads the claims of policies that were made of the occurrences. Of two
// claims of one policy the one that holds it counts.
func (all scenes) claimed(ctx context.Context, db bun.IDB, policies []*policyRow) error {
	of := make(map[uuid.UUID]map[uuid.UUID]*claimRow, len(all))
	for _, sc := range all {
		if of[sc.row.ID] == nil {
			of[sc.row.ID] = make(map[uuid.UUID]*claimRow)
		}
		sc.claims = of[sc.row.ID]
	}
	happened := all.happened()
	if len(happened) == 0 {
		return nil
	}
	var rows []claimOf
	err := happened.claims(db, &rows).Column("id", "policy_id", "status", "amount", "reason_codes", "occurrence_id").
		Where("c.policy_id in (?)", bun.List(policyIDs(policies))).OrderExpr("c.id desc").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read claims of occurrences: %w", err)
	}
	for i := range rows {
		row, claims := &rows[i].claimRow, of[rows[i].Of]
		if have := claims[row.PolicyID]; have == nil || row.counts() || !have.counts() {
			claims[row.PolicyID] = row
		}
	}
	return nil
}
