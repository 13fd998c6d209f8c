package occurrence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// ObservationRow is one measurement as its source reports it now; observation_revisions
// has the earlier reports.
type ObservationRow struct {
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

// RecordingResult is the result of recording one observation.
type RecordingResult = string

// These are the results of recording one observation.
const (
	ResultCreated   RecordingResult = "created"
	ResultRevised   RecordingResult = "revised"
	ResultUnchanged RecordingResult = "unchanged"
	ResultRejected  RecordingResult = "rejected"
)

// MaxObservations is the maximum size of a batch.
const MaxObservations = 1000

// RecordObservations stores a source's observations and enqueues their evaluation. Each
// observation is validated separately: an invalid one is rejected with its errors, the
// others are stored. Recording the same observation again changes nothing. With sandbox,
// only the calling partner's own policies see the observations, and a station day in the
// future moves the development clock to its end.
func (s *Service) RecordObservations(ctx context.Context, actor actor.Actor, in []wire.ObservationInput, sandbox bool) ([]wire.ObservationResult, error) {
	return s.ingestBatch(ctx, actor, in, sandbox, nil)
}

// ingestBatch records observations; with tracks set, they are whole storms.
func (s *Service) ingestBatch(ctx context.Context, actor actor.Actor, in []wire.ObservationInput, sandbox bool, tracks trackValidation) ([]wire.ObservationResult, error) {
	scope, err := s.observationScope(ctx, actor, sandbox)
	if err != nil {
		return nil, err
	}
	ctx, faults, err := unparsedByObservation(ctx, in, tracks)
	if err != nil {
		return nil, err
	}
	var results []wire.ObservationResult
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		r := ingestion{Tx: tx, scope: scope, sandbox: sandbox, results: make([]wire.ObservationResult, len(in)), wholeStorms: tracks != nil}
		if err := r.ingest(ctx, in, faults); err != nil {
			return err
		}
		results = r.results
		list := wire.List[wire.ObservationResult]{Object: "list", Data: results}
		return tx.StoreResponse(store.StatusOK, "", list)
	})
	return results, err
}

// unparsedByObservation returns the parse errors of each observation of a batch. They are
// removed from the context, because they reject only their own observation; the rest of
// the request must be valid.
func unparsedByObservation(ctx context.Context, in []wire.ObservationInput, tracks trackValidation) (context.Context, [][]apperr.FieldError, error) {
	v := apperr.NewValidator(ctx)
	v.Require(len(in) > 0 && len(in) <= MaxObservations, "/observations", "length", fmt.Sprintf("Send 1 to %d observations.", MaxObservations))
	faults := v.SplitElements("/observations", len(in))
	if read := fullyParsed(in, faults); tracks != nil && len(read) > 0 {
		tracks(v, read)
	}
	return apperr.WithFieldErrors(ctx), faults, v.Err()
}

// fullyParsed returns the observations of a batch without parse errors.
func fullyParsed(in []wire.ObservationInput, faults [][]apperr.FieldError) []wire.ObservationInput {
	var read []wire.ObservationInput
	for i := range in {
		if len(faults[i]) == 0 {
			read = append(read, in[i])
		}
	}
	return read
}

// RecordObservation records a single observation and returns its record; created is false
// when nothing was new. A token of another source is rejected with insufficient_scope,
// because there is no other observation to store.
func (s *Service) RecordObservation(ctx context.Context, actor actor.Actor, in wire.ObservationInput, sandbox bool) (record *wire.Observation, created bool, err error) {
	scope, err := s.observationScope(ctx, actor, sandbox)
	if err != nil {
		return nil, false, err
	}
	if refusal := checkSource(actor, in.Source); refusal != nil {
		return nil, false, refusal
	}
	if faults := apperr.FieldErrorsFrom(ctx); len(faults) > 0 {
		now, err := s.ReadClock(ctx)
		if err != nil {
			return nil, false, store.TranslateError(fmt.Errorf("read clock: %w", err))
		}
		return nil, false, apperr.Invalid(CheckObservation(actor, &in, now, faults)...)
	}
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		r := ingestion{Tx: tx, scope: scope, sandbox: sandbox, results: make([]wire.ObservationResult, 1)}
		if err := r.ingest(ctx, []wire.ObservationInput{in}, make([][]apperr.FieldError, 1)); err != nil {
			return err
		}
		result := r.results[0]
		if result.Result == ResultRejected {
			return rejectionError(result.Errors)
		}
		id, err := store.ResourceObservation.ParseID(*result.ID)
		if err != nil {
			return err
		}
		row := new(ObservationRow)
		if err := tx.NewSelect().Model(row).Where("id = ?", id).Scan(ctx); err != nil {
			return fmt.Errorf("read observation: %w", err)
		}
		record, created = row.toRecord(), result.Result != ResultUnchanged
		status := store.StatusOK
		if created {
			status = store.StatusCreated
		}
		return tx.StoreResponse(status, record.ID, record)
	})
	return record, created, err
}

// rejectionError returns why a single observation was rejected.
func rejectionError(errors []apperr.FieldError) error {
	if len(errors) == 1 && errors[0].Code == string(apperr.CodeNotFound) {
		return apperr.Fail(apperr.CodeNotFound, "%s", errors[0].Detail)
	}
	return apperr.Invalid(errors...)
}

// observationScope returns the scope of the recorded observations: "" for all policies,
// or the partner whose sandbox they belong to.
func (s *Service) observationScope(ctx context.Context, caller actor.Actor, sandbox bool) (string, error) {
	if !sandbox {
		return "", s.Authorize(ctx, caller, actor.ScopeObservationsWrite)
	}
	if !s.Development {
		return "", apperr.Fail(apperr.CodeNotFound, "This server has no sandbox.")
	}
	return caller.Partner, s.Authorize(ctx, caller, actor.ScopeClaimsWrite)
}

// naturalKey identifies an observation of a source. Keys of different kinds never collide.
func naturalKey(in *wire.ObservationInput) string {
	return string(in.Kind) + ":" + in.Kind.Rules().NaturalKey(in.SourceEventID, in.Station, in.OccurredAt)
}

// NewObservation returns the row of an observation in a scope: a partner or, for shared ones, empty.
func NewObservation(scope string, in wire.ObservationInput, now time.Time) (*ObservationRow, error) {
	in.OccurredAt = in.OccurredAt.UTC().Truncate(time.Microsecond)
	text, err := wire.Encode(in)
	if err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	digest := sha256.Sum256(text)
	row := &ObservationRow{
		ID: store.NewID(), Scope: scope, Version: 1, CreatedAt: now, UpdatedAt: now,
		Source: in.Source, NaturalKey: naturalKey(&in), SourceEventID: in.SourceEventID,
		Kind: in.Kind, OccurredAt: in.OccurredAt, Stage: string(in.Stage), Revision: in.Revision,
		Body: in, Digest: digest[:],
	}
	if in.Kind.IsDaily() {
		day := in.OccurredAt.Truncate(24 * time.Hour)
		row.Station, row.Day = &in.Station, &day
	}
	return row, nil
}

// supersedes reports whether a source's new report replaces its earlier one. An older
// revision does not. A retracted reading returns with a newer revision or, from a source
// without revisions, with other values: importing the same file again must not undo a
// retraction.
func (r *ObservationRow) supersedes(previous *ObservationRow) bool {
	revised := r.Revision != nil && previous.Revision != nil
	switch {
	case revised && *r.Revision < *previous.Revision:
		return false
	case r.isRetracted() && previous.isRetracted():
		return r.Revision != nil && (previous.Revision == nil || *r.Revision > *previous.Revision)
	case r.isRetracted():
		return true
	case previous.isRetracted() && r.Scope != "": // a sandbox that was reset rehearses the same again
		return true
	case previous.isRetracted() && revised:
		return *r.Revision > *previous.Revision
	default:
		return !bytes.Equal(r.Digest, previous.Digest)
	}
}

// isRetracted reports whether the source retracted the reading.
func (r *ObservationRow) isRetracted() bool { return r.Stage == string(trigger.Retracted) }

// retract turns the row into the retracted form of the last report. It keeps the digest
// of that report, so that a repetition of the report is recognised.
func (r *ObservationRow) retract(reported *ObservationRow) {
	body := reported.Body
	body.Stage = trigger.Retracted
	if r.Revision != nil {
		body.Revision = r.Revision
	}
	r.Body, r.Stage, r.Revision, r.Digest = body, string(body.Stage), body.Revision, reported.Digest
	r.SourceEventID, r.OccurredAt, r.Station, r.Day = reported.SourceEventID, reported.OccurredAt, reported.Station, reported.Day
}

func (r *ObservationRow) toRecord() *wire.Observation {
	return &wire.Observation{
		Header: wire.Header{
			ID: store.ResourceObservation.FormatID(r.ID), Object: store.ResourceObservation.Name,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		},
		ObservationInput: r.Body, OccurrenceID: store.ResourceOccurrence.FormatOptionalID(r.OccurrenceID),
	}
}
