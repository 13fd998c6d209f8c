package sandbox

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Reset starts a run that ends the partner's open records by ordinary transitions: waiting
// claims are withdrawn, payouts that were not sent cancelled, policies cancelled and quotes
// expired; the readings of the partner's sandbox are retracted. Payouts at the rail end as
// the rail reports. Nothing is deleted, and sequences go on. Errors: not_found without a
// sandbox, state_conflict while a reset is at work.
func (s *Service) Reset(ctx context.Context, caller actor.Actor) (*wire.SandboxRun, error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsWrite); err != nil {
		return nil, err
	}
	return s.start(ctx, caller, func(context.Context, *store.Tx) (*Run, error) {
		return &Run{Kind: KindReset, Result: Result{Reset: &wire.SandboxReset{}}}, nil
	})
}

// OpenRecords are the records of a partner that a reset ends, at most a thousand of each kind.
type OpenRecords struct {
	Claims, Payouts, Policies []string
	Quotes                    int
	Readings                  []wire.ObservationInput // as retractions
}

// IsEmpty reports whether nothing is left to end.
func (o *OpenRecords) IsEmpty() bool {
	return len(o.Claims)+len(o.Payouts)+len(o.Policies)+o.Quotes+len(o.Readings) == 0
}

// LoadOpenRecords returns the open records of a partner. System only.
func (s *Service) LoadOpenRecords(ctx context.Context, partner string) (*OpenRecords, error) {
	open := new(OpenRecords)
	for _, list := range []struct {
		into  *[]string
		kind  store.ResourceType
		query string
	}{
		{&open.Claims, store.ResourceClaim, "select id from claims where partner = ? and status in ('opened', 'deferred') order by id limit 1000"},
		{&open.Payouts, store.ResourcePayout, "select id from payouts where partner = ? and status in ('pending', 'blocked') order by id limit 1000"},
		{&open.Policies, store.ResourcePolicy, "select id from policies where partner = ? and status = 'active' order by id limit 1000"},
	} {
		var ids []uuid.UUID
		if err := s.DB.NewRaw(list.query, partner).Scan(ctx, &ids); err != nil {
			return nil, fmt.Errorf("find open records: %w", err)
		}
		for _, id := range ids {
			*list.into = append(*list.into, list.kind.FormatID(id))
		}
	}
	if err := s.DB.NewRaw("select count(*) from quotes where partner = ? and status = 'priced'", partner).Scan(ctx, &open.Quotes); err != nil {
		return nil, fmt.Errorf("count quotes: %w", err)
	}
	var rows []*occurrence.ObservationRow
	err := s.DB.NewSelect().Model(&rows).Where("o.scope = ?", partner).Where("o.stage <> ?", trigger.Retracted).OrderExpr("o.id").Limit(occurrence.MaxObservations).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("find readings: %w", err)
	}
	for _, row := range rows {
		retraction := row.Body
		retraction.Stage, retraction.Measures, retraction.Revision = trigger.Retracted, nil, nil
		open.Readings = append(open.Readings, retraction)
	}
	return open, nil
}
