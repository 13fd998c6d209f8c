package matching

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// lostPassDelay is how long the job of a pass may wait. Later it counts as lost: it was
// cancelled, or it failed for good.
const lostPassDelay = 10 * time.Minute

// lostPassAge is for how long the first pass of a version that no job matched is looked
// for. Then inv_matchings reports it.
const lostPassAge = 24 * time.Hour

// EndPasses records that the pass of a job is made, and ends the passes of older versions
// of the occurrences: what they would find, the newest version finds.
func EndPasses(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID, after string) error {
	_, err := tx.NewRaw(`update matchings ma set pass_after = null, pass_due_at = null where (ma.occurrence_id, ma.version) in (
		select m.occurrence_id, m.version from matchings m join occurrences oc on oc.id = m.occurrence_id
		where m.occurrence_id in (?) and m.pass_after is not null and (m.pass_after = ? or m.version < oc.version)
		order by 1, 2 for no key update of m)`, bun.List(occurrences), after).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end passes: %w", err)
	}
	return nil
}

// EnqueueLostPasses enqueues the passes whose jobs are lost, also the first pass of a
// version that has no matching.
func EnqueueLostPasses(ctx context.Context, tx *store.Tx) error {
	_, err := tx.NewRaw(`insert into matchings (occurrence_id, version, candidates, started_at, pass_after, pass_due_at)
		select oc.id, oc.version, 0, ?0, '', ?0 from occurrences oc where oc.merged_into is null and oc.updated_at between ?1 and ?2
		and not exists (select from matchings ma where ma.occurrence_id = oc.id and ma.version = oc.version) limit ?3
		on conflict (occurrence_id, version) do nothing`, tx.Clock, tx.Clock.Add(-lostPassAge), tx.Clock.Add(-lostPassDelay), store.SweepBatchSize).Exec(ctx)
	if err != nil {
		return fmt.Errorf("find lost first passes: %w", err)
	}
	var lost []Row
	err = tx.NewRaw(`update matchings set pass_due_at = ? where ctid = any (array(select ctid from matchings where pass_due_at <= ?
		order by pass_due_at limit ? for no key update skip locked)) returning occurrence_id, pass_after`, tx.Clock.Add(lostPassDelay), tx.Clock, store.SweepBatchSize).Scan(ctx, &lost)
	if err != nil {
		return fmt.Errorf("find lost passes: %w", err)
	}
	for _, row := range lost {
		tx.EnqueueJob(occurrence.EvaluateOccurrences{Occurrences: []string{store.ResourceOccurrence.FormatID(row.OccurrenceID)}, After: *row.PassAfter})
	}
	return nil
}

// Expect records that a pass is left, whose job has After: empty for the first pass.
func (r *Row) Expect(after string, now time.Time) {
	r.PassAfter, r.PassDueAt = &after, new(now.Add(lostPassDelay))
}
