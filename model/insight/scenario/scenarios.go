package scenario

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/candidates"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/underwriting"
)

// scenarios are evaluated together, for the same partner scope: the facts for all
// evaluations are read at once.
type scenarios []*Scenario

// filterRainfall returns the scenarios at stations if rain is true, else the others.
func (all scenarios) filterRainfall(rain bool) scenarios {
	return slices.DeleteFunc(slices.Clone(all), func(sc *Scenario) bool { return sc.Row.Kind.IsDaily() != rain })
}

// insuredStation is a station and an occurrence definition used by policies there. An
// empty definition matches any of the peril.
type insuredStation struct {
	scope, station, definition string
	peril                      hazard.Peril
}

func (sc *Scenario) insuredStation() insuredStation {
	if sc.hypotheticalDays != nil {
		return insuredStation{sc.partnerScope, sc.hypotheticalDays.Name, "", sc.hypotheticalDays.peril}
	}
	name, _, _ := occurrence.ParseStationDay(sc.Row.SourceEventID)
	return insuredStation{sc.Row.Scope, name, *sc.Row.Definition, ""}
}

// policyQuery selects the policies that are not archived.
func (at insuredStation) policyQuery(db bun.IDB) *bun.SelectQuery {
	q := db.NewSelect().Model((*underwriting.PolicyRow)(nil)).Where("p.station = ?", at.station).Where("p.status <> ?", underwriting.PolicyArchived)
	if at.definition != "" {
		q = q.Where("p.definition = ?", at.definition)
	} else {
		q = q.Where("p.kind = ?", at.peril)
	}
	if at.scope != "" {
		q = q.Where("p.partner = ?", at.scope)
	}
	return q
}

// filterRecorded returns the scenarios that are not hypothetical.
func (all scenarios) filterRecorded() scenarios {
	return slices.DeleteFunc(slices.Clone(all), func(sc *Scenario) bool { return sc.hypothetical })
}

func (all scenarios) occurrenceIDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, sc := range all {
		ids[i] = sc.Row.ID
	}
	return ids
}

// findCandidates returns the policies that each scenario may affect, by its occurrence,
// in order of id: those that the matcher would evaluate, and those with a claim for it.
func (all scenarios) findCandidates(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	concerned, err := all.filterRainfall(false).findCandidatesByLocation(ctx, db)
	if err != nil {
		return nil, err
	}
	insured, err := all.filterRainfall(true).findCandidatesAtStations(ctx, db)
	if err != nil {
		return nil, err
	}
	maps.Copy(concerned, insured)
	happened := all.filterRecorded()
	if len(happened) == 0 {
		return concerned, nil
	}
	var claims []occurrenceClaim
	if err := happened.claimsQuery(db, &claims).Column("policy_id").Scan(ctx); err != nil {
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

// findCandidatesByLocation returns the policies whose boxes match a scenario's
// location.
func (all scenarios) findCandidatesByLocation(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	looked := make([]occurrence.LoadedOccurrence, len(all))
	for i, sc := range all {
		row := *sc.Row
		if row.Scope == "" {
			row.Scope = sc.partnerScope
		}
		looked[i] = occurrence.LoadedOccurrence{Row: &row, Facts: sc.Facts}
	}
	found, err := candidates.Find(ctx, db, looked)
	if err != nil {
		return nil, err
	}
	ids := make(map[uuid.UUID][]uuid.UUID, len(found))
	for of, each := range found {
		ids[of] = candidates.IDs(each)
	}
	return ids, nil
}

// findCandidatesAtStations returns the policies at the scenarios' stations.
func (all scenarios) findCandidatesAtStations(ctx context.Context, db bun.IDB) (map[uuid.UUID][]uuid.UUID, error) {
	if len(all) == 0 {
		return nil, nil
	}
	numbers := map[insuredStation]int{}
	var each *bun.SelectQuery
	for _, sc := range all {
		at := sc.insuredStation()
		if _, known := numbers[at]; known {
			continue
		}
		q := sc.restrictToScope(at.policyQuery(db).Column("id").ColumnExpr("? as number", len(numbers)))
		if numbers[at] = len(numbers); each == nil {
			each = q
		} else {
			each = each.UnionAll(q)
		}
	}
	var found []struct {
		ID     uuid.UUID
		Number int
	}
	if err := db.NewSelect().TableExpr("(?) as p", each).OrderExpr("p.id").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("read policies at stations: %w", err)
	}
	at := make([][]uuid.UUID, len(numbers))
	for _, f := range found {
		at[f.Number] = append(at[f.Number], f.ID)
	}
	insured := make(map[uuid.UUID][]uuid.UUID, len(all))
	for _, sc := range all {
		insured[sc.Row.ID] = slices.Clone(at[numbers[sc.insuredStation()]])
	}
	return insured, nil
}

// loadPolicies reads the visible policies among ids, in order of id, with the facts
// that the evaluations of every scenario need.
func (all scenarios) loadPolicies(ctx context.Context, db bun.IDB, ids []uuid.UUID, filter func(*bun.SelectQuery) *bun.SelectQuery) ([]*underwriting.PolicyRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var policies []*underwriting.PolicyRow
	q := db.NewSelect().Model(&policies).
		Column("id", "partner", "product", "currency", "cover", "terms_hash", "limit_remaining", "station",
			"effective_at", "payable_from", "expires_at", "reportable_until", "cancelled_at").
		Where("p.id in (?)", bun.List(ids)).OrderExpr("p.id")
	if err := filter(all[0].restrictToScope(q)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	if len(policies) == 0 {
		return nil, nil
	}
	if atStations := all.filterRainfall(true); len(atStations) > 0 {
		paid, err := claims.LoadPaidDays(ctx, db, policies)
		if err != nil {
			return nil, err
		}
		for _, sc := range atStations {
			sc.paidRuns = paid
		}
	}
	return policies, all.loadClaims(ctx, db, policies)
}

// occurrenceClaim is a claim for an occurrence, with the occurrence's present id.
type occurrenceClaim struct {
	claims.ClaimRow `bun:",extend"`

	Of uuid.UUID `bun:",scanonly"`
}

// claimsQuery selects the claims for the occurrences and for those merged into them.
func (all scenarios) claimsQuery(db bun.IDB, into *[]occurrenceClaim) *bun.SelectQuery {
	ids := bun.List(all.occurrenceIDs())
	return all[0].restrictToScope(db.NewSelect().Model(into).ColumnExpr("coalesce(oc.merged_into, oc.id) as of").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("(oc.id in (?0) or oc.merged_into in (?0))", ids))
}

// loadClaims reads the claims of policies for the occurrences. If a policy has two
// claims, the one that is not retracted counts.
func (all scenarios) loadClaims(ctx context.Context, db bun.IDB, policies []*underwriting.PolicyRow) error {
	of := make(map[uuid.UUID]map[uuid.UUID]*claims.ClaimRow, len(all))
	for _, sc := range all {
		if of[sc.Row.ID] == nil {
			of[sc.Row.ID] = make(map[uuid.UUID]*claims.ClaimRow)
		}
		sc.claims = of[sc.Row.ID]
	}
	happened := all.filterRecorded()
	if len(happened) == 0 {
		return nil
	}
	var rows []occurrenceClaim
	err := happened.claimsQuery(db, &rows).Column("id", "policy_id", "status", "amount", "reason_codes", "occurrence_id").
		Where("c.policy_id in (?)", bun.List(underwriting.PolicyIDs(policies))).OrderExpr("c.id desc").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read claims of occurrences: %w", err)
	}
	for i := range rows {
		row, claims := &rows[i].ClaimRow, of[rows[i].Of]
		if have := claims[row.PolicyID]; have == nil || adjudication.IsActive(row) || !adjudication.IsActive(have) {
			claims[row.PolicyID] = row
		}
	}
	return nil
}
