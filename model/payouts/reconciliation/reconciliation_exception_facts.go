package reconciliation

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
)

// describeExceptions fills in the content of the exceptions' report lines, or of their
// missing payouts. rows and exceptions have the same order.
func (s *Service) describeExceptions(ctx context.Context, rows []payouts.ExceptionRow, exceptions []Exception) error {
	type place struct {
		report uuid.UUID
		line   int
	}
	var reports, payouts []uuid.UUID
	var numbers []int
	for _, row := range rows {
		switch {
		case row.ReportID != nil && row.Line != nil:
			reports, numbers = append(reports, *row.ReportID), append(numbers, *row.Line)
		case row.PayoutID != nil:
			payouts = append(payouts, *row.PayoutID)
		}
	}
	lines := map[place]*lineRow{}
	if len(reports) > 0 {
		var found []*lineRow
		if err := s.DB.NewSelect().Model(&found).Where("rl.report_id in (?)", bun.List(reports)).Where("rl.number in (?)", bun.List(numbers)).Scan(ctx); err != nil {
			return fmt.Errorf("read lines of exceptions: %w", err)
		}
		for _, line := range found {
			lines[place{line.ReportID, line.Number}] = line
		}
	}
	missing, methods, err := s.loadMissingPayouts(ctx, payouts)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if row.ReportID != nil && row.Line != nil {
			exceptions[i].describeLine(lines[place{*row.ReportID, *row.Line}])
		} else if row.PayoutID != nil {
			exceptions[i].describePayout(missing[*row.PayoutID], methods)
		}
	}
	return nil
}

func (s *Service) loadMissingPayouts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*claims.PayoutRow, map[uuid.UUID]*payouts.PayoutMethodRow, error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	found, err := store.LoadRowsByID[claims.PayoutRow](ctx, s.DB, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read payouts of exceptions: %w", err)
	}
	var wanted []uuid.UUID
	for _, row := range found {
		if row.PayoutMethodID != nil {
			wanted = append(wanted, *row.PayoutMethodID)
		}
	}
	if len(wanted) == 0 {
		return found, nil, nil
	}
	methods, err := store.LoadRowsByID[payouts.PayoutMethodRow](ctx, s.DB, wanted)
	if err != nil {
		return nil, nil, fmt.Errorf("read payout methods of exceptions: %w", err)
	}
	return found, methods, nil
}

func (f *Exception) describeLine(line *lineRow) {
	if line == nil {
		return
	}
	f.Key, f.Reference, f.Account, f.Code = optional.NonZero(line.Key), optional.NonZero(line.Reference), optional.NonZero(line.Account), optional.NonZero(line.Code)
	f.Amount, f.Status, f.ReportedAt = new(money.New(line.Amount, line.Currency)), &line.Status, new(line.ReportedAt.UTC())
}

func (f *Exception) describePayout(row *claims.PayoutRow, methods map[uuid.UUID]*payouts.PayoutMethodRow) {
	if row == nil {
		return
	}
	f.Key, f.Reference, f.Amount, f.ReportedAt = new(payouts.IdempotencyKey(row)), row.ProviderReference, new(row.ToMoney()), row.ReleasedAt
	if row.PayoutMethodID != nil {
		if method := methods[*row.PayoutMethodID]; method != nil && len(method.Sealed) > 0 {
			f.Account = new(account.Masked(method.Type, method.Last4))
		}
	}
}
