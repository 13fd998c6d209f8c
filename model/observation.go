package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// observationRow is one measurement as its source tells it now; what it told
// before is in observation_revisions.
type observationRow struct {
	bun.BaseModel `bun:"table:observations,alias:o"`

	ID            uuid.UUID `bun:",pk,type:uuid"`
	Scope         string
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Source        string
	NaturalKey    string
	SourceEventID string
	Kind          hazard.Kind
	OccurredAt    time.Time
	Stage         string
	Revision      *int64
	Body          wire.ObservationInput `bun:"type:json"`
	Digest        []byte
	Station       *string
	Day           *time.Time `bun:"type:date"`
	OccurrenceID  *uuid.UUID `bun:"type:uuid"`
}

type revisionRow struct {
	bun.BaseModel `bun:"table:observation_revisions"`

	ObservationID uuid.UUID             `bun:",pk,type:uuid"`
	Version       int64                 `bun:",pk"`
	Body          wire.ObservationInput `bun:"type:json"`
	RecordedAt    time.Time
}

// RecordingResult is what became of one observation.
type RecordingResult = string

// The results of recording one observation.
const (
	ResultCreated   RecordingResult = "created"
	ResultRevised   RecordingResult = "revised"
	ResultUnchanged RecordingResult = "unchanged"
	ResultRejected  RecordingResult = "rejected"
)

// MaxObservations is the largest batch.
const MaxObservations = 1000

// RecordObservations keeps what a source measured and wakes the matching. Each
// observation is judged alone: a wrong one is rejected with its errors, the
// others are kept. Recording the same again changes nothing. With sandbox, the
// observations are seen by the calling partner's own policies only, and a station's day
// that is still to come moves the development clock to its end.
func (s *Service) RecordObservations(ctx context.Context, actor Actor, in []wire.ObservationInput, sandbox bool) ([]wire.ObservationResult, error) {
	return s.recordBatch(ctx, actor, in, sandbox, nil)
}

// recordBatch keeps observations; with a check for tracks, those of whole storms.
func (s *Service) recordBatch(ctx context.Context, actor Actor, in []wire.ObservationInput, sandbox bool, tracks trackCheck) ([]wire.ObservationResult, error) {
	scope, err := s.observationScope(ctx, actor, sandbox)
	if err != nil {
		return nil, err
	}
	ctx, faults, err := unread(ctx, in, tracks)
	if err != nil {
		return nil, err
	}
	var results []wire.ObservationResult
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		r := recording{unit: u, scope: scope, rehearsed: sandbox, results: make([]wire.ObservationResult, len(in)), wholeStorms: tracks != nil}
		if err := r.keep(ctx, in, faults); err != nil {
			return err
		}
		results = r.results
		list := wire.List[wire.ObservationResult]{Object: "list", Data: results}
		return u.answered(statusOK, "", list)
	})
	return results, err
}

// unread are the faults of each observation of a batch. They refuse nothing else,
// so that they leave the context; the rest of the request must be right.
func unread(ctx context.Context, in []wire.ObservationInput, tracks trackCheck) (context.Context, [][]FieldError, error) {
	c := checking(ctx)
	c.that(len(in) > 0 && len(in) <= MaxObservations, "/observations", "length", fmt.Sprintf("Send 1 to %d observations.", MaxObservations))
	faults := c.elements("/observations", len(in))
	if read := withoutFaults(in, faults); tracks != nil && len(read) > 0 {
		tracks(c, read)
	}
	return WithFaults(ctx), faults, c.refusal()
}

// withoutFaults are the observations of a batch that were read in full.
func withoutFaults(in []wire.ObservationInput, faults [][]FieldError) []wire.ObservationInput {
	var read []wire.ObservationInput
	for i := range in {
		if len(faults[i]) == 0 {
			read = append(read, in[i])
		}
	}
	return read
}

// RecordObservation keeps a single observation and returns its record; created
// is false when nothing was new. A source's token that speaks for another source
// is refused with insufficient_scope: here there is nothing else to keep.
func (s *Service) RecordObservation(ctx context.Context, actor Actor, in wire.ObservationInput, sandbox bool) (record *wire.Observation, created bool, err error) {
	scope, err := s.observationScope(ctx, actor, sandbox)
	if err != nil {
		return nil, false, err
	}
	if refusal := actor.reports(in.Source); refusal != nil {
		return nil, false, refusal
	}
	if faults := faultsIn(ctx); len(faults) > 0 {
		now, err := s.now(ctx)
		if err != nil {
			return nil, false, explain(fmt.Errorf("read clock: %w", err))
		}
		return nil, false, Invalid(checkObservation(actor, &in, now, faults)...)
	}
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		r := recording{unit: u, scope: scope, rehearsed: sandbox, results: make([]wire.ObservationResult, 1)}
		if err := r.keep(ctx, []wire.ObservationInput{in}, make([][]FieldError, 1)); err != nil {
			return err
		}
		result := r.results[0]
		if result.Result == ResultRejected {
			return rejection(result.Errors)
		}
		id, err := nounObservation.parse(*result.ID)
		if err != nil {
			return err
		}
		row := new(observationRow)
		if err := u.NewSelect().Model(row).Where("id = ?", id).Scan(ctx); err != nil {
			return fmt.Errorf("read observation: %w", err)
		}
		record, created = row.public(), result.Result != ResultUnchanged
		status := statusOK
		if created {
			status = statusCreated
		}
		return u.answered(status, record.ID, record)
	})
	return record, created, err
}

// rejection is why a single observation was not kept.
func rejection(errors []FieldError) error {
	if len(errors) == 1 && errors[0].Code == string(CodeNotFound) {
		return Fail(CodeNotFound, "%s", errors[0].Detail)
	}
	return Invalid(errors...)
}

// observationScope is who will see what is recorded: everybody's policies, or
// the rehearsing partner's own.
func (s *Service) observationScope(ctx context.Context, actor Actor, sandbox bool) (string, error) {
	if !sandbox {
		return "", s.authorize(ctx, actor, ScopeObservationsWrite)
	}
	if !s.development {
		return "", Fail(CodeNotFound, "There is no sandbox here.")
	}
	return actor.Partner, s.authorize(ctx, actor, ScopeClaimsWrite)
}

// naturalKey is what makes two observations the same one: a quake's id; a
// storm's id and the time of the fix; a station and its day. Ids of different
// kinds never meet.
func naturalKey(in *wire.ObservationInput) string {
	key := string(in.Kind) + ":"
	switch in.Kind {
	case hazard.StormFix:
		return key + in.SourceEventID + "@" + in.OccurredAt.UTC().Format(time.RFC3339Nano)
	case hazard.StationDay:
		return key + in.Station + "/" + in.OccurredAt.UTC().Format(time.DateOnly)
	case hazard.Earthquake:
	}
	return key + in.SourceEventID
}

func newObservation(scope string, in wire.ObservationInput, now time.Time) (*observationRow, error) {
	in.OccurredAt = in.OccurredAt.UTC().Truncate(time.Microsecond)
	text, err := wire.Encode(in)
	if err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	digest := sha256.Sum256(text)
	row := &observationRow{
		ID: newID(), Scope: scope, Version: 1, CreatedAt: now, UpdatedAt: now,
		Source: in.Source, NaturalKey: naturalKey(&in), SourceEventID: in.SourceEventID,
		Kind: in.Kind, OccurredAt: in.OccurredAt, Stage: string(in.Stage), Revision: in.Revision,
		Body: in, Digest: digest[:],
	}
	if in.Kind == hazard.StationDay {
		day := in.OccurredAt.Truncate(24 * time.Hour)
		row.Station, row.Day = &in.Station, &day
	}
	return row, nil
}

// news tells whether what a source says now replaces what it said before. An
// older revision is late mail, not news. A retracted reading comes back with a newer
// revision, or, from a source without revisions, with other values: a file that is
// read again must not undo a retraction.
func (r *observationRow) news(said *observationRow) bool {
	revised := r.Revision != nil && said.Revision != nil
	switch {
	case revised && *r.Revision < *said.Revision:
		return false
	case r.isRetracted() && said.isRetracted():
		return r.Revision != nil && (said.Revision == nil || *r.Revision > *said.Revision)
	case r.isRetracted():
		return true
	case said.isRetracted() && revised:
		return *r.Revision > *said.Revision
	default:
		return !bytes.Equal(r.Digest, said.Digest)
	}
}

// isRetracted tells whether the source withdrew the reading.
func (r *observationRow) isRetracted() bool { return r.Stage == string(trigger.Retracted) }

// retract makes the row what was reported last, withdrawn. The digest stays that of
// the report, so that its repetition is recognised.
func (r *observationRow) retract(reported *observationRow) {
	body := reported.Body
	body.Stage = trigger.Retracted
	if r.Revision != nil {
		body.Revision = r.Revision
	}
	r.Body, r.Stage, r.Revision, r.Digest = body, string(body.Stage), body.Revision, reported.Digest
	r.SourceEventID, r.OccurredAt, r.Station, r.Day = reported.SourceEventID, reported.OccurredAt, reported.Station, reported.Day
}

func (r *observationRow) public() *wire.Observation {
	return &wire.Observation{
		Header: wire.Header{
			ID: nounObservation.id(r.ID), Object: nounObservation.name,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		},
		ObservationInput: r.Body, OccurrenceID: nounOccurrence.optional(r.OccurrenceID),
	}
}
