package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"parapet/model/audit"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// sealedColumnsQuery selects the columns that a key of Keys.Seal sealed, as rows of
// table, column and text. Cursors are sealed too but not stored.
const sealedColumnsQuery = `select 'payout_methods' as place, sealed from payout_methods
	union all select 'webhook_endpoints', secret from webhook_endpoints
	union all select 'webhook_endpoints', former_secret from webhook_endpoints where former_secret is not null
	union all select 'idempotency_keys', body from idempotency_keys where sealed_until is not null`

// CountSecretsByKey counts the stored secrets by the id of the key that sealed them.
// Operators only.
func (s *Service) CountSecretsByKey(ctx context.Context, caller actor.Actor) (map[string]int64, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []struct {
		Key string
		N   int64
	}
	err := s.DB.NewRaw(`select convert_from(substring(sealed from 2 for get_byte(sealed, 0)), 'UTF8') as key, count(*) as n
		from (`+sealedColumnsQuery+`) all_sealed where length(sealed) > 0 group by 1`).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("count secrets: %w", err))
	}
	keys := make(map[string]int64, len(rows))
	for _, row := range rows {
		keys[row.Key] = row.N
	}
	return keys, nil
}

// VerifyKeys checks who signed the checkpoints, opens the latest account and
// webhook secret of all and of each key, and recomputes the fingerprints of those accounts.
// It reports unknown keys of the latest, and keys with the right id and the wrong bytes; a
// key that sealed nothing cannot be checked. Operators only.
func (s *Service) VerifyKeys(ctx context.Context, caller actor.Actor) error {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return err
	}
	if err := events.VerifyCheckpointKey(ctx, s.Store); err != nil {
		return err
	}
	if err := s.verifyLatestSealed(ctx, []byte{}); err != nil {
		return err
	}
	for _, key := range s.Keys.Seal {
		if err := s.verifyLatestSealed(ctx, sealPrefix(seal.Keys{Seal: []seal.Key{key}})); err != nil {
			return err
		}
	}
	return nil
}

// verifyLatestSealed opens the latest account and webhook secret that begin with a prefix.
func (s *Service) verifyLatestSealed(ctx context.Context, prefix []byte) error {
	var methods []*payouts.PayoutMethodRow
	var endpoints []*webhooks.EndpointRow
	err := cmp.Or(
		s.DB.NewSelect().Model(&methods).Where("length(sealed) > 0 and substring(sealed for ?) = ?", len(prefix), prefix).OrderExpr("id desc").Limit(1).Scan(ctx),
		s.DB.NewSelect().Model(&endpoints).Where("length(secret) > 0 and substring(secret for ?) = ?", len(prefix), prefix).OrderExpr("id desc").Limit(1).Scan(ctx),
	)
	if err != nil {
		return store.TranslateError(fmt.Errorf("read secrets: %w", err))
	}
	for _, row := range endpoints {
		if _, err := s.Keys.OpenBytes(row.Secret, seal.ColumnContext(row.Partner, row.ID, "webhook_endpoints.secret")); err != nil {
			return fmt.Errorf("%s the secret of %s: %w", s.describeSealKey(row.Secret), store.ResourceEndpoint.FormatID(row.ID), err)
		}
	}
	for _, row := range methods {
		number, err := row.OpenNumber(s.Keys)
		if err != nil {
			return fmt.Errorf("%s the account of %s: %w", s.describeSealKey(row.Sealed), store.ResourcePayoutMethod.FormatID(row.ID), err)
		}
		if s.Keys.ComputeFingerprint(row.Partner, number.Canonical()) != row.Fingerprint {
			return fmt.Errorf("%w: %s has another", errWrongFingerprintKey, store.ResourcePayoutMethod.FormatID(row.ID))
		}
	}
	return nil
}

// describeSealKey says what is wrong with the key of a secret that does not open.
func (s *Service) describeSealKey(sealed []byte) string {
	id := string(sealed[1:min(len(sealed), 1+int(sealed[0]))])
	if slices.ContainsFunc(s.Keys.Seal, func(key seal.Key) bool { return key.ID == id }) {
		return "key " + id + " does not open what a key of this name sealed:"
	}
	return "there is no key " + id + ", which sealed"
}

var errWrongFingerprintKey = errors.New("the fingerprint key is not the one with which accounts were fingerprinted")

// Reseal seals again, with the first key, all secrets that other keys sealed, in batches,
// and returns their number. It may be interrupted and repeated at any time while servers
// run. It keeps the versions of records, and the fingerprints, which have their own key;
// approvals of payouts therefore stay valid. Operators only.
func (s *Service) Reseal(ctx context.Context, caller actor.Actor) (total int64, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return 0, err
	}
	for _, step := range []func(context.Context, *store.Tx) (int, error){resealPayoutMethods, resealEndpointSecrets, resealStoredResponses} {
		err := s.repeatSweepStep(ctx, store.SweepBatchSize, func(ctx context.Context, tx *store.Tx) (int, error) {
			n, err := step(ctx, tx)
			total += int64(n)
			return n, err
		})
		if err != nil {
			return total, err
		}
	}
	return total, audit.RecordAction(ctx, s.Store, caller, fmt.Sprintf("%d secrets sealed again with key %s", total, s.Keys.Seal[0].ID))
}

// sealPrefix returns the prefix of everything that the first key sealed.
func sealPrefix(k seal.Keys) []byte { return append([]byte{byte(len(k.Seal[0].ID))}, k.Seal[0].ID...) } //nolint:gosec // validation keeps ids below 33 bytes

// resealWithFirstKey opens a secret with the key that sealed it and seals it with the
// first key.
func resealWithFirstKey(k seal.Keys, sealed, bound []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	plain, err := k.OpenBytes(sealed, bound)
	if err != nil {
		return nil, err
	}
	return k.SealBytes(plain, bound)
}

func resealPayoutMethods(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*payouts.PayoutMethodRow
	mark := sealPrefix(tx.Store.Keys)
	if err := store.LockBatch(tx.NewSelect().Model(&rows).Where("length(sealed) > 0 and substring(sealed for ?) <> ?", len(mark), mark), store.SweepBatchSize).Scan(ctx); err != nil {
		return 0, fmt.Errorf("find accounts of older keys: %w", err)
	}
	for _, row := range rows {
		sealed, err := resealWithFirstKey(tx.Store.Keys, row.Sealed, seal.ColumnContext(row.Partner, row.ID, "payout_methods.sealed"))
		if err != nil {
			return 0, fmt.Errorf("account of %s: %w", store.ResourcePayoutMethod.FormatID(row.ID), err)
		}
		if _, err := tx.NewRaw("update payout_methods set sealed = ? where id = ? and partner = ?", sealed, row.ID, row.Partner).Exec(ctx); err != nil {
			return 0, fmt.Errorf("seal account: %w", err)
		}
	}
	return len(rows), nil
}

func resealEndpointSecrets(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []struct {
		ID                   uuid.UUID `bun:"type:uuid"`
		Partner              string
		Secret, FormerSecret []byte
	}
	mark := sealPrefix(tx.Store.Keys)
	err := tx.NewRaw(`select id, partner, secret, former_secret from webhook_endpoints where substring(secret for ?0) <> ?1
		or former_secret is not null and substring(former_secret for ?0) <> ?1 limit ?2 for no key update skip locked`, len(mark), mark, store.SweepBatchSize).Scan(ctx, &rows)
	if err != nil {
		return 0, fmt.Errorf("find webhook secrets of older keys: %w", err)
	}
	for _, row := range rows {
		bound := seal.ColumnContext(row.Partner, row.ID, "webhook_endpoints.secret")
		secret, err := resealWithFirstKey(tx.Store.Keys, row.Secret, bound)
		if err != nil {
			return 0, fmt.Errorf("secret of %s: %w", store.ResourceEndpoint.FormatID(row.ID), err)
		}
		former, err := resealWithFirstKey(tx.Store.Keys, row.FormerSecret, bound)
		if err != nil {
			return 0, fmt.Errorf("former secret of %s: %w", store.ResourceEndpoint.FormatID(row.ID), err)
		}
		if _, err := tx.NewRaw("update webhook_endpoints set secret = ?, former_secret = ? where id = ? and partner = ?", secret, former, row.ID, row.Partner).Exec(ctx); err != nil {
			return 0, fmt.Errorf("seal webhook secret: %w", err)
		}
	}
	return len(rows), nil
}

func resealStoredResponses(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*store.IdempotencyRow
	mark := sealPrefix(tx.Store.Keys)
	if err := store.LockBatch(tx.NewSelect().Model(&rows).Where("sealed_until is not null").Where("substring(body for ?) <> ?", len(mark), mark), store.SweepBatchSize).Scan(ctx); err != nil {
		return 0, fmt.Errorf("find answers of older keys: %w", err)
	}
	for _, row := range rows {
		var err error
		if row.Body, err = resealWithFirstKey(tx.Store.Keys, row.Body, row.SealContext()); err != nil {
			return 0, fmt.Errorf("stored answer: %w", err)
		}
		if _, err := tx.NewUpdate().Model(row).Column("body").WherePK().Exec(ctx); err != nil {
			return 0, fmt.Errorf("seal stored answer: %w", err)
		}
	}
	return len(rows), nil
}
