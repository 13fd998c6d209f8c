package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"parapet/jobs/rail/bankfile"
)

// withLockedFile runs change under the lock of a payment file, so that sealing a file and
// removing an order from it happen one after the other.
func (s *PaymentOrderStore) withLockedFile(ctx context.Context, batch string, change func(tx pgx.Tx, sealed *string) error) error {
	return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var sealed *string
		if err := tx.QueryRow(ctx, "select sealed_digest from payment_files where id = $1 for update", batch).Scan(&sealed); err != nil {
			return fmt.Errorf("lock batch: %w", err)
		}
		return change(tx, sealed)
	})
}

// SetAside implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) SetAside(ctx context.Context, batch string, keys, settled []string) error {
	return s.withLockedFile(ctx, batch, func(tx pgx.Tx, sealed *string) error {
		if sealed != nil {
			return bankfile.ErrFileSealed
		}
		_, err := tx.Exec(ctx, `update payment_orders set file_id = null, set_aside_at = case when key = any($2) then clock_timestamp() end,
			settled_at = case when key = any($3) then clock_timestamp() end where file_id = $1 and (key = any($2) or key = any($3))`, batch, keys, settled)
		return err
	})
}

// SealFile implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) SealFile(ctx context.Context, batch, digest string, entries int) error {
	return s.withLockedFile(ctx, batch, func(tx pgx.Tx, sealed *string) error {
		var held int
		if err := tx.QueryRow(ctx, "select count(*) from payment_orders where file_id = $1", batch).Scan(&held); err != nil {
			return fmt.Errorf("count entries: %w", err)
		}
		if held != entries || sealed != nil && *sealed != digest {
			return bankfile.ErrFileSealed
		}
		_, err := tx.Exec(ctx, "update payment_files set sealed_digest = $2 where id = $1", batch, digest)
		return err
	})
}

// ListSetAside implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) ListSetAside(ctx context.Context, rail string) ([]string, error) {
	rows, err := s.db.Query(ctx, "select key from payment_orders where rail = $1 and set_aside_at is not null order by key limit 10000", rail)
	if err != nil {
		return nil, fmt.Errorf("read what was set aside: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Readmit implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) Readmit(ctx context.Context, rail string, keys, settled []string) error {
	_, err := s.db.Exec(ctx, `update payment_orders set set_aside_at = null, settled_at = case when key = any($3) then clock_timestamp() end
		where rail = $1 and file_id is null and (key = any($2) or key = any($3))`, rail, keys, settled)
	if err != nil {
		return fmt.Errorf("readmit entries: %w", err)
	}
	return nil
}
