package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// OccurrenceRef names an occurrence by its id or its source's id, or describes a
// hypothetical one. Exactly one field is set.
type OccurrenceRef struct {
	ID          *string
	SourceEvent *adjudication.SourceEvent // at a station the id names any day of the occurrence; see adjudication.FindStationDay
	WhatIf      *WhatIf
	Pointer     string // JSON pointer to it in the request; empty when its members are at the top level
}

// Explain evaluates an occurrence for a policy with the function that decides claims, and
// returns every number and the reasons as sentences. If the claim was opened for this
// occurrence, its status decides whether it pays.
func (s *Service) Explain(ctx context.Context, caller actor.Actor, policy string, ref OccurrenceRef) (*wire.Explanation, error) {
	if err := s.Authorize(ctx, caller, actor.ScopePoliciesRead); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	ref.validate(v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, err := store.ResourcePolicy.ParseID(policy)
	if err != nil {
		return nil, err
	}
	var explanation *wire.Explanation
	explain := func(ctx context.Context, db bun.IDB, now time.Time) error {
		row := new(underwriting.PolicyRow)
		err := store.RestrictToTenant(caller, db.NewSelect().Model(row).Where("p.id = ?", id)).Scan(ctx)
		if store.IsNoRows(err) {
			return store.ResourcePolicy.NotFoundError()
		}
		if err != nil {
			return fmt.Errorf("read policy: %w", err)
		}
		sc, err := ref.loadScenario(ctx, db, row, now)
		if err != nil {
			return err
		}
		explanation, err = sc.explainPolicy(ctx, db, row)
		return err
	}
	if caller.IdempotencyKey == nil {
		err = s.ReadSnapshot(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error { return explain(ctx, tx, now) })
		return explanation, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if err := explain(ctx, tx, tx.Now); err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusOK, explanation.PolicyID, explanation)
	})
	return explanation, err
}

func (ref *OccurrenceRef) validate(v *apperr.Validator) {
	given := 0
	for _, one := range []bool{ref.ID != nil, ref.SourceEvent != nil, ref.WhatIf != nil} {
		if one {
			given++
		}
	}
	id := "occurrence_id"
	if ref.Pointer != "" {
		id = "id" // relative to the reference
	}
	v.Require(given == 1, ref.Pointer, "required", "Give exactly one of "+id+", source_event and what_if.")
}

// loadScenario loads the referenced occurrence as far as the policy's partner may see it.
func (ref *OccurrenceRef) loadScenario(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, now time.Time) (*Scenario, error) {
	if ref.WhatIf != nil {
		return newHypotheticalScenario(ctx, db, ref.WhatIf, ref.Pointer+"/what_if", p.Partner, now)
	}
	row, err := ref.findOccurrence(ctx, db, p)
	if err != nil {
		return nil, err
	}
	return loadRecordedScenario(ctx, db, row, p.Partner, now)
}

func (ref *OccurrenceRef) findOccurrence(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow) (*occurrence.OccurrenceRow, error) {
	if ref.ID != nil {
		id, err := store.ResourceOccurrence.ParseID(*ref.ID)
		if err != nil {
			return nil, err
		}
		return occurrence.LoadVisibleOccurrence(ctx, db, id, p.Partner)
	}
	event := *ref.SourceEvent
	if report, found, err := adjudication.FindStationDay(ctx, db, p, event); err != nil {
		return nil, err
	} else if found {
		row, _, err := adjudication.FindOccurrenceOn(ctx, db, p, report.StationOfDay(), report.Day.UTC())
		return row, err
	}
	id, err := adjudication.FindAliasedOccurrence(ctx, db, p, event)
	if err != nil {
		return nil, err
	}
	return occurrence.LoadVisibleOccurrence(ctx, db, id, p.Partner)
}

// explainPolicy returns the evaluation of one policy that pays most.
func (sc *Scenario) explainPolicy(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow) (*wire.Explanation, error) {
	policies, err := scenarios{sc}.loadPolicies(ctx, db, []uuid.UUID{p.ID}, func(q *bun.SelectQuery) *bun.SelectQuery { return q })
	if err != nil {
		return nil, err
	}
	if len(policies) != 1 {
		return nil, store.ResourcePolicy.NotFoundError()
	}
	best := slices.MaxFunc(sc.evaluatePolicy(policies[0]), func(a, b Evaluation) int { return int(min(1, max(-1, a.payableAmount()-b.payableAmount()))) })
	return best.toRecord(), nil
}
