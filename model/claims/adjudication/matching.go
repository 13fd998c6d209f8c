package adjudication

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims/candidates"
	"parapet/model/claims/matching"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

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
// what waits is among the candidates. excludeWaiting makes it a first pass, after which a
// further one is left if passAfter is After of its job, and none if it is nil. It returns
// the number of slices written.
func (s *Service) startMatchings(ctx context.Context, tx *store.Tx, occurrences []occurrence.LoadedOccurrence, found map[uuid.UUID][]candidates.Candidate, except exclusion, passAfter *string) (int, error) {
	if len(occurrences) == 0 {
		return 0, nil
	}
	var ids []uuid.UUID
	var matchings []*matching.Row
	for _, of := range occurrences {
		ids = append(ids, of.Row.ID)
		row := &matching.Row{OccurrenceID: of.Row.ID, Version: of.Row.Version, StartedAt: tx.Clock}
		switch {
		case except != excludeWaiting:
			row.Expect("", tx.Clock) // the first pass of a new version has a job of its own
		case passAfter != nil:
			row.Expect(*passAfter, tx.Clock)
		}
		matchings = append(matchings, row)
	}
	if err := matching.Lock(ctx, tx, matchings); err != nil {
		return 0, err
	}
	if except != excludeNone {
		if err := matching.DropSuperseded(ctx, tx, matchings, found); err != nil {
			return 0, err
		}
		if err := excludeSlicedPolicies(ctx, tx, matchings, found, except); err != nil {
			return 0, err
		}
		if err := matching.EndOlderSlices(ctx, tx, ids); err != nil {
			return 0, err
		}
	}
	written, err := s.writeSlices(ctx, tx, matchings, found, except)
	if err != nil {
		return 0, err
	}
	if written > inlineSlices {
		enqueueSliceJobs(tx, written)
		if err := queueReadings(tx, occurrences); err != nil {
			return 0, err
		}
	}
	return written, matching.Complete(ctx, tx, ids)
}

// queueReadings stores the readings to which the determinations of slices will refer. The
// first slices are decided at the same time: each would wait until the first to store the
// reading ends.
func queueReadings(tx *store.Tx, occurrences []occurrence.LoadedOccurrence) error {
	for _, of := range occurrences {
		if _, err := of.Row.Reading(of.Facts); err != nil {
			return err
		}
		of.Row.QueueReading(tx)
	}
	return nil
}

// excludeSlicedPolicies removes the policies of earlier slices of the same version from
// the candidates of locked matchings, and keeps the figures and the number of these only.
func excludeSlicedPolicies(ctx context.Context, tx *store.Tx, matchings []*matching.Row, found map[uuid.UUID][]candidates.Candidate, except exclusion) error {
	sliced, err := matching.LoadSliced(ctx, tx, matchings, except == excludeSliced)
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
	for _, each := range matchings {
		each.Candidates = len(have[each.OccurrenceID])
	}
	for of, policies := range found {
		found[of] = slices.DeleteFunc(policies, func(p candidates.Candidate) bool { return have[of][p.ID] })
	}
	return matching.KeepFigures(ctx, tx, matchings, sliced)
}

// writeSlices writes slices of the candidates of locked matchings with their figures, and
// returns the number of slices. Slices that exclude none repeat policies, which are not
// counted again.
func (s *Service) writeSlices(ctx context.Context, tx *store.Tx, matchings []*matching.Row, found map[uuid.UUID][]candidates.Candidate, except exclusion) (int, error) {
	var rows []*matching.SliceRow
	var figures []*matching.FigureRow
	var grown []*matching.Row
	for _, each := range matchings {
		policies := found[each.OccurrenceID]
		if len(policies) == 0 {
			continue
		}
		last, err := matching.LastSliceNumber(ctx, tx, each.OccurrenceID, each.Version)
		if err != nil {
			return 0, err
		}
		parts, err := s.divide(ctx, tx, policies)
		if err != nil {
			return 0, err
		}
		for _, part := range parts {
			last++
			row := &matching.SliceRow{OccurrenceID: each.OccurrenceID, Version: each.Version, Number: last, Candidates: len(policies), Policies: candidates.IDs(part), DueAt: tx.Clock}
			rows = append(rows, row)
			if except != excludeNone {
				figures = append(figures, matching.CountFigures(row, part)...)
			}
		}
		each.Candidates += len(policies)
		grown = append(grown, each)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	err := cmp.Or(tx.QueueInsertRows(rows), tx.QueueInsertRows(figures))
	if err == nil {
		err = tx.Flush(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("write slices: %w", err)
	}
	update := tx.NewInsert().Model(&grown).On("conflict (occurrence_id, version) do update").Set("completed_at = null")
	if except != excludeNone {
		update = update.Set("candidates = excluded.candidates")
	}
	if _, err := update.Returning("null").Exec(ctx); err != nil {
		return 0, fmt.Errorf("write matchings: %w", err)
	}
	return len(rows), nil
}

// MatchSettings are the settings of matching.
type MatchSettings struct {
	// LargestFirst puts policies with the largest remaining limits into the first slices of
	// an event, and not those that were bound first. Each currency has its own order.
	LargestFirst bool
}

// divide divides the policies of an event, in order of their ids, into slices, in the order
// in which they are decided. The ids of each slice ascend, which is the order of locks.
func (s *Service) divide(ctx context.Context, tx *store.Tx, policies []candidates.Candidate) ([][]candidates.Candidate, error) {
	size := s.sliceSize
	if s.Bulk.AnswersRequests() {
		size = min(size, matchBatchSizeBusy)
	}
	if len(policies) > size && store.Local[MatchSettings](s.Store).LargestFirst {
		var largest []uuid.UUID
		err := tx.NewRaw(`select id from (select id, row_number() over (partition by currency order by limit_remaining desc, id) as place from policies where id in (?)) p
			order by place, id`, bun.List(candidates.IDs(policies))).Scan(ctx, &largest)
		if err != nil {
			return nil, fmt.Errorf("order policies by limit: %w", err)
		}
		place := make(map[uuid.UUID]int, len(largest))
		for i, id := range largest {
			place[id] = i
		}
		slices.SortFunc(policies, func(a, b candidates.Candidate) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	}
	parts := slices.Collect(slices.Chunk(policies, size))
	for _, part := range parts {
		slices.SortFunc(part, candidates.Candidate.Compare)
	}
	return parts, nil
}
