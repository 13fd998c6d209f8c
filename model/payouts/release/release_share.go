package release

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// maxAheadPerPartner bounds the payouts of one partner that are moved ahead in the
// queue at a time; overdue payouts are not counted.
const maxAheadPerPartner = 4

// AdvanceOtherPartners moves payouts of all partners except one ahead in the queue, and
// that one's payouts of small events: the queue is first come, first served, and one
// partner may have queued thousands. For
// each partner it moves the payouts that have been due for longest, at most
// maxAheadPerPartner at a time, so that few payouts are ahead. It returns the number
// moved. Safe for concurrent use.
func (s *Service) AdvanceOtherPartners(ctx context.Context, partner string) (moved int, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		var rows []struct {
			ID      uuid.UUID
			Partner string
		}
		err := tx.NewRaw(`update payouts set requeued_at = ?0 where (id, partner) in (
				select po.id, po.partner from payouts po join ((
					select first.id, first.place from partners pt cross join lateral (
						select id, requeued_at, row_number() over (order by next_attempt_at, id) as place from payouts
						where partner = pt.slug and status = 'pending' and next_attempt_at <= ?0 order by next_attempt_at, id limit ?2) as first
					where pt.slug <> ?3 and (first.requeued_at is null or first.requeued_at < ?1)
					order by first.place, random() limit ?4) union (
					select first.id, first.place from (
						select id, requeued_at, row_number() over (order by next_attempt_at, id) as place from `+smallEventsDueSQL("?0")+` as due
						where partner = ?3 order by next_attempt_at, id limit ?2) as first
					where first.requeued_at is null or first.requeued_at < ?1)) as ahead on ahead.id = po.id
				for no key update of po skip locked)
			returning id, partner`, tx.Now, tx.Now.Add(-payouts.RequeueAgainAfter), maxAheadPerPartner, partner, store.SweepBatchSize).Scan(ctx, &rows)
		if err != nil {
			return fmt.Errorf("advance payouts of other partners: %w", err)
		}
		for _, row := range rows {
			tx.EnqueueJob(payouts.ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID), HighPriority: true, Requeued: true})
		}
		moved = len(rows)
		return nil
	})
	return moved, err
}

// While one of the recentEvents newest occurrences with candidates has more than
// smallEvent, payouts of those with fewer go ahead of it, also within one partner: a
// quarter of each batch is theirs. The numbers bound the claims that a batch looks at.
const (
	recentEvents = 16
	smallEvent   = 1000
)

// smallEventsDueSQL returns the payouts that are due at now and go ahead, because they are of
// small events; none while there is no large event. The subqueries prescribe the way from
// the events to their claims and payouts: a large event changes the tables faster than
// Postgres counts them, and by old counts it began with every payout that was due.
func smallEventsDueSQL(now string) string {
	return fmt.Sprintf(`(with recent as materialized (
		select occurrence_id, max(candidates) as candidates from matchings where candidates > 0 group by occurrence_id order by occurrence_id desc limit %d)
	select po.* from recent cross join lateral (
			select id, partner from claims where occurrence_id = recent.occurrence_id order by partner limit %[2]d) as c cross join lateral (
			select id, claim_id, partner, status, next_attempt_at, requeued_at from payouts where claim_id = c.id and partner = c.partner offset 0) as po
	where recent.candidates <= %[2]d and exists (select from recent where candidates > %[2]d) and po.status = 'pending' and po.next_attempt_at <= %[3]s)`,
		recentEvents, smallEvent, now)
}

// lockSmallEvents locks the claims of at most limit payouts that are due for small events.
func lockSmallEvents(ctx context.Context, tx *store.Tx, limit int) (due []claims.ClaimRow, err error) {
	err = tx.Store.QueryPreparedRows(ctx, tx.PgxConn, &due, "select "+dueClaimColumns+" from "+smallEventsDueSQL("$1")+` as due
		join claims c on c.id = due.claim_id and c.partner = due.partner
		order by due.next_attempt_at limit $2 for no key update of c skip locked`, tx.Now, limit)
	return due, err
}

// dueClaimColumns are the columns of a claim that a batch needs: those that continue its
// timeline, and the one that holds its payouts after a retraction.
const dueClaimColumns = "c.id, c.partner, c.updated_at, c.timeline_sequence, c.timeline_updated_at, c.retraction"

// lockDueClaims locks the claims of at most limit payouts that are due; it skips claims
// that others have locked. Up to a quarter is for small events. Each partner with due payouts
// gets an equal share, and partners in random order get what others leave; of each partner,
// those go first that have been due for longest.
func lockDueClaims(ctx context.Context, tx *store.Tx, limit int) ([]claims.ClaimRow, error) {
	var partners int
	err := tx.PgxConn.QueryRow(ctx, `select count(*) from partners pt where exists (
		select from payouts po where po.partner = pt.slug and po.status = 'pending' and po.next_attempt_at <= $1)`, pgx.QueryExecModeCacheStatement, tx.Now).Scan(&partners)
	if err != nil {
		return nil, fmt.Errorf("count partners with due payouts: %w", err)
	}
	if partners == 0 {
		return nil, nil
	}
	due, err := lockSmallEvents(ctx, tx, max(1, limit/4))
	for _, share := range []int{max(1, limit/partners), limit} {
		if err != nil || len(due) == limit {
			break
		}
		more := make([]claims.ClaimRow, 0, limit-len(due))
		err = tx.Store.QueryPreparedRows(ctx, tx.PgxConn, &more, `select due.* from (select slug from partners order by random()) as pt cross join lateral (
			select `+dueClaimColumns+` from claims c join payouts po on po.claim_id = c.id and po.partner = c.partner
			where po.partner = pt.slug and po.status = 'pending' and po.next_attempt_at <= $1 and c.id <> all($4) order by po.next_attempt_at limit $2 for no key update of c skip locked) as due limit $3`,
			tx.Now, share, limit-len(due), idsOf(due))
		due = append(due, more...)
	}
	return due, err
}

// idsOf returns the ids of claims.
func idsOf(rows []claims.ClaimRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}
