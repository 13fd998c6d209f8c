package catalog

import (
	"context"
	"fmt"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/wire"
)

// RetireRequest names what new quotes must not use any more.
type RetireRequest struct {
	Key     string
	Version *int   // nil: all published versions
	Reason  string // private
}

// Retire stops new quotes of a version or of all versions of a product, on every node
// within seconds. New quotes use the newest version that is left. What was quoted can be
// bound, and policies keep their version. A retired version stays retired; a further
// version can be published. Operators only. Errors: not_found, validation_failed.
func (s *Service) Retire(ctx context.Context, caller actor.Actor, in RetireRequest) (record *wire.Product, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	if err := v.Err(); err != nil {
		return nil, err
	}
	none := apperr.Fail(apperr.CodeNotFound, "There is no product with this key and version.")
	if !partners.SlugPattern.MatchString(in.Key) {
		return nil, none
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		var row productRow
		q := tx.NewUpdate().Model(&row).Set("retired_at = coalesce(retired_at, ?)", tx.Now).Where("key = ?", in.Key)
		if in.Version != nil {
			q = q.Where("version = ?", *in.Version)
		}
		res, err := q.Exec(ctx)
		if err != nil {
			return fmt.Errorf("retire product: %w", err)
		}
		switch n, err := res.RowsAffected(); {
		case err != nil:
			return err
		case n == 0:
			return none
		}
		shown := newestProductsQuery(tx, &row).Where("key = ?", in.Key)
		if in.Version != nil {
			shown = tx.NewSelect().Model(&row).Where("key = ? and version = ?", in.Key, *in.Version)
		}
		if err := shown.Scan(ctx); err != nil {
			return fmt.Errorf("read product: %w", err)
		}
		parsed, err := LoadProductVersion(ctx, s.Store, tx, row.Key, row.Version)
		if err != nil {
			return err
		}
		if record, err = row.toRecord(parsed); err != nil {
			return err
		}
		tx.Describe("", ProductID(row.Key, row.Version), &in.Reason)
		return tx.StoreResponse(store.StatusOK, record.ID, record)
	})
	store.Local[productCache](s.Store).expireVersions()
	return record, err
}
