package catalog

import (
	"context"
	"encoding/base64"
	"fmt"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// MaxPriceHistories is the maximum number of editions in the list of PriceHistories.
const (
	MaxPriceHistories  = 100
	maxLoadedHistories = MaxPriceHistories - 3 // each data set of the release is listed
)

// PriceHistories lists the editions by data set, the newest first. Version 0 is that of
// the release.
func (s *Service) PriceHistories(ctx context.Context, caller actor.Actor) ([]wire.PriceHistory, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return nil, err
	}
	var rows []priceHistoryRow
	err := s.DB.NewSelect().Model(&rows).ExcludeColumn("content").OrderExpr("version desc").Limit(maxLoadedHistories).Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list price history: %w", err))
	}
	shipped, list := shippedHistory(s.Store), []wire.PriceHistory{}
	for _, set := range hazard.DataSets() {
		replaced := false
		for _, row := range rows {
			if row.DataSet == set {
				list = append(list, row.toRecord(!replaced && row.RetiredAt == nil))
				replaced = replaced || row.RetiredAt == nil
			}
		}
		data := shipped.Data(set)
		list = append(list, wire.PriceHistory{
			DataSet: string(set), Name: data.Name, Digest: data.Digest, FirstYear: data.FirstYear, LastYear: data.LastYear,
			Rows: shipped.CountRows(set), InUse: !replaced,
		})
	}
	return list, nil
}

// PriceHistoryFile returns the file of a digest, compressed by gzip, in base64. Errors:
// not_found.
func (s *Service) PriceHistoryFile(ctx context.Context, caller actor.Actor, digest string) (string, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeProductsRead); err != nil {
		return "", err
	}
	content := hazard.ShippedFile(digest)
	if content == nil && audit.IsStorableText(digest) {
		row := new(priceHistoryRow)
		err := s.DB.NewSelect().Model(row).Column("content").Where("digest = ?", digest).Limit(1).Scan(ctx)
		if err != nil && !store.IsNoRows(err) {
			return "", store.TranslateError(fmt.Errorf("read price history: %w", err))
		}
		content = row.Content
	}
	if content == nil {
		return "", apperr.Fail(apperr.CodeNotFound, "There is no price history with this digest; use one of the list of price histories or of a quote's basis.")
	}
	return base64.StdEncoding.EncodeToString(content), nil
}

// RetireHistoryRequest names an edition that new quotes must not use any more.
type RetireHistoryRequest struct {
	DataSet string
	Version int
	Reason  string // private
}

// RetirePriceHistory stops the use of an edition for new quotes, on every node within
// seconds: they use the newest version that is left, or that of the release. Operators
// only. Errors: not_found, validation_failed.
func (s *Service) RetirePriceHistory(ctx context.Context, caller actor.Actor, in RetireHistoryRequest) (record *wire.PriceHistory, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	audit.RequireNote(v, &in.Reason, "/reason")
	if err := v.Err(); err != nil {
		return nil, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := &priceHistoryRow{DataSet: hazard.DataSet(in.DataSet), Version: in.Version}
		err := tx.NewUpdate().Model(row).Set("retired_at = coalesce(retired_at, ?)", tx.Now).WherePK().
			Returning("name, digest, first_year, last_year, rows, created_at, retired_at").Scan(ctx)
		if store.IsNoRows(err) {
			return apperr.Fail(apperr.CodeNotFound, "There is no loaded price history with this data set and version.")
		}
		if err != nil {
			return fmt.Errorf("retire price history: %w", err)
		}
		record = new(row.toRecord(false))
		tx.Describe("", row.id(), &in.Reason)
		return tx.StoreResponse(store.StatusOK, row.id(), record)
	})
	store.Local[historyCache](s.Store).expire()
	return record, err
}
