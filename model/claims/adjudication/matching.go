package adjudication

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims/watches"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// MatchingRow is the matching of one version of an occurrence to policies.
type MatchingRow struct {
	bun.BaseModel `bun:"table:matchings,alias:ma"`

	OccurrenceID uuid.UUID `bun:",pk,type:uuid"`
	Version      int64     `bun:",pk"`
	Candidates   int       // policies in its slices
	StartedAt    time.Time
	CompletedAt  *time.Time // nil while a slice or a pass is left
	PassAfter    *string    // After of the job of the pass that is left; nil if none is
	PassDueAt    *time.Time // when that job counts as lost
}

// exclusion says which candidates startMatchings leaves out: those in earlier slices of
// the same version.
type exclusion int

const (
	excludeNone    exclusion = iota
	excludeWaiting           // those in slices that are not done
	excludeSliced            // those in any slice
)

// startMatchings writes the slices of the candidates of occurrences and enqueues the jobs
// that decide them. Unless it excludes none, the candidates are those that candidates.Find
// found, and it ends the slices of older versions: what the newest version affects and
// what waits is among the candidates. A further pass is left if passAfter is After of its
// job, and none if it is nil. It returns the number of slices written.
func (s *Service) startMatchings(ctx context.Context, tx *store.Tx, occurrences []occurrence.LoadedOccurrence, candidates map[uuid.UUID][]uuid.UUID, except exclusion, passAfter *string) (int, error) {
	if len(occurrences) == 0 {
		return 0, nil
	}
	var ids []uuid.UUID
	var matchings []*MatchingRow
	for _, of := range occurrences {
		ids = append(ids, of.Row.ID)
		matching := &MatchingRow{OccurrenceID: of.Row.ID, Version: of.Row.Version, StartedAt: tx.Clock, PassAfter: passAfter}
		if passAfter != nil {
			matching.PassDueAt = new(tx.Clock.Add(lostPassDelay))
		}
		matchings = append(matchings, matching)
	}
	if err := lockMatchings(ctx, tx, matchings); err != nil {
		return 0, err
	}
	if except != excludeNone {
		if err := excludeSlicedPolicies(ctx, tx, matchings, candidates, except); err != nil {
			return 0, err
		}
		if err := endOlderSlices(ctx, tx, ids); err != nil {
			return 0, err
		}
	}
	written, err := s.writeSlices(ctx, tx, matchings, candidates)
	if err == nil && except != excludeNone {
		err = writeFigures(ctx, tx, written)
	}
	if err != nil {
		return 0, err
	}
	enqueueSliceWorkers(tx, len(written)-inlineSlices)
	return len(written), completeMatchings(ctx, tx, ids)
}

// lockMatchings inserts or locks matchings in the order of their ids, and writes the
// passes that are left, if any.
func lockMatchings(ctx context.Context, tx *store.Tx, matchings []*MatchingRow) error {
	slices.SortFunc(matchings, func(a, b *MatchingRow) int { return bytes.Compare(a.OccurrenceID[:], b.OccurrenceID[:]) })
	_, err := tx.NewInsert().Model(&matchings).On("conflict (occurrence_id, version) do update").Set("pass_after = coalesce(excluded.pass_after, ma.pass_after)").
		Set("pass_due_at = coalesce(excluded.pass_due_at, ma.pass_due_at)").Set("completed_at = case when excluded.pass_after is null then ma.completed_at end").Returning("null").Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock matchings: %w", err)
	}
	return nil
}

// excludeSlicedPolicies removes the policies of earlier slices of the same version from
// the candidates of locked matchings, and keeps the figures of these slices only.
func excludeSlicedPolicies(ctx context.Context, tx *store.Tx, matchings []*MatchingRow, candidates map[uuid.UUID][]uuid.UUID, except exclusion) error {
	sliced, err := loadSliced(ctx, tx, matchings, except == excludeSliced)
	if err != nil {
		return err
	}
	have := make(map[uuid.UUID]map[uuid.UUID]bool)
	for _, slice := range sliced {
		if have[slice.OccurrenceID] == nil {
			have[slice.OccurrenceID] = make(map[uuid.UUID]bool)
		}
		for _, id := range slice.Policies {
			have[slice.OccurrenceID][id] = true
		}
	}
	for of, ids := range candidates {
		candidates[of] = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return have[of][id] })
	}
	return keepFigures(ctx, tx, matchings, sliced)
}

// loadSliced returns the slices of matchings that are not done and that no worker holds
// or, with done, all of them. A worker may have read what the caller just changed, so that
// the policies of a slice in its hands must be decided again. Slices without figures are
// left out: they repeat policies.
func loadSliced(ctx context.Context, tx *store.Tx, matchings []*MatchingRow, done bool) (rows []SliceRow, err error) {
	var keys sliceKeys
	for _, matching := range matchings {
		keys.add(SliceRow{OccurrenceID: matching.OccurrenceID, Version: matching.Version})
	}
	q := tx.NewSelect().Model(&rows).Column("occurrence_id", "version", "number", "policies").
		Where("(occurrence_id, version) in (select * from unnest(?::uuid[], ?::bigint[]))", keys.args()[:2]...).
		Where("exists (select from matching_figures mf where (mf.occurrence_id, mf.version, mf.number) = (ms.occurrence_id, ms.version, ms.number))")
	if !done {
		q = q.Where("done_at is null").For("NO KEY UPDATE SKIP LOCKED")
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("read slices: %w", err)
	}
	return rows, nil
}

// endOlderSlices marks slices of older versions of occurrences as done. Slices that a
// worker has locked are left to it.
func endOlderSlices(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	_, err := tx.NewRaw(`with older as (select occurrence_id, version, number from matching_slices ms where occurrence_id in (?0) and done_at is null
			and exists (select from matchings ma where ma.occurrence_id = ms.occurrence_id and ma.version > ms.version) for update skip locked)
		update matching_slices ms set done_at = ?1 from older
		where ms.occurrence_id = older.occurrence_id and ms.version = older.version and ms.number = older.number`, bun.List(occurrences), tx.Clock).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end slices of older versions: %w", err)
	}
	return nil
}

// writeSlices writes slices of the candidates of locked matchings and returns them.
func (s *Service) writeSlices(ctx context.Context, tx *store.Tx, matchings []*MatchingRow, candidates map[uuid.UUID][]uuid.UUID) (rows []SliceRow, err error) {
	var grown []*MatchingRow
	for _, matching := range matchings {
		policies := candidates[matching.OccurrenceID]
		if len(policies) == 0 {
			continue
		}
		last, err := lastSliceNumber(ctx, tx, matching.OccurrenceID, matching.Version)
		if err != nil {
			return nil, err
		}
		parts, err := s.divide(ctx, tx, policies)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			last++
			rows = append(rows, SliceRow{OccurrenceID: matching.OccurrenceID, Version: matching.Version, Number: last, Candidates: len(policies), Policies: part, DueAt: tx.Clock})
		}
		matching.Candidates = len(policies)
		grown = append(grown, matching)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return nil, fmt.Errorf("write slices: %w", err)
	}
	_, err = tx.NewInsert().Model(&grown).On("conflict (occurrence_id, version) do update").
		Set("candidates = ma.candidates + excluded.candidates").Set("completed_at = null").Returning("null").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("write matchings: %w", err)
	}
	return rows, nil
}

// MatchSettings are the settings of matching.
type MatchSettings struct {
	// LargestFirst puts policies with the largest remaining limits into the first slices of
	// an event, and not those that were bound first. Each currency has its own order.
	LargestFirst bool
}

// divide divides the policies of an event into slices, in the order in which they are
// decided. The ids of each slice ascend, which is the order of locks.
func (s *Service) divide(ctx context.Context, tx *store.Tx, policies []uuid.UUID) ([][]uuid.UUID, error) {
	if len(policies) > s.sliceSize && store.Local[MatchSettings](s.Store).LargestFirst {
		var largest []uuid.UUID
		err := tx.NewRaw(`select id from (select id, row_number() over (partition by currency order by limit_remaining desc, id) as place from policies where id in (?)) p
			order by place, id`, bun.List(policies)).Scan(ctx, &largest)
		if err != nil {
			return nil, fmt.Errorf("order policies by limit: %w", err)
		}
		policies = largest
	}
	parts := slices.Collect(slices.Chunk(policies, s.sliceSize))
	for _, part := range parts {
		slices.SortFunc(part, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	}
	return parts, nil
}

// lastSliceNumber returns the highest number of the slices of a locked matching.
func lastSliceNumber(ctx context.Context, tx *store.Tx, occurrence uuid.UUID, version int64) (last int, err error) {
	err = tx.NewSelect().Model((*SliceRow)(nil)).ColumnExpr("coalesce(max(number), 0)").Where("occurrence_id = ?", occurrence).Where("version = ?", version).Scan(ctx, &last)
	if err != nil {
		return 0, fmt.Errorf("read the last slice: %w", err)
	}
	return last, nil
}

// completeMatchings completes the matchings of occurrences, or of all for nil, of which
// neither a slice nor a pass is left, and announces the covers within their reach. It locks
// them first: a statement that waits for a lock does not see the slices that the holder of
// the lock wrote.
func completeMatchings(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	var decided, completed []MatchingRow
	q := tx.NewSelect().Model(&decided).Column("occurrence_id", "version").Where("ma.completed_at is null").Where(decidedSQL)
	if occurrences != nil {
		q = q.Where("ma.occurrence_id in (?)", bun.List(occurrences))
	}
	if err := q.OrderExpr("ma.occurrence_id, ma.version").For("NO KEY UPDATE").Scan(ctx); err != nil {
		return fmt.Errorf("lock decided matchings: %w", err)
	}
	if len(decided) == 0 {
		return nil
	}
	var keys sliceKeys
	for _, matching := range decided {
		keys.add(SliceRow{OccurrenceID: matching.OccurrenceID, Version: matching.Version})
	}
	err := tx.NewUpdate().TableExpr("matchings as ma").Set("completed_at = business_now()").Where("ma.completed_at is null").Where(decidedSQL).
		Where("(ma.occurrence_id, ma.version) in (select * from unnest(?::uuid[], ?::bigint[]))", keys.args()[:2]...).Returning("occurrence_id, version").Scan(ctx, &completed)
	if err != nil {
		return fmt.Errorf("complete matchings: %w", err)
	}
	keys = sliceKeys{}
	for _, matching := range completed {
		keys.add(SliceRow{OccurrenceID: matching.OccurrenceID, Version: matching.Version})
	}
	return watches.Announce(ctx, tx, keys.occurrences, keys.versions)
}

// decidedSQL is true for a matching of which neither a slice nor a pass is left.
const decidedSQL = `ma.pass_after is null and not exists (select from matching_slices ms
	where ms.occurrence_id = ma.occurrence_id and ms.version = ma.version and ms.done_at is null)`
