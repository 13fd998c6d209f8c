package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

const (
	maxUpload = 1 << 20 // bytes
	// The days of a replay at a station.
	defaultDays, maxDays = 30, 366
)

// ReplayRequest lets a past event happen again, for the partner's own policies.
type ReplayRequest struct {
	// Event is an event of the shipped history: the id of an earthquake or of a storm, or
	// a station and a day, Seattle/2012-11-17. With an upload it selects an event of the file.
	Event    *string       `json:"event,omitzero"`
	Upload   *UploadedFile `json:"upload,omitzero"`
	Days     *int          `json:"days,omitzero"`     // at a station, from the day of Event on; 30
	Location *hazard.Point `json:"location,omitzero"` // moves an earthquake, or a storm at its strongest fix
	Station  *string       `json:"station,omitzero"`  // moves days to another station
}

// UploadedFile is a file in the format of a source.
type UploadedFile struct {
	Source  string `json:"source"`
	Content string `json:"content"`
}

// Replay starts a run that records a past event again, so that its last observation happens
// now; only the partner's own policies see it. Each replay is a new occurrence. Errors:
// not_found without a sandbox, validation_failed.
func (s *Service) Replay(ctx context.Context, caller actor.Actor, in ReplayRequest) (*wire.SandboxRun, error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.validate(v)
	if in.Upload == nil && in.Event != nil && len(v.FieldErrors) == 0 {
		past := s.pastEvent(*in.Event, in.days())
		v.Require(len(past) > 0, "/event", "unknown", "The shipped history has no such event. Use the USGS id of an earthquake of magnitude 5.5 or more of 1965 to 2022 (us1000chhc), the id of an Atlantic storm (AL122005), or a station and a day ("+strings.Join(s.history.StationNames(), ", ")+"; Seattle/2012-11-17).")
		if len(past) > 0 {
			v.Require(in.Location == nil || !past[0].Kind.IsDaily(), "/location", "not_allowed", "Days are measured at a station: use station.")
			v.Require(in.Station == nil || past[0].Kind.IsDaily(), "/station", "not_allowed", "Only days are measured at a station: use location.")
		}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	return s.start(ctx, caller, func(_ context.Context, tx *store.Tx) (*Run, error) {
		run := &Run{Kind: KindReplay, Request: Request{Replay: &in}, Result: Result{Replay: &wire.SandboxReplay{
			Event: optional.OrZero(in.Event), OccurredAt: tx.Clock, Location: in.Location, Station: in.Station, OccurrenceIDs: []string{}, Lines: []wire.ProgressLine{},
		}}}
		if in.Upload != nil {
			upload := *in.Upload
			run.Upload, run.Result.Replay.Source = new(upload.Content), upload.Source
			run.Request.Replay.Upload = &UploadedFile{Source: upload.Source}
		}
		return run, nil
	})
}

func (in *ReplayRequest) validate(v *apperr.Validator) {
	v.Require(in.Event != nil || in.Upload != nil, "/event", "required", "Name an event of the shipped history, or upload one.")
	v.Require(in.Event == nil || occurrence.IsValidName(*in.Event), "/event", "length", "Use 1 to 128 characters.")
	v.Require(in.Station == nil || occurrence.IsValidName(*in.Station), "/station", "length", "Use 1 to 128 characters.")
	v.Require(in.Station == nil || in.Location == nil, "/location", "not_allowed", "Give either location or station.")
	v.Require(in.Days == nil || *in.Days >= 1 && *in.Days <= maxDays, "/days", "value", "Use 1 to 366 days.")
	if in.Location != nil {
		v.Require(in.Location.Latitude >= -90 && in.Location.Latitude <= 90, "/location/latitude", "value", "Use degrees from -90 to 90.")
		v.Require(in.Location.Longitude >= -180 && in.Location.Longitude <= 180, "/location/longitude", "value", "Use degrees from -180 to 180.")
	}
	if in.Upload != nil {
		v.Require(slices.Contains(uploadSources, in.Upload.Source), "/upload/source", "enum", "Use "+strings.Join(uploadSources, ", ")+".")
		v.Require(in.Upload.Content != "" && len(in.Upload.Content) <= maxUpload, "/upload/content", "length", "Send the text of a file of at most 1 MiB.")
		v.Require(in.Days == nil, "/days", "not_allowed", "All days of an uploaded file are replayed.")
	}
}

// uploadSources are the sources whose files can be uploaded; package jobs has the parsers.
var uploadSources = []string{"emsc", "ghcn", "nhc", "usgs"}

func (in *ReplayRequest) days() int {
	if in.Days != nil {
		return *in.Days
	}
	return defaultDays
}

// ReplayedObservations returns the observations that a run records. past are the
// observations of its upload; without an upload it reads the shipped history. Every call for
// a run returns the same ones. It fails with a sentence for the partner.
func (s *Service) ReplayedObservations(run *Run, past []wire.ObservationInput) ([]wire.ObservationInput, error) {
	in, result := run.Request.Replay, run.Result.Replay
	if in.Upload == nil {
		past = s.pastEvent(*in.Event, in.days())
	}
	past, err := oneEvent(past, optional.OrZero(in.Event))
	if err != nil {
		return nil, err
	}
	if past[0].Kind.IsDaily() == (in.Location != nil) && (in.Location != nil || in.Station != nil) {
		return nil, apperr.Fail(apperr.CodeValidationFailed, "An earthquake or a storm is moved to a location, days to a station.")
	}
	last := slices.MaxFunc(past, func(a, b wire.ObservationInput) int { return a.OccurredAt.Compare(b.OccurredAt) })
	moved := redate(past, run.CreatedAt, "-"+strings.ToLower(run.ID()[len(run.ID())-8:]))
	switch {
	case in.Location != nil:
		moveTo(moved, *in.Location)
	case in.Station != nil:
		for i := range moved {
			moved[i].Station = *in.Station
			moved[i].SourceEventID = dayID(*in.Station, moved[i].OccurredAt)
		}
	}
	result.Source, result.Event, result.SourceEventID, result.Observations = past[0].Source, eventName(past, optional.OrZero(in.Event)), moved[0].SourceEventID, len(moved)
	result.ReplayedFrom, result.OccurredAt = &last.OccurredAt, last.OccurredAt.Add(moved[0].OccurredAt.Sub(past[0].OccurredAt))
	return moved, nil
}

func eventName(past []wire.ObservationInput, asked string) string {
	if asked != "" {
		return asked
	}
	return past[0].SourceEventID
}

// oneEvent returns the observations of the event that is asked for, which must be the only
// one of the file if none is. All days of a file are one event, of one station.
func oneEvent(all []wire.ObservationInput, asked string) ([]wire.ObservationInput, error) {
	var found []wire.ObservationInput
	for _, o := range all {
		name := o.SourceEventID
		if o.Kind.IsDaily() {
			name = o.Station
			asked, _, _ = strings.Cut(asked, "/")
		}
		if asked == "" || name == asked || slices.Contains(o.Aliases, asked) {
			found = append(found, o)
		}
	}
	other := slices.ContainsFunc(found, func(o wire.ObservationInput) bool {
		return o.Kind != found[0].Kind || o.Station != found[0].Station || o.Station == "" && o.SourceEventID != found[0].SourceEventID
	})
	switch {
	case len(found) == 0:
		return nil, apperr.Fail(apperr.CodeValidationFailed, "The file has no such event.")
	case other:
		return nil, apperr.Fail(apperr.CodeValidationFailed, "The file has several events: name one of them as event.")
	case len(found) > occurrence.MaxObservations:
		return nil, apperr.Fail(apperr.CodeValidationFailed, "The event has more than %d observations.", occurrence.MaxObservations)
	}
	return found, nil
}

// redate returns copies of observations under a new name, whose last one happens at a time;
// of days, the last one is the day before. The spacing is kept.
func redate(past []wire.ObservationInput, at time.Time, suffix string) []wire.ObservationInput {
	last := past[0].OccurredAt
	for _, o := range past {
		last = store.LaterTime(last, o.OccurredAt)
	}
	target := at.UTC().Truncate(time.Microsecond)
	if past[0].Kind.IsDaily() {
		target, last = target.Truncate(24*time.Hour).AddDate(0, 0, -1), last.Truncate(24*time.Hour)
	}
	moved := slices.Clone(past)
	for i := range moved {
		o := &moved[i]
		o.ReplayedFrom = new(o.OccurredAt)
		o.OccurredAt = target.Add(o.OccurredAt.Sub(last))
		o.Record, o.Aliases, o.Revision = nil, nil, nil
		if o.Kind.IsDaily() {
			o.SourceEventID = dayID(o.Station, o.OccurredAt)
		} else {
			o.SourceEventID += suffix
		}
	}
	return moved
}

// moveTo moves observations so that the strongest fix, or the only one, is at a place. Each
// keeps its distance and direction from that one.
func moveTo(moved []wire.ObservationInput, place hazard.Point) {
	anchor := *slices.MaxFunc(moved, func(a, b wire.ObservationInput) int { return windOf(a).Compare(windOf(b)) }).Location
	for i := range moved {
		from := *moved[i].Location
		moved[i].Location = new(hazard.Move(place, hazard.Bearing(anchor, from), hazard.Distance(anchor, from)))
	}
}

func dayID(station string, day time.Time) string { return station + "/" + day.Format(time.DateOnly) }

// FindReplayed returns the occurrences of a partner's replayed observations, at most 200.
// System only.
func (s *Service) FindReplayed(ctx context.Context, partner string, in []wire.ObservationInput) ([]string, error) {
	var ids []uuid.UUID
	query := s.DB.NewSelect().Table("observations").ColumnExpr("distinct occurrence_id").
		Where("scope = ?", partner).Where("source = ?", in[0].Source).Where("source_event_id = ?", in[0].SourceEventID).Where("occurrence_id is not null")
	if in[0].Kind.IsDaily() {
		first, last := in[0].OccurredAt, in[0].OccurredAt
		for _, o := range in {
			first, last = store.EarlierTime(first, o.OccurredAt), store.LaterTime(last, o.OccurredAt)
		}
		query = s.DB.NewSelect().Table("occurrences").Column("id").Where("scope = ?", partner).Where("source = ?", in[0].Source).
			Where("station = ?", in[0].Station).Where("occurred_at <= ?", last).Where("last_at >= ?", first).Where("merged_into is null").Limit(200)
	}
	if err := query.Scan(ctx, &ids); err != nil {
		return nil, store.TranslateError(fmt.Errorf("find replayed occurrences: %w", err))
	}
	found := make([]string, len(ids))
	for i, id := range ids {
		found[i] = store.ResourceOccurrence.FormatID(id)
	}
	return found, nil
}
