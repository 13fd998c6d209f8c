package controls

import (
	"context"
	"fmt"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// ReleaseStops lists the last stops, newest first; the first one is active if it has no
// end. Operators only.
func (s *Service) ReleaseStops(ctx context.Context, caller actor.Actor, most int) ([]ReleaseStop, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []StopRow
	if err := s.DB.NewSelect().Model(&rows).OrderExpr("rs.id desc").Limit(int64(most)).Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list stops: %w", err))
	}
	stops := make([]ReleaseStop, len(rows))
	for i := range rows {
		stops[i] = *rows[i].ToRecord()
	}
	return stops, nil
}

// ReleaseResumptions lists the last resumptions of releases, newest first. Operators
// only.
func (s *Service) ReleaseResumptions(ctx context.Context, caller actor.Actor, limit int) ([]ReleaseResumption, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []ResumptionRow
	if err := s.DB.NewSelect().Model(&rows).OrderExpr("rr.id desc").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("list resumptions: %w", err))
	}
	runs := make([]ReleaseResumption, len(rows))
	for i := range rows {
		runs[i] = *rows[i].ToRecord()
	}
	return runs, nil
}

// GetReleaseResumption returns one run. Operators only. Errors: not_found.
func (s *Service) GetReleaseResumption(ctx context.Context, caller actor.Actor, id string) (*ReleaseResumption, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	key, err := store.ResourceReleaseResumption.ParseID(id)
	if err != nil {
		return nil, err
	}
	row := new(ResumptionRow)
	err = s.DB.NewSelect().Model(row).Where("rr.id = ?", key).Scan(ctx)
	if store.IsNoRows(err) {
		return nil, store.ResourceReleaseResumption.NotFoundError()
	}
	return row.ToRecord(), store.TranslateError(err)
}
