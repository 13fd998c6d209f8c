package rest

import (
	"bytes"
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model"
	"parapet/model/wire"
)

// observationsRequest is one observation, or a batch of them under the member
// observations.
type observationsRequest struct {
	one   wire.ObservationInput
	batch []wire.ObservationInput
	many  bool // whether it is a batch
	final bool // whether the batch is the final track of a storm
}

type observationBatch struct {
	Observations []wire.ObservationInput `json:"observations" minItems:"1" maxItems:"1000" doc:"Each is judged alone: a wrong one is rejected, the others are kept."`
	FinalTrack   bool                    `json:"final_track,omitzero"`
}

func (in *observationsRequest) parse(body []byte) (faults []model.FieldError, err error) {
	if in.many = batched(body); !in.many {
		return parseInto(body, nil, &in.one)
	}
	var batch observationBatch
	faults, err = parseInto(body, nil, &batch)
	in.batch, in.final = batch.Observations, batch.FinalTrack
	return faults, err
}

// batched tells whether the body is an object with the member observations. A
// body that is not well formed is refused by whoever reads it next.
func batched(body []byte) bool {
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

// Schema says that either form is good.
func (*observationsRequest) Schema(r huma.Registry) *huma.Schema {
	return either(r, "ObservationRequest", schemaOf[wire.ObservationInput](r), schemaOf[observationBatch](r))
}

// observationsAnswer is one record, or the results of a batch.
type observationsAnswer struct{ said any }

// MarshalJSONTo writes what it holds.
func (a observationsAnswer) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, a.said)
}

// Schema says that either form can come.
func (observationsAnswer) Schema(r huma.Registry) *huma.Schema {
	return either(r, "ObservationAnswer", schemaOf[wire.Observation](r), schemaOf[wire.List[wire.ObservationResult]](r))
}

func (d *door) recordObservations(ctx context.Context, c *call, in observationsRequest) (*observationsAnswer, bool, error) {
	return d.observed(ctx, c, in, false)
}

func (d *door) rehearseObservations(ctx context.Context, c *call, in observationsRequest) (*observationsAnswer, bool, error) {
	return d.observed(ctx, c, in, true)
}

func (d *door) observed(ctx context.Context, c *call, in observationsRequest, sandbox bool) (*observationsAnswer, bool, error) {
	if !in.many {
		record, created, err := d.Service.RecordObservation(ctx, c.actor, in.one, sandbox)
		return &observationsAnswer{record}, created, err
	}
	record := d.Service.RecordObservations
	if in.final {
		record = d.Service.RecordFinalTrack
	}
	results, err := record(ctx, c.actor, in.batch, sandbox)
	return &observationsAnswer{wire.List[wire.ObservationResult]{Object: "list", Data: results}}, false, err
}
