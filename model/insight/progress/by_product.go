package progress

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/wire"
)

// ProductOwed is what the claims of one partner, product and currency owe for an occurrence.
type ProductOwed struct {
	Partner, Product, Currency       string
	ClaimsOpened                     int64
	Owed, Pending, Blocked, Released wire.Money
}

// productQuery adds up the claims of occurrences ($1) by product, for a partner ($2). Claims
// of merged occurrences count for the one that they were merged into.
const productQuery = `with asked as materialized (
	select a.id, coalesce(a.merged_into, a.id) as current_id from occurrences a where a.id = any($1) and (a.scope = '' or %[1]s)
), members as materialized (
	select current_id, current_id as id from asked union select current_id, oc.id from asked join occurrences oc on oc.merged_into = current_id
), claimed as (
	select m.current_id, c.partner, p.product, c.currency, ` + claimSums + `
	from members m join claims c on c.occurrence_id = m.id join policies p on p.id = c.policy_id and p.partner = c.partner
	left join payouts po on po.claim_id = c.id and po.partner = c.partner
	where %[2]s group by 1, 2, 3, 4
)
select a.id, partner, product, currency, claims, coalesce(owed, 0) as owed, coalesce(pending, 0) as pending, coalesce(blocked, 0) as blocked, coalesce(released, 0) as released
from asked a join claimed using (current_id) order by a.id, partner, product, currency`

type productRow struct {
	ID                               uuid.UUID
	Partner, Product, Currency       string
	Claims                           int64
	Owed, Pending, Blocked, Released decimal.Decimal
}

// ByProduct returns what the claims of occurrences owe, by id, at most MaxLines of each. A
// partner sees its own claims only.
func (s *Service) ByProduct(ctx context.Context, caller actor.Actor, ids []string) (map[string][]ProductOwed, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	own := func(column string) string {
		return strings.ReplaceAll(store.TenantPredicate(caller), "?TableAlias.partner", column)
	}
	var rows []productRow
	text := fmt.Sprintf(productQuery, own("a.scope"), own("c.partner"))
	if err := s.QueryPreparedRows(ctx, s.Pool, &rows, text, store.ResourceOccurrence.ParseIDs(ids), store.TenantArg(caller)); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read what is owed by product: %w", err))
	}
	found := make(map[string][]ProductOwed)
	for _, id := range ids {
		found[id] = []ProductOwed{}
	}
	for _, r := range rows {
		id, in := store.ResourceOccurrence.FormatID(r.ID), sums.Converter{Currency: r.Currency}
		if len(found[id]) == MaxLines {
			continue
		}
		found[id] = append(found[id], ProductOwed{
			Partner: r.Partner, Product: r.Product, Currency: r.Currency, ClaimsOpened: r.Claims,
			Owed: in.ToMoney(r.Owed), Pending: in.ToMoney(r.Pending), Blocked: in.ToMoney(r.Blocked), Released: in.ToMoney(r.Released),
		})
		if in.Err != nil {
			return nil, in.Err
		}
	}
	return found, nil
}
