package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// SentOrders returns the orders that were sent to a bank under these keys, as the last
// call under each carried them. It serves answers that arrive by another way, and files
// that are written after the answer. Keys never used with the rail are missing. The
// error names accounts that cannot be decrypted; the other orders are returned.
func (s *Service) SentOrders(ctx context.Context, rail payouts.RailIdentity, keys []string) (map[string]*Release, error) {
	owners, err := payouts.FindPayoutsByKeys(ctx, s.DB, keys)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	ids := slices.Collect(maps.Values(owners))
	var attempts []sentRow
	err = s.DB.NewSelect().Model(&attempts).ColumnExpr("distinct on (key) key, payout_id, number").
		ColumnExpr("bool_or(ended_at is null and started_at > "+store.BusinessNowSQL+" - ? * interval '1 second') over (partition by key) as underway", payouts.ReleaseLease.Seconds()).
		ColumnExpr("bool_or(coalesce(outcome, 'unknown') = 'unknown') over (partition by key) as unclear, bool_or(coalesce(refusal_noticed_at, refusal_reported_at) is not null) over (partition by key) as refusal_noticed").
		Where("payout_id in (?)", bun.List(ids)).Where("key in (?)", bun.List(keys)).
		Where("(rail_identity is null and rail = ?0 or rail_identity in (select id from rail_identities where bank = (select bank from rail_identities where id = ?1)))", rail.Name, rail.ID()).
		Where("outcome is distinct from 'not_sent'").OrderExpr("key, number desc").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	paid, methods, err := s.loadPaidPayouts(ctx, ids)
	if err != nil {
		return nil, err
	}
	reported, barred, err := s.loadReportedOrders(ctx, keys, ids)
	if err != nil {
		return nil, err
	}
	var sealed error
	sent := make(map[string]*Release, len(attempts))
	for _, attempt := range attempts {
		row := paid[attempt.PayoutID]
		if row == nil {
			continue // no payout method
		}
		method := methods[*row.PayoutMethodID]
		if method == nil || len(method.Sealed) == 0 {
			continue
		}
		number, err := method.OpenNumber(s.Keys)
		if err != nil {
			sealed = errors.Join(sealed, fmt.Errorf("open account of %s: %w", store.ResourcePayoutMethod.FormatID(method.ID), err))
			continue
		}
		sent[attempt.Key] = &Release{
			Partner: row.Partner, PayoutID: store.ResourcePayout.FormatID(row.ID), Attempt: attempt.Number, Key: attempt.Key, InFlight: attempt.Underway,
			Unclear: attempt.Unclear, RefusalNoticed: attempt.RefusalNoticed,
			Closed:         row.Status != claims.PayoutReleased && !row.IsInFlight() || attempt.Key != payouts.IdempotencyKey(row) || reported[attempt.Key],
			HasSuspectLine: barred[row.ID],
			Amount:         row.ToMoney(), Number: number, Beneficiary: account.Beneficiary{Name: method.BeneficiaryName, Country: method.BeneficiaryCountry},
		}
	}
	return sent, sealed
}

// sentRow is the last call under a key, with flags over all calls under the key.
type sentRow struct {
	bun.BaseModel `bun:"table:payout_attempts"`

	PayoutID                          uuid.UUID `bun:"type:uuid"`
	Key                               string
	Number                            int
	Underway, Unclear, RefusalNoticed bool `bun:",scanonly"`
}

// loadPaidPayouts returns the payouts that have a method, and these methods.
func (s *Service) loadPaidPayouts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*claims.PayoutRow, map[uuid.UUID]*payouts.PayoutMethodRow, error) {
	var rows []*claims.PayoutRow
	if err := s.DB.NewSelect().Model(&rows).Where("po.id in (?)", bun.List(ids)).Where("po.payout_method_id is not null").Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("read payouts: %w", err)
	}
	paid := make(map[uuid.UUID]*claims.PayoutRow, len(rows))
	wanted := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		paid[row.ID], wanted[i] = row, *row.PayoutMethodID
	}
	if len(wanted) == 0 {
		return paid, nil, nil
	}
	methods, err := store.LoadRowsByID[payouts.PayoutMethodRow](ctx, s.DB, wanted)
	if err != nil {
		return nil, nil, fmt.Errorf("read payout methods: %w", err)
	}
	return paid, methods, nil
}

// loadReportedOrders returns the keys under which a bank reported that it has the order,
// and the payouts that a line of an unknown debt blocks.
func (s *Service) loadReportedOrders(ctx context.Context, keys []string, ids []uuid.UUID) (reported map[string]bool, barred map[uuid.UUID]bool, err error) {
	var known []string
	err = s.DB.NewRaw("select distinct key from rail_report_lines where payout_id in (?) and key in (?) and match_result = ?", bun.List(ids), bun.List(keys), payouts.ResultUnderway).Scan(ctx, &known)
	if err != nil {
		return nil, nil, fmt.Errorf("read report lines: %w", err)
	}
	var waiting []uuid.UUID
	err = s.DB.NewRaw("select po.id from payouts po where po.id in (?) and "+payouts.HasSuspectLineSQL, bun.List(ids)).Scan(ctx, &waiting)
	if err != nil {
		return nil, nil, fmt.Errorf("read exceptions: %w", err)
	}
	reported, barred = make(map[string]bool, len(known)), make(map[uuid.UUID]bool, len(waiting))
	for _, key := range known {
		reported[key] = true
	}
	for _, id := range waiting {
		barred[id] = true
	}
	return reported, barred, nil
}
