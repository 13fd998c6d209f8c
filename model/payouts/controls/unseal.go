package controls

import (
	"context"
	"fmt"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// UnsealRequest states that the bank does not have a file that may have been uploaded.
type UnsealRequest struct {
	Batch  string // the file's name without its extension
	Reason string // the confirming person at the bank, and the time
}

// UnsealBankFile allows a sealed batch to be written with other orders: those that can
// still be paid. The caller must have asked the bank, because orders that the bank has
// would be paid twice if they are set aside and written in another file. Releases must
// be stopped, so that no writer is using the file. Operators only. Errors:
// validation_failed, state_conflict.
func (s *Service) UnsealBankFile(ctx context.Context, caller actor.Actor, in UnsealRequest) error {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return err
	}
	stopped, err := s.AreReleasesStopped(ctx)
	if err != nil {
		return err
	}
	if !stopped {
		return apperr.Fail(apperr.CodeStateConflict, "Files are being written: stop releases first.")
	}
	left, err := s.waitForSends(ctx)
	if err != nil {
		return err
	}
	if left != nil {
		return apperr.Fail(apperr.CodeStateConflict, "Payouts are still being sent; try again when none is.")
	}
	_, err = ChangeStop(ctx, s.Store, caller, in.Reason, func(ctx context.Context, tx *store.Tx, standing *StopRow) (*StopRow, error) {
		if standing == nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "Files are being written: stop releases first.")
		}
		done, err := tx.NewRaw("update payment_files set sealed_digest = null where id = ? and sealed_digest is not null and written_at is null", in.Batch).Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("unseal batch: %w", err)
		}
		if n, _ := done.RowsAffected(); n == 0 {
			return nil, apperr.Fail(apperr.CodeStateConflict, "No file %q is sealed and unwritten; the log of the job write_files names those that are.", in.Batch)
		}
		return standing, nil
	})
	return err
}
