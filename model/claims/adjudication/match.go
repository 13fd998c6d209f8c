package adjudication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
)

// ErrBarrierPending means that transactions which a second pass waits for are still
// running. Retry after a short delay.
var ErrBarrierPending = errors.New("the second pass must wait: a policy may still be bound unseen")

// MatchBatchSize is how many policies one transaction decides: large enough for few
// statements, small enough for short locks.
const MatchBatchSize = 500

// Evaluate matches occurrences to the policies whose cover they touch and decides their
// claims. It may run any number of times: existing decisions stay. Without After it is a
// first pass and enqueues the second, which finds the policies that were bound during the
// first.
func (s *Service) Evaluate(ctx context.Context, job occurrence.EvaluateOccurrences) error {
	horizon, err := s.snapshotBarrier(ctx, job.After)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(job.Occurrences))
	for _, text := range job.Occurrences {
		id, err := store.ResourceOccurrence.ParseID(text)
		if err != nil {
			return fmt.Errorf("occurrence %q: %w", text, err)
		}
		ids = append(ids, id)
	}
	occurrences, err := occurrence.LoadOccurrences(ctx, s.DB, ids)
	if err != nil {
		return err
	}
	candidates, err := FindCandidates(ctx, s.DB, occurrences)
	if err != nil {
		return err
	}
	var failed error // a failed occurrence does not delay the others
	for _, h := range occurrences {
		failed = errors.Join(failed, s.evaluateOccurrence(ctx, h.Row, h.Facts, candidates[h.Row.ID]))
	}
	if failed != nil {
		return failed
	}
	if job.After != "" || horizon == noTransactions {
		return nil
	}
	return s.enqueueInOwnTx(ctx, occurrence.EvaluateOccurrences{Occurrences: job.Occurrences, After: horizon})
}

// noTransactions is the barrier when no transaction was binding a policy.
const noTransactions = "-"

// bindTransactionsQuery selects the transactions of this database that hold BindLock or
// wait for it, by their ids in pg_locks. These ids are unique until the server restarts,
// which ends all transactions. A standby shows none, but Open does not connect to a
// server in recovery.
const bindTransactionsQuery = `select virtualtransaction from pg_locks
	where locktype = 'advisory' and classid = 0 and objid = %d and objsubid = 1
	and database = (select oid from pg_database where datname = current_database())`

// snapshotBarrier returns the transactions that were binding policies when the first pass
// began. The second pass returns ErrBarrierPending until all of them have ended.
func (s *Service) snapshotBarrier(ctx context.Context, after string) (string, error) {
	binding := fmt.Sprintf(bindTransactionsQuery, store.BindLock)
	if after == "" {
		var horizon string
		err := s.DB.NewRaw("select coalesce(string_agg(virtualtransaction, ','), ?) from ("+binding+") b", noTransactions).Scan(ctx, &horizon)
		return horizon, store.TranslateError(err)
	}
	var running bool
	err := s.DB.NewRaw("select exists ("+binding+" and virtualtransaction = any(string_to_array(?, ',')))", after).Scan(ctx, &running)
	if err == nil && running {
		return "", ErrBarrierPending
	}
	return "", store.TranslateError(err)
}

// enqueueInOwnTx enqueues a job in a transaction of its own.
func (s *Service) enqueueInOwnTx(ctx context.Context, job store.Job) error {
	return s.InTx(ctx, actor.System(), func(_ context.Context, tx *store.Tx) error {
		tx.EnqueueJob(job)
		return nil
	})
}

// lockOccurrence locks one occurrence in the transaction and reads it with its facts. For
// a merged occurrence it returns the one it was merged into.
func lockOccurrence(ctx context.Context, tx *store.Tx, id uuid.UUID) (*occurrence.OccurrenceRow, trigger.Occurrence, error) {
	row := new(occurrence.OccurrenceRow)
	var observations []occurrence.ObservationRow
	err := tx.NewSelect().Model(row).Where("id = ?", id).For("SHARE").Scan(ctx)
	if err == nil && row.MergedInto != nil { // it may have been merged while this waited for the lock
		return lockOccurrence(ctx, tx, *row.MergedInto)
	}
	if err == nil {
		err = tx.NewSelect().Model(&observations).Where("occurrence_id = ?", row.ID).OrderExpr("occurred_at").Scan(ctx)
	}
	if err != nil {
		return nil, trigger.Occurrence{}, fmt.Errorf("read occurrence: %w", err)
	}
	loaded := []occurrence.LoadedOccurrence{{Row: row, Facts: row.ToFacts(observations)}}
	err = occurrence.LoadStationFacts(ctx, tx, loaded)
	return row, loaded[0].Facts, err
}

// boxQuery finds policies by box. It probes the index once for each box of an occurrence,
// so the cost depends on the matching policies and not on all policies.
const boxQuery = `select distinct b.occurrence_id, p.id
from (values %s) as b (occurrence_id, scope, peril, first, last, box)
join policies p on p.footprint && b.box and p.status <> 'archived'
	and p.kind = b.peril and p.effective_at <= b.last and p.expires_at > b.first
	and (b.scope = '' or p.partner = b.scope)
union `

// claimedQuery finds the policies with a waiting claim, independent of the occurrence's
// present place. It also finds those with an approved claim when its occurrence was
// merged, because it may have been paid twice, or had readings retracted.
const claimedQuery = `select coalesce(oc.merged_into, oc.id) as occurrence_id, c.policy_id as id
from occurrences oc join claims c on c.occurrence_id = oc.id
where (oc.id in (?0) or oc.merged_into in (?0)) and (c.status in ('opened', 'deferred') or c.status in ('approved', 'closed')
	and (oc.merged_into is not null or c.retraction is not null or oc.id in (?1)))
order by 1, 2`

// candidateBoxSQL is one row of the values in boxQuery.
const candidateBoxSQL = "(?::uuid, ?, ?, ?::timestamptz, ?::timestamptz, ?::box)"

// newCandidateQuery returns the query for the candidates of occurrences.
func newCandidateQuery(db bun.IDB, occurrences []occurrence.LoadedOccurrence) *bun.RawQuery {
	var values []string
	var args []any
	ids, retracted := []uuid.UUID{uuid.Nil}, []uuid.UUID{uuid.Nil}
	for _, h := range occurrences {
		ids = append(ids, h.Row.ID)
		if h.Row.FactsWithRetracted != nil {
			retracted = append(retracted, h.Row.ID)
		}
		for _, box := range capacity.SearchBoxes(trigger.OccurrenceBoxes(h.Facts)) {
			values = append(values, candidateBoxSQL)
			args = append(args, h.Row.ID, h.Row.Scope, string(h.Row.Kind.Rules().Peril), h.Row.OccurredAt, h.Row.LastAt, box)
		}
	}
	claimed := db.NewRaw(claimedQuery, bun.List(ids), bun.List(retracted))
	if len(values) == 0 { // every reading was retracted
		return claimed
	}
	return db.NewRaw(fmt.Sprintf(boxQuery, strings.Join(values, ", "))+"?", append(args, claimed)...)
}

// FindCandidates returns the policies that each occurrence may affect: those whose box it
// touches, those that an index at their station can pay, and those with claims for it
// that it may change.
func FindCandidates(ctx context.Context, db bun.IDB, occurrences []occurrence.LoadedOccurrence) (map[uuid.UUID][]uuid.UUID, error) {
	found, err := findStationCandidates(ctx, db, occurrences)
	if err != nil {
		return nil, err
	}
	var pairs []struct{ OccurrenceID, ID uuid.UUID }
	if err := newCandidateQuery(db, occurrences).Scan(ctx, &pairs); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find candidates: %w", err))
	}
	for _, pair := range pairs {
		found[pair.OccurrenceID] = append(found[pair.OccurrenceID], pair.ID)
	}
	for of, ids := range found {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		found[of] = slices.Compact(ids)
	}
	return found, nil
}

// evaluateOccurrence evaluates the exact rule for every candidate without locks, then
// decides the affected ones, one batch per transaction. A failed batch is split into
// separate jobs.
func (s *Service) evaluateOccurrence(ctx context.Context, row *occurrence.OccurrenceRow, facts trigger.Occurrence, candidates []uuid.UUID) error {
	for slice := range slices.Chunk(candidates, MatchBatchSize) {
		err := recoverPanic(func() error { return s.evaluateBatch(ctx, row, facts, slice) })
		if err := s.splitOnFailure(ctx, EvaluatePolicies{Occurrence: store.ResourceOccurrence.FormatID(row.ID)}, slice, err); err != nil {
			return err
		}
	}
	return nil
}

// evaluateBatch decides the policies of a batch that the occurrence affects.
func (s *Service) evaluateBatch(ctx context.Context, row *occurrence.OccurrenceRow, facts trigger.Occurrence, policies []uuid.UUID) error {
	hits, err := s.findDecidable(ctx, row, facts, policies)
	if err != nil || len(hits) == 0 {
		return err
	}
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		occ, facts, err := lockOccurrence(ctx, tx, row.ID) // read again under its lock: it may have been revised
		if err != nil {
			return err
		}
		return adjudicatePolicies(ctx, tx, occ, facts, hits)
	})
	if err != nil {
		return fmt.Errorf("decide %s %s: %w", row.Source, row.SourceEventID, err)
	}
	return nil
}

// findDecidable returns the candidates that a decision may change: the trigger is met and
// there is no claim, a claim waits, a storm owes more than before, two claims were
// approved before their occurrences were merged, or readings of an approved claim were
// retracted or reported again.
func (s *Service) findDecidable(ctx context.Context, row *occurrence.OccurrenceRow, facts trigger.Occurrence, candidates []uuid.UUID) ([]uuid.UUID, error) {
	var policies []*underwriting.PolicyRow
	claims := `left join lateral (select coalesce(bool_or(c.status in ('opened', 'deferred') or c.retraction is not null), false)
				or count(*) filter (where c.status in ('approved', 'closed')) > 1 as waits,
			count(*) as claims,
			sum(d.amount) filter (where c.status in ('approved', 'closed')) as owed
		from claims c left join determinations d on d.id = c.determination_id and d.partner = c.partner
		where c.policy_id = p.id and c.occurrence_id in (select id from occurrences where id = ?0 or merged_into = ?0) and ` + holdsOccurrenceSQL + `) as cl on true`
	err := s.DB.NewSelect().Model(&policies).Column("id", "cover", "effective_at", "payable_from", "expires_at", "cancelled_at").
		ColumnExpr("cl.waits, cl.claims, cl.owed").Join(claims, row.ID).
		Where("p.id in (?)", bun.List(candidates)).OrderExpr("p.id").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read candidates: %w", err))
	}
	var hits []uuid.UUID
	for _, p := range policies {
		d := trigger.Evaluate(p.Cover, p.CoverPeriod(), p.PayableFrom, facts)
		changed := p.Owed != nil && (row.FactsWithRetracted != nil || facts.Grows() && d.Amount > *p.Owed)
		if p.Waits || changed || (d.Met || d.Reason == trigger.EvidenceNeeded) && p.Claims == 0 {
			hits = append(hits, p.ID)
		}
	}
	return hits, nil
}
