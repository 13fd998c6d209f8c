package measured

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Service shows the measurement states of claims. It may be used concurrently.
type Service struct {
	*store.Store
}

// New returns the operations on a database.
func New(s *store.Store) *Service {
	return &Service{Store: s}
}

// Attach adds their measurement states to claims that the actor has read.
func (s *Service) Attach(ctx context.Context, caller actor.Actor, records ...*wire.Claim) error {
	if !slices.ContainsFunc(records, func(record *wire.Claim) bool { return record.Occurrence != nil }) {
		return nil
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	return attach(ctx, s.DB, caller, now, records)
}

// AttachAll is Attach for a page of claims.
func (s *Service) AttachAll(ctx context.Context, caller actor.Actor, page []wire.Claim) error {
	records := make([]*wire.Claim, len(page))
	for i := range page {
		records[i] = &page[i]
	}
	return s.Attach(ctx, caller, records...)
}

// Attach adds their measurement states to records of claims within a transaction.
func Attach(ctx context.Context, tx *store.Tx, records ...*wire.Claim) error {
	return attach(ctx, tx, tx.Actor, tx.Clock, records)
}

func attach(ctx context.Context, db bun.IDB, caller actor.Actor, now time.Time, records []*wire.Claim) error {
	var ids []uuid.UUID
	for _, record := range records {
		if record.Occurrence != nil {
			ids = append(ids, store.ResourceClaim.ParseIDs([]string{record.ID})...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	states, err := LoadStates(ctx, db, caller, now, ids)
	if err != nil {
		return err
	}
	for _, record := range records {
		if id, err := store.ResourceClaim.ParseID(record.ID); err == nil {
			record.MeasurementState = states[id]
		}
	}
	return nil
}

// States returns the measurement states of the claims that the actor may see, by id.
func (s *Service) States(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.MeasurementState, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	keys := store.ResourceClaim.ParseIDs(ids)
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := LoadStates(ctx, s.DB, caller, now, keys)
	if err != nil {
		return nil, err
	}
	states := make(map[string]*wire.MeasurementState, len(found))
	for id, state := range found {
		states[store.ResourceClaim.FormatID(id)] = state
	}
	return states, nil
}
