package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"parapet/jobs/feed"
	"parapet/jobs/fetch"
	"parapet/model"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// Feed is a live feed that is polled.
type Feed struct {
	Source   string // usgs, emsc, nhc, ghcn
	URL      string
	Interval time.Duration
}

// PollFeed polls the feeds with this name. It holds a display address because job
// arguments are shown to operators and the full address may hold a key.
type PollFeed struct {
	Source string        `json:"source"`
	URL    string        `json:"url"` // from fetch.DisplayAddress
	Every  time.Duration `json:"every"`
}

// Kind is the job's stable name.
func (PollFeed) Kind() string { return "poll_feed" }

// pollJob is the job that polls a feed.
func (f Feed) pollJob() PollFeed { return PollFeed{f.Source, fetch.DisplayAddress(f.URL), f.Interval} }

// pollFeed fetches its feeds and records new observations. A process without the feed in
// its configuration skips it; the next period may run elsewhere.
type pollFeed struct {
	river.WorkerDefaults[PollFeed]

	service *model.Service
	fetch   *fetch.Fetcher
	feeds   []Feed
}

// Work implements river.Worker.
func (w *pollFeed) Work(ctx context.Context, job *river.Job[PollFeed]) error {
	var failed error
	for _, f := range w.feeds {
		if f.Source == job.Args.Source && fetch.DisplayAddress(f.URL) == fetch.DisplayAddress(job.Args.URL) {
			failed = errors.Join(failed, w.pollOne(ctx, f))
		}
	}
	return failed
}

func (w *pollFeed) pollOne(ctx context.Context, of Feed) error {
	state, err := w.service.Occurrences.LoadDuePoll(ctx, of.Source, of.URL)
	if err != nil || state == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	fetched, err := w.fetch.Fetch(asked, fetch.Poll{
		URL: state.URL, Interval: minPollInterval(of.Interval), ETag: state.ETag, LastModified: state.LastModified, Failures: state.Failures,
	})
	seen := IngestResult{}
	if err == nil && fetched.Changed {
		seen, err = IngestFrom(ctx, w.service, of.Source, of.URL, fetched.Body)
	}
	// A file that used up the job's time is a failure that must be saved too.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err != nil {
		// The tag stays unchanged so that the source sends the file again.
		state.Failures, state.LastError = state.Failures+1, err.Error()
		// Cancelled, not discarded: the next period polls again, and a feed that keeps
		// failing has its own alarm.
		return river.JobCancel(errors.Join(err, w.service.Occurrences.SavePoll(kept, *state, fetched.Wait)))
	}
	if fetched.Changed {
		state.LastError = seen.describeProblems()
	}
	state.ETag, state.LastModified, state.Failures = fetched.Next.ETag, fetched.Next.LastModified, 0
	return w.service.Occurrences.SavePoll(kept, *state, fetched.Wait)
}

// saveTimeout bounds saving the result of a poll.
const saveTimeout = 5 * time.Second

// minPollInterval is the time after which an address is due again. It is 10 % below the
// period because a poll that comes slightly early would otherwise be skipped every other
// time.
func minPollInterval(every time.Duration) time.Duration { return every - every/10 }

// IngestResult counts the results of a file's rows.
type IngestResult struct {
	Created, Revised, Unchanged, Rejected int
	Retracted                             int      // readings that the source withdrew
	Skipped                               int      // valid rows without an insured hazard
	FutureRows                            int      // replayed rows that would lie in the future
	Known                                 []string // ids of the unchanged readings
	Problems                              []string // one sentence per rejected row
}

// describeProblems summarises the rejected rows in one sentence, empty when there are
// none.
func (r *IngestResult) describeProblems() string {
	if len(r.Problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows left out; the first: %s", len(r.Problems), r.Problems[0])
}

// IngestFile is IngestFrom for a file without an address.
func IngestFile(ctx context.Context, service *model.Service, source string, file []byte) (IngestResult, error) {
	return IngestFrom(ctx, service, source, source, file)
}

// IngestFrom reads a file of a source and records its valid rows, including those before
// a read error, with the records that they come from. Recording the same file again
// changes nothing.
func IngestFrom(ctx context.Context, service *model.Service, source, address string, file []byte) (seen IngestResult, err error) {
	batch, unread := feed.Parse(source, bytes.NewReader(file))
	batch.SetFile(fetch.NewFile(address, file))
	if unread != nil {
		unread = fmt.Errorf("read %s: %w", source, unread)
	}
	err = seen.recordBatch(ctx, service, source, batch)
	if err == nil {
		err = seen.recordRetractions(ctx, service, source, batch.Retractions)
	}
	return seen, errors.Join(unread, err)
}

// ReplayFile is IngestFile for a historical file whose event is moved to the present. The
// shift is stored, so replaying the file again changes nothing.
func ReplayFile(ctx context.Context, service *model.Service, source string, file []byte, event string) (seen IngestResult, err error) {
	batch, err := feed.Parse(source, bytes.NewReader(file))
	if err != nil {
		return IngestResult{}, fmt.Errorf("read %s: %w", source, err)
	}
	shift, now, err := service.Occurrences.ReplayShift(ctx, source, hashFile(file), event, func(now time.Time) (time.Duration, error) {
		_, _, shift, err := feed.Replay(batch.Observations, event, now)
		return shift, err
	})
	if err != nil {
		return IngestResult{}, err
	}
	batch.SetFile(fetch.NewFile(source, file))
	batch.Observations, seen.FutureRows = feed.Shift(batch.Observations, shift, now)
	err = seen.recordBatch(ctx, service, source, batch)
	return seen, err
}

func hashFile(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// recordBatch records a file in batches that keep the fixes of a storm together.
func (r *IngestResult) recordBatch(ctx context.Context, service *model.Service, source string, batch feed.Batch) error {
	r.Skipped = batch.Skipped
	for _, row := range batch.Errors {
		r.Problems = append(r.Problems, row.Error())
	}
	tracks, others := splitFinalTracks(batch)
	for _, part := range splitIntoBatches(others) {
		results, err := service.Occurrences.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		r.addResults(part, results)
	}
	for _, part := range splitIntoBatches(tracks) {
		results, err := service.Occurrences.RecordFinalTracks(ctx, feedActor(source), part)
		if err != nil {
			return fmt.Errorf("record final tracks of %s: %w", source, err)
		}
		var alone []wire.ObservationInput // valid rows of a storm with an invalid one: fixes without a track
		for i, result := range results {
			if len(result.Errors) == 1 && result.Errors[0].Code == occurrence.TrackIncomplete {
				alone = append(alone, part[i])
				continue
			}
			r.addResult(part[i], result)
		}
		if len(alone) == 0 {
			continue
		}
		if results, err = service.Occurrences.RecordObservations(ctx, feedActor(source), alone, false); err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		r.addResults(alone, results)
	}
	return nil
}

// feedActor returns an actor that may report for one source only.
func feedActor(source string) actor.Actor {
	return actor.Actor{Kind: actor.KindSource, Name: source, Scopes: []actor.Scope{actor.ScopeObservationsWrite}, Sources: []string{source}}
}

// splitFinalTracks separates the storms whose fixes are all in the batch and fit in one
// request.
func splitFinalTracks(batch feed.Batch) (tracks, others []wire.ObservationInput) {
	for _, event := range groupByEvent(batch.Observations) {
		if n := len(event); n <= occurrence.MaxObservations && n == batch.FinalTracks[event[0].SourceEventID] {
			tracks = append(tracks, event...)
		} else {
			others = append(others, event...)
		}
	}
	return tracks, others
}

// recordRetractions withdraws readings. Most of them were never recorded; those are
// skipped.
func (r *IngestResult) recordRetractions(ctx context.Context, service *model.Service, source string, all []wire.ObservationInput) error {
	for part := range slices.Chunk(all, occurrence.MaxObservations) {
		results, err := service.Occurrences.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("retract %s: %w", source, err)
		}
		for i, result := range results {
			unknown := len(result.Errors) == 1 && result.Errors[0].Code == string(apperr.CodeNotFound)
			switch {
			case result.Result == occurrence.ResultRevised:
				r.Retracted++
			case result.Result == occurrence.ResultRejected && !unknown:
				r.addResult(part[i], result)
			}
		}
	}
	return nil
}

func (r *IngestResult) addResults(in []wire.ObservationInput, results []wire.ObservationResult) {
	for i, result := range results {
		r.addResult(in[i], result)
	}
}

func (r *IngestResult) addResult(in wire.ObservationInput, result wire.ObservationResult) {
	switch result.Result {
	case occurrence.ResultCreated:
		r.Created++
	case occurrence.ResultRevised:
		r.Revised++
	case occurrence.ResultUnchanged:
		r.Unchanged++
		r.Known = append(r.Known, *result.ID)
	default:
		r.Rejected++
		for _, e := range result.Errors {
			r.Problems = append(r.Problems, fmt.Sprintf("%s %s: %s", in.SourceEventID, e.Pointer, e.Detail))
		}
	}
}

// splitIntoBatches splits a file into batches. The fixes of a storm stay in one batch so
// that the storm is evaluated as a whole.
func splitIntoBatches(all []wire.ObservationInput) [][]wire.ObservationInput {
	var list [][]wire.ObservationInput
	for event := range slices.Values(groupByEvent(all)) {
		if last := len(list) - 1; last >= 0 && len(list[last])+len(event) <= occurrence.MaxObservations {
			list[last] = append(list[last], event...)
			continue
		}
		list = append(list, slices.Collect(slices.Chunk(event, occurrence.MaxObservations))...)
	}
	return list
}

func groupByEvent(all []wire.ObservationInput) [][]wire.ObservationInput {
	var events [][]wire.ObservationInput
	for i, o := range all {
		if i > 0 && o.SourceEventID == all[i-1].SourceEventID {
			events[len(events)-1] = append(events[len(events)-1], o)
			continue
		}
		events = append(events, []wire.ObservationInput{o})
	}
	return events
}
