package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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
	batch []batchedObservation // nil for a single one
}

type observationBatch struct {
	Observations []batchedObservation `json:"observations" minItems:"1" maxItems:"1000" doc:"Each is judged alone: a wrong one is rejected, the others are kept."`
}

// batchedObservation is judged alone: its mistakes reject it, not the batch.
type batchedObservation struct {
	wire.ObservationInput

	wrong []model.FieldError
}

// Schema is an observation's: being judged alone shows in the answer only.
func (*batchedObservation) Schema(r huma.Registry) *huma.Schema {
	return schemaOf[wire.ObservationInput](r)
}

func (o *batchedObservation) judge(wrong []model.FieldError) { o.wrong = wrong }

func (in *observationsRequest) parse(body []byte) error {
	if !batched(body) {
		return parseInto(body, &in.one)
	}
	var batch observationBatch
	err := parseInto(body, &batch)
	in.batch = batch.Observations
	return err
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
	return oneOf(schemaOf[wire.ObservationInput](r), schemaOf[observationBatch](r))
}

// observationsAnswer is one record, or the results of a batch.
type observationsAnswer struct{ said any }

// MarshalJSONTo writes what it holds.
func (a observationsAnswer) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, a.said)
}

// Schema says that either form can come.
func (observationsAnswer) Schema(r huma.Registry) *huma.Schema {
	return oneOf(schemaOf[wire.Observation](r), schemaOf[wire.List[wire.ObservationResult]](r))
}

func (d *door) recordObservations(ctx context.Context, c *call, in observationsRequest) (*observationsAnswer, bool, error) {
	return d.observed(ctx, c, in, false)
}

func (d *door) rehearseObservations(ctx context.Context, c *call, in observationsRequest) (*observationsAnswer, bool, error) {
	return d.observed(ctx, c, in, true)
}

func (d *door) observed(ctx context.Context, c *call, in observationsRequest, sandbox bool) (*observationsAnswer, bool, error) {
	if in.batch != nil {
		list, err := d.observedBatch(ctx, c, in.batch, sandbox)
		return &observationsAnswer{list}, false, err
	}
	record, created, err := d.Service.RecordObservation(ctx, c.actor, in.one, sandbox)
	return &observationsAnswer{record}, created, err
}

// observedBatch sends an observation that could not be read to the domain as an
// empty one, which is rejected, so that every index stays what it was; and then
// says what was really wrong with it. A replayed answer is the domain's, and is
// told the same again.
func (d *door) observedBatch(ctx context.Context, c *call, batch []batchedObservation, sandbox bool) (*wire.List[wire.ObservationResult], error) {
	inputs := make([]wire.ObservationInput, len(batch))
	for i := range batch {
		if len(batch[i].wrong) == 0 {
			inputs[i] = batch[i].ObservationInput
		}
	}
	list := &wire.List[wire.ObservationResult]{Object: "list"}
	var err error
	list.Data, err = d.Service.RecordObservations(ctx, c.actor, inputs, sandbox)
	first := (*model.Replay)(nil)
	if errors.As(err, &first) {
		if err := wire.Decode(first.Body, list); err != nil {
			return nil, fmt.Errorf("read the first answer: %w", err)
		}
	}
	for i := range list.Data {
		if wrong := batch[i].wrong; len(wrong) > 0 {
			list.Data[i].Errors = wrong
		}
	}
	if first == nil {
		return list, err
	}
	if first.Body, err = wire.Encode(list); err != nil {
		return nil, err
	}
	return nil, first
}
