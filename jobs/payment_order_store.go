package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/jobs/rail/bankfile"
	"parapet/model"
	"parapet/model/payouts"
)

// PaymentOrderStore stores the orders and files of file-based rails in Postgres.
type PaymentOrderStore struct{ db dbConn }

// dbConn is a pool, or one connection that may be in a transaction.
type dbConn interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// NewPaymentOrderStore returns a store over the tables payment_orders and payment_files.
func NewPaymentOrderStore(pool *pgxpool.Pool) *PaymentOrderStore { return &PaymentOrderStore{pool} }

const orderColumns = "key, end_to_end_id, payout_id, amount, currency, payee, coalesce(file_id, '')"

func scanOrder(row pgx.CollectableRow) (e bankfile.PaymentOrder, err error) {
	err = row.Scan(&e.Key, &e.EndToEndID, &e.PayoutID, &e.Amount.Amount, &e.Amount.Currency, &e.Payee, &e.FileID)
	return e, err
}

// WithConn implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) WithConn(conn *pgx.Conn) bankfile.PaymentOrderStore {
	return &PaymentOrderStore{conn}
}

// Add implements bankfile.PaymentOrderStore. It writes keys in sorted order, so that two
// writers of the same keys wait for each other without a deadlock.
func (s *PaymentOrderStore) Add(ctx context.Context, rail string, entries []bankfile.PaymentOrder) ([]bankfile.PaymentOrder, error) {
	n := len(entries)
	keys, shorts, payouts, payees := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, currencies := make([]int64, n), make([]string, n)
	for i, e := range entries {
		keys[i], shorts[i], payouts[i], payees[i] = e.Key, e.EndToEndID, e.PayoutID, e.Payee
		amounts[i], currencies[i] = e.Amount.Amount, e.Amount.Currency
	}
	added, err := s.db.Exec(ctx, `insert into payment_orders (rail, key, end_to_end_id, payout_id, amount, currency, payee)
		select $1, n.* from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[]) as n (key, end_to_end_id, payout_id, amount, currency, payee)
		order by n.key on conflict (key) do nothing`, rail, keys, shorts, payouts, amounts, currencies, payees)
	if err != nil {
		return nil, fmt.Errorf("write bank entries: %w", err)
	}
	if added.RowsAffected() == int64(n) {
		return entries, nil // every key is new
	}
	found, err := s.Find(ctx, rail, keys)
	if err != nil {
		return nil, err
	}
	kept := make([]bankfile.PaymentOrder, n)
	for i, key := range keys {
		kept[i] = found[key]
	}
	return kept, nil
}

// Find implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) Find(ctx context.Context, rail string, keys []string) (map[string]bankfile.PaymentOrder, error) {
	rows, err := s.db.Query(ctx, "select "+orderColumns+` from payment_orders where rail = $1 and key = any($2)
		union all select `+orderColumns+" from payment_orders where rail = $1 and end_to_end_id = any($2)", rail, keys)
	if err != nil {
		return nil, fmt.Errorf("read bank entries: %w", err)
	}
	entries, err := pgx.CollectRows(rows, scanOrder)
	if err != nil {
		return nil, fmt.Errorf("read bank entries: %w", err)
	}
	found := make(map[string]bankfile.PaymentOrder, 2*len(entries))
	for _, e := range entries {
		found[e.Key], found[e.EndToEndID] = e, e
	}
	return found, nil
}

// FileOrders implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) FileOrders(ctx context.Context, rail, batch string) ([]bankfile.PaymentOrder, error) {
	rows, err := s.db.Query(ctx, "select "+orderColumns+" from payment_orders where rail = $1 and file_id = $2 order by key", rail, batch)
	if err != nil {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	return pgx.CollectRows(rows, scanOrder)
}

// AssignToFiles implements bankfile.PaymentOrderStore. It takes an advisory lock per
// rail: a concurrent call waits and finds nothing left.
func (s *PaymentOrderStore) AssignToFiles(ctx context.Context, rail string, most int, largest int64) error {
	for more := true; more; {
		err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('payment_files/' || $1, 0))", rail); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `with due as (select currency from payment_orders where rail = $1 and file_id is null and set_aside_at is null and settled_at is null order by currency limit 1),
				batch as (insert into payment_files (id, rail)
					select 'PPT-' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD') || '-' || upper(substr(md5(gen_random_uuid()::text), 1, 12)), $1 from due
					returning id)
				update payment_orders set file_id = batch.id from batch, due where key in (select key from (
					select key, sum(amount) over (order by key) as total from payment_orders
					where rail = $1 and file_id is null and set_aside_at is null and settled_at is null and currency = (select currency from due) order by key limit $2) as n where total <= $3)`, rail, most, largest)
			more = tag.RowsAffected() > 0
			return err
		})
		if err != nil {
			return fmt.Errorf("cut batches: %w", err)
		}
	}
	return nil
}

// ListUnwritten implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) ListUnwritten(ctx context.Context, rail string) ([]bankfile.PaymentFile, error) {
	rows, err := s.db.Query(ctx, "select id, sequence, created_at, sealed_digest is not null from payment_files where rail = $1 and written_at is null order by sequence", rail)
	if err != nil {
		return nil, fmt.Errorf("read batches: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (batch bankfile.PaymentFile, err error) {
		err = row.Scan(&batch.ID, &batch.Number, &batch.CreatedAt, &batch.Sealed)
		return batch, err
	})
}

// MarkWritten implements bankfile.PaymentOrderStore.
func (s *PaymentOrderStore) MarkWritten(ctx context.Context, batch, digest string) error {
	_, err := s.db.Exec(ctx, "update payment_files set written_at = clock_timestamp(), written_digest = $2 where id = $1 and written_at is null", batch, digest)
	if err != nil {
		return fmt.Errorf("note batch: %w", err)
	}
	return nil
}

// SentOrderLoader returns a function that reads the orders sent to a rail by their keys,
// including their accounts.
func SentOrderLoader(service *model.Service, from payouts.RailIdentity) func(context.Context, []string) (map[string]bankfile.SentOrder, error) {
	return func(ctx context.Context, keys []string) (map[string]bankfile.SentOrder, error) {
		sent, err := service.Releases.SentOrders(ctx, from, keys)
		if err != nil && sent == nil {
			return nil, err
		}
		orders := make(map[string]bankfile.SentOrder, len(sent))
		for key, order := range sent {
			orders[key] = bankfile.SentOrder{Instruction: toInstruction(order), Settled: order.Closed, HasSuspectLine: order.HasSuspectLine}
		}
		return orders, nil
	}
}
