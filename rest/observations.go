package rest

import (
	"bytes"
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// observationsRequest is one observation, or a batch of them under the member
// observations.
type observationsRequest struct {
	single       wire.ObservationInput
	batch        []wire.ObservationInput
	isBatch      bool // the request is a batch
	isFinalTrack bool // the batch is the final track of a storm
}

type observationBatch struct {
	Observations []wire.ObservationInput `json:"observations" minItems:"1" maxItems:"1000" doc:"Each is checked on its own: a wrong one is rejected, the others are stored."`
	FinalTrack   bool                    `json:"final_track,omitzero"`
}

func (in *observationsRequest) parseBody(body []byte) (faults []apperr.FieldError, err error) {
	if in.isBatch = hasObservationsMember(body); !in.isBatch {
		return parseObject(body, nil, &in.single)
	}
	var batch observationBatch
	faults, err = parseObject(body, nil, &batch)
	in.batch, in.isFinalTrack = batch.Observations, batch.FinalTrack
	return faults, err
}

// hasObservationsMember reports whether the body is an object with the member
// observations. It ignores malformed JSON, which the later parser rejects.
func hasObservationsMember(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if d.PeekKind() != '{' {
		return false
	}
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		if name, err := d.ReadToken(); err != nil || name.String() == "observations" {
			return err == nil
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}

// Schema describes both forms.
func (*observationsRequest) Schema(r huma.Registry) *huma.Schema {
	return namedOneOf(r, "ObservationRequest", schemaOf[wire.ObservationInput](r), schemaOf[observationBatch](r))
}

// observationsAnswer is one record or the results of a batch.
type observationsAnswer struct{ record any }

// MarshalJSONTo writes the record.
func (a observationsAnswer) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, a.record)
}

// Schema describes both forms.
func (observationsAnswer) Schema(r huma.Registry) *huma.Schema {
	return namedOneOf(r, "ObservationAnswer", schemaOf[wire.Observation](r), schemaOf[wire.List[wire.ObservationResult]](r))
}

func (s *server) recordObservations(ctx context.Context, c *requestContext, in observationsRequest) (*observationsAnswer, bool, error) {
	return s.ingestObservations(ctx, c, in, false)
}

func (s *server) recordSandboxObservations(ctx context.Context, c *requestContext, in observationsRequest) (*observationsAnswer, bool, error) {
	return s.ingestObservations(ctx, c, in, true)
}

func (s *server) ingestObservations(ctx context.Context, c *requestContext, in observationsRequest, sandbox bool) (*observationsAnswer, bool, error) {
	if !in.isBatch {
		record, created, err := s.Service.Occurrences.RecordObservation(ctx, c.actor, in.single, sandbox)
		return &observationsAnswer{record}, created, err
	}
	record := s.Service.Occurrences.RecordObservations
	if in.isFinalTrack {
		record = s.Service.Occurrences.RecordFinalTrack
	}
	results, err := record(ctx, c.actor, in.batch, sandbox)
	return &observationsAnswer{wire.List[wire.ObservationResult]{Object: "list", Data: results}}, false, err
}

func (s *server) getObservationRevisions(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.ObservationRevision], error) {
	return s.Service.Occurrences.ListRevisions(ctx, c.actor, c.pathParam("observation_id"), page)
}
