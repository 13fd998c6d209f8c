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
	"parapet/model"
	"parapet/model/wire"
)

// Feed is a live feed to be polled.
type Feed struct {
	Source   string // usgs, nhc, ghcn
	URL      string
	Interval time.Duration
}

// PollFeed reads the feeds of a name: the console shows what a job carries, and
// their addresses may hold keys.
type PollFeed struct {
	Source string        `json:"source"`
	URL    string        `json:"url"` // as feed.Name has it
	Every  time.Duration `json:"every"`
}

// Kind is the job's stable name.
func (PollFeed) Kind() string { return "poll_feed" }

// pollJob is the job that polls a feed.
func (f Feed) pollJob() PollFeed { return PollFeed{f.Source, feed.DisplayAddress(f.URL), f.Interval} }

// pollFeed asks addresses whether there is anything new and records it. A process
// that has not been told of a feed yet leaves it to the next period.
type pollFeed struct {
	river.WorkerDefaults[PollFeed]

	service *model.Service
	fetch   *feed.Fetcher
	feeds   []Feed
}

// Work implements river.Worker.
func (w *pollFeed) Work(ctx context.Context, job *river.Job[PollFeed]) error {
	var failed error
	for _, f := range w.feeds {
		if f.Source == job.Args.Source && feed.DisplayAddress(f.URL) == feed.DisplayAddress(job.Args.URL) {
			failed = errors.Join(failed, w.pollOne(ctx, f))
		}
	}
	return failed
}

func (w *pollFeed) pollOne(ctx context.Context, of Feed) error {
	state, err := w.service.LoadDuePoll(ctx, of.Source, of.URL)
	if err != nil || state == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	fetched, err := w.fetch.Fetch(asked, feed.Poll{
		URL: state.URL, Interval: minPollInterval(of.Interval), ETag: state.ETag, LastModified: state.LastModified, Failures: state.Failures,
	})
	seen := IngestResult{}
	if err == nil && fetched.Changed {
		seen, err = IngestFile(ctx, w.service, of.Source, fetched.Body)
	}
	// A file that took all the job's time is a failure to be kept as well.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err != nil {
		// The tag stays the old one, so that the source sends the file again.
		state.Failures, state.LastError = state.Failures+1, err.Error()
		// Cancelled, not discarded: the next period asks again, and the feed has an alarm
		// of its own, which rings when it does not get well.
		return river.JobCancel(errors.Join(err, w.service.SavePoll(kept, *state, fetched.Wait)))
	}
	if fetched.Changed {
		state.LastError = seen.describeProblems()
	}
	state.ETag, state.LastModified, state.Failures = fetched.Next.ETag, fetched.Next.LastModified, 0
	return w.service.SavePoll(kept, *state, fetched.Wait)
}

// saveTimeout bounds writing down how a poll ended.
const saveTimeout = 5 * time.Second

// minPollInterval is when an address is due again: a little before the next period,
// which would otherwise come a moment too early and be missed every other time.
func minPollInterval(every time.Duration) time.Duration { return every - every/10 }

// IngestResult counts what became of a file's rows.
type IngestResult struct {
	Created, Revised, Unchanged, Rejected int
	Retracted                             int      // readings that the source withdrew
	Skipped                               int      // good rows that are no hazard of ours
	FutureRows                            int      // re-dated rows that would lie in the future
	Problems                              []string // a sentence for each row that was left out
}

// describeProblems says in a sentence what was left out of a file, empty when nothing was.
func (r *IngestResult) describeProblems() string {
	if len(r.Problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows left out; the first: %s", len(r.Problems), r.Problems[0])
}

// IngestFile reads a file of a source and records its good rows, also those before
// the place where reading failed. Recording the same file again changes nothing.
func IngestFile(ctx context.Context, service *model.Service, source string, file []byte) (seen IngestResult, err error) {
	batch, unread := feed.Parse(source, bytes.NewReader(file))
	if unread != nil {
		unread = fmt.Errorf("read %s: %w", source, unread)
	}
	err = seen.recordBatch(ctx, service, source, batch)
	if err == nil {
		err = seen.recordRetractions(ctx, service, source, batch.Retractions)
	}
	return seen, errors.Join(unread, err)
}

// ReplayFile is Observe for a historical file whose event is re-dated to now. The
// shift is kept, so replaying it again changes nothing.
func ReplayFile(ctx context.Context, service *model.Service, source string, file []byte, event string) (seen IngestResult, err error) {
	batch, err := feed.Parse(source, bytes.NewReader(file))
	if err != nil {
		return IngestResult{}, fmt.Errorf("read %s: %w", source, err)
	}
	shift, now, err := service.ReplayShift(ctx, source, hashFile(file), event, func(now time.Time) (time.Duration, error) {
		_, _, shift, err := feed.Replay(batch.Observations, event, now)
		return shift, err
	})
	if err != nil {
		return IngestResult{}, err
	}
	batch.Observations, seen.FutureRows = feed.Shift(batch.Observations, shift, now)
	err = seen.recordBatch(ctx, service, source, batch)
	return seen, err
}

func hashFile(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// recordBatch sends a file through the domain in batches that never part a storm.
func (r *IngestResult) recordBatch(ctx context.Context, service *model.Service, source string, batch feed.Batch) error {
	r.Skipped = batch.Skipped
	for _, row := range batch.Errors {
		r.Problems = append(r.Problems, row.Error())
	}
	tracks, others := splitFinalTracks(batch)
	for _, part := range splitIntoBatches(others) {
		results, err := service.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		r.addResults(part, results)
	}
	for _, part := range splitIntoBatches(tracks) {
		results, err := service.RecordFinalTracks(ctx, feedActor(source), part)
		if err != nil {
			return fmt.Errorf("record final tracks of %s: %w", source, err)
		}
		var alone []wire.ObservationInput // good rows of a storm with a bad one: no track, but fixes
		for i, result := range results {
			if len(result.Errors) == 1 && result.Errors[0].Code == model.TrackIncomplete {
				alone = append(alone, part[i])
				continue
			}
			r.addResult(part[i], result)
		}
		if len(alone) == 0 {
			continue
		}
		if results, err = service.RecordObservations(ctx, feedActor(source), alone, false); err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		r.addResults(alone, results)
	}
	return nil
}

// feedActor reports for a source and for no other.
func feedActor(source string) model.Actor {
	return model.Actor{Kind: model.ActorSource, Name: source, Scopes: []model.Scope{model.ScopeObservationsWrite}, Sources: []string{source}}
}

// splitFinalTracks splits off the observations of storms of which every fix is in the
// batch, and in one part of it.
func splitFinalTracks(batch feed.Batch) (tracks, others []wire.ObservationInput) {
	for _, event := range groupByEvent(batch.Observations) {
		if n := len(event); n <= model.MaxObservations && n == batch.FinalTracks[event[0].SourceEventID] {
			tracks = append(tracks, event...)
		} else {
			others = append(others, event...)
		}
	}
	return tracks, others
}

// recordRetractions withdraws readings. Those that were never recorded, which are most, are
// passed over.
func (r *IngestResult) recordRetractions(ctx context.Context, service *model.Service, source string, all []wire.ObservationInput) error {
	for part := range slices.Chunk(all, model.MaxObservations) {
		results, err := service.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("retract %s: %w", source, err)
		}
		for i, result := range results {
			unknown := len(result.Errors) == 1 && result.Errors[0].Code == string(model.CodeNotFound)
			switch {
			case result.Result == model.ResultRevised:
				r.Retracted++
			case result.Result == model.ResultRejected && !unknown:
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
	case model.ResultCreated:
		r.Created++
	case model.ResultRevised:
		r.Revised++
	case model.ResultUnchanged:
		r.Unchanged++
	default:
		r.Rejected++
		for _, e := range result.Errors {
			r.Problems = append(r.Problems, fmt.Sprintf("%s %s: %s", in.SourceEventID, e.Pointer, e.Detail))
		}
	}
}

// splitIntoBatches cuts a file into batches; a storm's fixes stay in one, so that it is
// judged whole.
func splitIntoBatches(all []wire.ObservationInput) [][]wire.ObservationInput {
	var list [][]wire.ObservationInput
	for event := range slices.Values(groupByEvent(all)) {
		if last := len(list) - 1; last >= 0 && len(list[last])+len(event) <= model.MaxObservations {
			list[last] = append(list[last], event...)
			continue
		}
		list = append(list, slices.Collect(slices.Chunk(event, model.MaxObservations))...)
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
