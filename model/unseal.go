package model

import (
	"context"
	"fmt"
)

// UnsealRequest says that the bank does not have a file that may have been put.
type UnsealRequest struct {
	Batch  string // the file's name without its extension
	Reason string // who said so at the bank, and when
}

// UnsealBankFile lets a batch be written with other orders than it was sealed with:
// those that can still be paid. The caller has asked the bank, because orders that it has
// would be paid again once they are set aside and written in another file. Releases must
// be stopped, so that no writer has the file in its hands. Operators only. Errors:
// validation_failed, state_conflict.
func (s *Service) UnsealBankFile(ctx context.Context, actor Actor, in UnsealRequest) error {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return err
	}
	stopped, err := s.AreReleasesStopped(ctx)
	if err != nil {
		return err
	}
	if !stopped {
		return Fail(CodeStateConflict, "Files are being written: stop releases first.")
	}
	left, err := s.waitForSends(ctx)
	if err != nil {
		return err
	}
	if left != nil {
		return Fail(CodeStateConflict, "Payouts are still leaving; try again when they have ended.")
	}
	_, err = s.changeStop(ctx, actor, in.Reason, func(ctx context.Context, tx *Tx, standing *stopRow) (*stopRow, error) {
		if standing == nil {
			return nil, Fail(CodeStateConflict, "Files are being written: stop releases first.")
		}
		done, err := tx.NewRaw("update bank_batches set sealed_digest = null where id = ? and sealed_digest is not null and written_at is null", in.Batch).Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("unseal batch: %w", err)
		}
		if n, _ := done.RowsAffected(); n == 0 {
			return nil, Fail(CodeStateConflict, "No file %q is sealed and unwritten; the log of the job write_files names those that are.", in.Batch)
		}
		return standing, nil
	})
	return err
}
