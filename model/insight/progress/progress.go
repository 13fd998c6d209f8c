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

// Status says how far the candidates of an occurrence are decided.
type Status string

// The states of an occurrence's progress.
const (
	Waiting  Status = "waiting"  // its candidates are not known yet
	Deciding Status = "deciding" // candidates are left, or more may be found
	Complete Status = "complete" // every candidate was decided, and no pass is left
)

// MaxLines is how many lines the progress of an occurrence shows. The totals count
// all.
const MaxLines = 1000

// row is a line of the progress of an occurrence, or the only row of an occurrence
// without lines.
type row struct {
	ID           uuid.UUID
	CurrentID    uuid.UUID // after merges
	Version      int64
	Matched      bool // by its first pass
	PassLeft     bool
	Partner      *string
	Currency     *string
	Candidates   int64
	Undecided    int64
	ClaimsOpened int64
	Owed         decimal.Decimal
	Pending      decimal.Decimal
	Blocked      decimal.Decimal
	Released     decimal.Decimal
}

// claimSums adds up claims c and their payouts po. A claim with several payouts counts with
// the first of them.
const claimSums = `count(*) filter (where po.claim_sequence is null or po.claim_sequence = 1) as claims,
		sum(c.amount) filter (where c.status in ('approved', 'closed') and (po.claim_sequence is null or po.claim_sequence = 1)) as owed,
		sum(po.amount) filter (where po.status in ('pending', 'releasing', 'reconciling')) as pending, sum(po.amount) filter (where po.status = 'blocked') as blocked,
		sum(po.amount) filter (where po.status in ('released', 'reconciled') or po.settled_externally) as released`

// query adds up the figures of occurrences ($1) for a partner ($2). Claims of
// merged occurrences count for the one that they were merged into. A slice without a row
// was decided and deleted.
const query = `with asked as materialized (
	select a.id, oc.id as current_id, oc.version, ma.version is not null and ma.pass_after is distinct from '' as matched, ma.pass_after is not null as pass_left
	from occurrences a join occurrences oc on oc.id = coalesce(a.merged_into, a.id) left join matchings ma on ma.occurrence_id = oc.id and ma.version = oc.version where a.id = any($1) and (a.scope = '' or %[1]s)
), members as materialized (
	select current_id, current_id as id from asked union select current_id, oc.id from asked join occurrences oc on oc.merged_into = current_id
), figures as (
	select mf.occurrence_id as current_id, mf.partner, mf.currency, sum(mf.candidates) as candidates, sum(mf.candidates) filter (where ms.number is not null) as undecided
	from (select distinct current_id, version from asked) a join matching_figures mf on mf.occurrence_id = a.current_id and mf.version = a.version
	left join matching_slices ms on ms.occurrence_id = mf.occurrence_id and ms.version = mf.version and ms.number = mf.number and ms.done_at is null
	where %[2]s group by 1, 2, 3
), claimed as (
	select m.current_id, c.partner, c.currency, ` + claimSums + `
	from members m join claims c on c.occurrence_id = m.id left join payouts po on po.claim_id = c.id and po.partner = c.partner
	where %[3]s group by 1, 2, 3
)
select a.id, a.current_id, a.version, a.matched, a.pass_left, li.partner, li.currency, coalesce(candidates, 0)::bigint as candidates, coalesce(undecided, 0)::bigint as undecided,
	coalesce(claims, 0)::bigint as claims_opened, coalesce(owed, 0) as owed, coalesce(pending, 0) as pending, coalesce(blocked, 0) as blocked, coalesce(released, 0) as released
from asked a left join (figures full join claimed using (current_id, partner, currency)) li using (current_id) order by a.id, li.partner, li.currency`

// Get returns how far an occurrence is matched, decided and paid. A partner sees its
// own policies only. For a merged occurrence it returns the progress of the one that it was
// merged into. Errors: not_found.
func (s *Service) Get(ctx context.Context, caller actor.Actor, id string) (*wire.OccurrenceProgress, error) {
	return store.OneOrNotFound[wire.OccurrenceProgress](store.ResourceOccurrence, id)(s.ByID(ctx, caller, []string{id}))
}

// ByID returns the progress of the occurrences that the actor may see, by id. Readers of
// one occurrence share expensive reads, so its figures may be up to a second old; callers
// must not change them.
func (s *Service) ByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.OccurrenceProgress, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	if len(ids) != 1 {
		return Load(ctx, s.Store, caller, ids)
	}
	found, err := store.Local[sharedReads](s.Store).get(ctx, newKey(caller, ids[0]), func() (*wire.OccurrenceProgress, error) {
		all, err := Load(ctx, s.Store, caller, ids)
		return all[ids[0]], err
	})
	if found == nil || err != nil {
		return nil, err
	}
	return map[string]*wire.OccurrenceProgress{ids[0]: found}, nil
}

// Load reads the progress of the occurrences that the actor may see, by id. The caller has
// checked the scope.
func Load(ctx context.Context, s *store.Store, caller actor.Actor, ids []string) (map[string]*wire.OccurrenceProgress, error) {
	var rows []row
	own := func(column string) string {
		return strings.ReplaceAll(store.TenantPredicate(caller), "?TableAlias.partner", column)
	}
	text := fmt.Sprintf(query, own("a.scope"), own("mf.partner"), own("c.partner"))
	err := s.QueryPreparedRows(ctx, s.Pool, &rows, text, store.ResourceOccurrence.ParseIDs(ids), store.TenantArg(caller))
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read progress: %w", err))
	}
	found := make(map[string]*wire.OccurrenceProgress)
	for _, r := range rows {
		id := store.ResourceOccurrence.FormatID(r.ID)
		if found[id] == nil {
			found[id] = &wire.OccurrenceProgress{
				OccurrenceID: store.ResourceOccurrence.FormatID(r.CurrentID), Version: r.Version,
				Status: string(Complete), Settled: true, Lines: []wire.ProgressLine{},
			}
		}
		if err := r.addTo(found[id]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// addTo adds a row to the progress of its occurrence.
func (r *row) addTo(p *wire.OccurrenceProgress) error {
	switch {
	case !r.Matched:
		p.Status = string(Waiting)
	case r.Undecided > 0 || r.PassLeft:
		p.Status = string(Deciding)
	}
	p.Settled = p.Settled && p.Status == string(Complete) && r.Pending.IsZero()
	p.Candidates += r.Candidates
	p.Decided += r.Candidates - r.Undecided
	p.ClaimsOpened += r.ClaimsOpened
	if p.HasMore = len(p.Lines) == MaxLines; p.HasMore || r.Partner == nil {
		return nil
	}
	in := sums.Converter{Currency: *r.Currency}
	p.Lines = append(p.Lines, wire.ProgressLine{
		Partner: *r.Partner, Currency: *r.Currency, Candidates: r.Candidates, Decided: r.Candidates - r.Undecided, ClaimsOpened: r.ClaimsOpened,
		Owed: in.ToMoney(r.Owed), Pending: in.ToMoney(r.Pending), Blocked: in.ToMoney(r.Blocked), Released: in.ToMoney(r.Released),
	})
	return in.Err
}
