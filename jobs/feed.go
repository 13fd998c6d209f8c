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

// FeedAddress is a live feed to be polled.
type FeedAddress struct {
	Source string // usgs, nhc, ghcn
	URL    string
	Every  time.Duration
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

// job is the job that polls a feed.
func (f FeedAddress) job() PollFeed { return PollFeed{f.Source, feed.Name(f.URL), f.Every} }

// pollFeed asks addresses whether there is anything new and records it. A process
// that has not been told of a feed yet leaves it to the next period.
type pollFeed struct {
	river.WorkerDefaults[PollFeed]

	service *model.Service
	fetch   *feed.Fetcher
	feeds   []FeedAddress
}

// Work implements river.Worker.
func (w *pollFeed) Work(ctx context.Context, job *river.Job[PollFeed]) error {
	var failed error
	for _, f := range w.feeds {
		if f.Source == job.Args.Source && feed.Name(f.URL) == feed.Name(job.Args.URL) {
			failed = errors.Join(failed, w.poll(ctx, f))
		}
	}
	return failed
}

func (w *pollFeed) poll(ctx context.Context, of FeedAddress) error {
	state, err := w.service.DuePoll(ctx, of.Source, of.URL)
	if err != nil || state == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	fetched, err := w.fetch.Fetch(asked, feed.Poll{
		URL: state.URL, Interval: pollAfter(of.Every), ETag: state.ETag, LastModified: state.LastModified, Failures: state.Failures,
	})
	seen := Observed{}
	if err == nil && fetched.Changed {
		seen, err = Observe(ctx, w.service, of.Source, fetched.Body)
	}
	// A file that took all the job's time is a failure to be kept as well.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err != nil {
		// The tag stays the old one, so that the source sends the file again.
		state.Failures, state.LastError = state.Failures+1, err.Error()
		// Cancelled, not discarded: the next period asks again, and the feed has an alarm
		// of its own, which rings when it does not get well.
		return river.JobCancel(errors.Join(err, w.service.KeepPoll(kept, *state, fetched.Wait)))
	}
	if fetched.Changed {
		state.LastError = seen.complaint()
	}
	state.ETag, state.LastModified, state.Failures = fetched.Next.ETag, fetched.Next.LastModified, 0
	return w.service.KeepPoll(kept, *state, fetched.Wait)
}

// keepTimeout bounds writing down how a poll ended.
const keepTimeout = 5 * time.Second

// pollAfter is when an address is due again: a little before the next period,
// which would otherwise come a moment too early and be missed every other time.
func pollAfter(every time.Duration) time.Duration { return every - every/10 }

// Observed counts what became of a file's rows.
type Observed struct {
	Created, Revised, Unchanged, Rejected int
	Retracted                             int      // readings that the source withdrew
	Skipped                               int      // good rows that are no hazard of ours
	Left                                  int      // re-dated rows that would lie in the future
	Problems                              []string // a sentence for each row that was left out
}

// complaint says in a sentence what was left out of a file, empty when nothing was.
func (o *Observed) complaint() string {
	if len(o.Problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows left out; the first: %s", len(o.Problems), o.Problems[0])
}

// Observe reads a file of a source and records its good rows, also those before
// the place where reading failed. Recording the same file again changes nothing.
func Observe(ctx context.Context, service *model.Service, source string, file []byte) (seen Observed, err error) {
	batch, unread := feed.Parse(source, bytes.NewReader(file))
	if unread != nil {
		unread = fmt.Errorf("read %s: %w", source, unread)
	}
	err = seen.record(ctx, service, source, batch)
	if err == nil {
		err = seen.retract(ctx, service, source, batch.Retractions)
	}
	return seen, errors.Join(unread, err)
}

// Replay is Observe for a historical file whose event is re-dated to now. The
// shift is kept, so replaying it again changes nothing.
func Replay(ctx context.Context, service *model.Service, source string, file []byte, event string) (seen Observed, err error) {
	batch, err := feed.Parse(source, bytes.NewReader(file))
	if err != nil {
		return Observed{}, fmt.Errorf("read %s: %w", source, err)
	}
	shift, now, err := service.ReplayShift(ctx, source, digest(file), event, func(now time.Time) (time.Duration, error) {
		_, _, shift, err := feed.Replay(batch.Observations, event, now)
		return shift, err
	})
	if err != nil {
		return Observed{}, err
	}
	batch.Observations, seen.Left = feed.Shift(batch.Observations, shift, now)
	err = seen.record(ctx, service, source, batch)
	return seen, err
}

func digest(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// record sends a file through the domain in batches that never part a storm.
func (o *Observed) record(ctx context.Context, service *model.Service, source string, batch feed.Batch) error {
	o.Skipped = batch.Skipped
	for _, row := range batch.Errors {
		o.Problems = append(o.Problems, row.Error())
	}
	tracks, others := wholeTracks(batch)
	for _, part := range parts(others) {
		results, err := service.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		o.countAll(part, results)
	}
	for _, part := range parts(tracks) {
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
			o.count(part[i], result)
		}
		if len(alone) == 0 {
			continue
		}
		if results, err = service.RecordObservations(ctx, feedActor(source), alone, false); err != nil {
			return fmt.Errorf("record %s: %w", source, err)
		}
		o.countAll(alone, results)
	}
	return nil
}

// feedActor reports for a source and for no other.
func feedActor(source string) model.Actor {
	return model.Actor{Kind: model.ActorSource, Name: source, Scopes: []model.Scope{model.ScopeObservationsWrite}, Sources: []string{source}}
}

// wholeTracks splits off the observations of storms of which every fix is in the
// batch, and in one part of it.
func wholeTracks(batch feed.Batch) (tracks, others []wire.ObservationInput) {
	for _, event := range byEvent(batch.Observations) {
		if n := len(event); n <= model.MaxObservations && n == batch.FinalTracks[event[0].SourceEventID] {
			tracks = append(tracks, event...)
		} else {
			others = append(others, event...)
		}
	}
	return tracks, others
}

// retract withdraws readings. Those that were never recorded, which are most, are
// passed over.
func (o *Observed) retract(ctx context.Context, service *model.Service, source string, all []wire.ObservationInput) error {
	for part := range slices.Chunk(all, model.MaxObservations) {
		results, err := service.RecordObservations(ctx, feedActor(source), part, false)
		if err != nil {
			return fmt.Errorf("retract %s: %w", source, err)
		}
		for i, result := range results {
			unknown := len(result.Errors) == 1 && result.Errors[0].Code == string(model.CodeNotFound)
			switch {
			case result.Result == model.ResultRevised:
				o.Retracted++
			case result.Result == model.ResultRejected && !unknown:
				o.count(part[i], result)
			}
		}
	}
	return nil
}

func (o *Observed) countAll(in []wire.ObservationInput, results []wire.ObservationResult) {
	for i, result := range results {
		o.count(in[i], result)
	}
}

func (o *Observed) count(in wire.ObservationInput, result wire.ObservationResult) {
	switch result.Result {
	case model.ResultCreated:
		o.Created++
	case model.ResultRevised:
		o.Revised++
	case model.ResultUnchanged:
		o.Unchanged++
	default:
		o.Rejected++
		for _, e := range result.Errors {
			o.Problems = append(o.Problems, fmt.Sprintf("%s %s: %s", in.SourceEventID, e.Pointer, e.Detail))
		}
	}
}

// parts cuts a file into batches; a storm's fixes stay in one, so that it is
// judged whole.
func parts(all []wire.ObservationInput) [][]wire.ObservationInput {
	var list [][]wire.ObservationInput
	for event := range slices.Values(byEvent(all)) {
		if last := len(list) - 1; last >= 0 && len(list[last])+len(event) <= model.MaxObservations {
			list[last] = append(list[last], event...)
			continue
		}
		list = append(list, slices.Collect(slices.Chunk(event, model.MaxObservations))...)
	}
	return list
}

func byEvent(all []wire.ObservationInput) [][]wire.ObservationInput {
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
