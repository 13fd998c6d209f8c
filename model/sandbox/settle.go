package sandbox

import (
	"context"
	"fmt"
	"slices"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// Outcome is what the simulated rail reports about a payout.
type Outcome string

// The outcomes that the simulated rail can report.
const (
	Settle   Outcome = "settle"   // it was paid
	Return   Outcome = "return"   // it came back
	Mismatch Outcome = "mismatch" // it was paid with another amount
)

// PayoutRequest is an outcome for a payout.
type PayoutRequest struct {
	PayoutID string
	Outcome  Outcome
}

// ReportPayout lets the simulated rail report an outcome for a payout that it has. The
// report is made and reconciled within seconds, as any report of a rail is; the payout is
// returned as it was before. Errors: not_found, validation_failed, state_conflict.
func (s *Service) ReportPayout(ctx context.Context, caller actor.Actor, in PayoutRequest) (*wire.Payout, error) {
	if err := s.authorize(ctx, caller, caller.ScopeForOwnRecords(actor.ScopeClaimsWrite)); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	v.Require(slices.Contains([]Outcome{Settle, Return, Mismatch}, in.Outcome), "/outcome", "enum", "Use settle, return or mismatch.")
	if err := v.Err(); err != nil {
		return nil, err
	}
	var payout *wire.Payout
	err := payouts.ChangePayout(ctx, s.Store, caller, caller.Partner, in.PayoutID, func(ctx context.Context, tx *store.Tx, _ *claims.ClaimRow, row *claims.PayoutRow) error {
		sent := []claims.PayoutStatus{claims.PayoutReleased, claims.PayoutReconciling}
		if in.Outcome == Return {
			sent = append(sent, claims.PayoutReconciled)
		}
		if !slices.Contains(sent, row.Status) {
			return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; the rail reports a payout that is released or reconciling, and returns one that is reconciled too.", row.Status)
		}
		done, err := tx.NewRaw(`with transfer as (update simulator_transfers set reported = true where key = ?0 and transfer->>'outcome' = 'accepted' returning key)
			insert into simulator_report_lines (key, outcome) select key, ?1 from transfer`, payouts.IdempotencyKey(row), in.Outcome).Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert report line: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return orConflict(err, "The simulated rail has no payment of this payout.")
		}
		payout = row.ToRecord()
		tx.Describe(row.Partner, payout.ID, nil)
		return tx.StoreResponse(store.StatusAccepted, payout.ID, payout)
	})
	return payout, err
}
