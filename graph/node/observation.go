package node

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parapet/graph/scalar"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// RecordObservationsInput is a batch of observations.
type RecordObservationsInput struct {
	Observations     []ObservationInput
	FinalTrack       bool
	ClientMutationID *string
}

// ObservationInput is a source's observation, with its measures as a list.
type ObservationInput struct {
	wire.ObservationInput
	Station  *string
	Measures []MeasuredInput
}

// MeasuredInput is one measured value.
type MeasuredInput struct {
	wire.Measure
	Name string
}

// RecordObservationsPayload holds the results of the batch.
type RecordObservationsPayload struct {
	Results          []wire.ObservationResult
	ClientMutationID *string
}

// RecordObservations records observations of a source.
func (r *Reader) RecordObservations(ctx context.Context, in RecordObservationsInput) (*RecordObservationsPayload, error) {
	return r.ingestObservations(ctx, in, false)
}

// RehearseObservations records a partner's hypothetical observations, for its own sandbox
// policies.
func (r *Reader) RehearseObservations(ctx context.Context, in RecordObservationsInput) (*RecordObservationsPayload, error) {
	return r.ingestObservations(ctx, in, true)
}

func (r *Reader) ingestObservations(ctx context.Context, in RecordObservationsInput, sandbox bool) (*RecordObservationsPayload, error) {
	batch, err := in.toModel()
	if err != nil {
		return nil, err
	}
	record := r.Service.Occurrences.RecordObservations
	if in.FinalTrack {
		record = r.Service.Occurrences.RecordFinalTrack
	}
	list, err := runMutation(ctx, r, in.ClientMutationID, observationBatch{batch, in.FinalTrack},
		func(ctx context.Context, actor actor.Actor, in observationBatch) (*wire.List[wire.ObservationResult], error) {
			results, err := record(ctx, actor, in.Observations, sandbox)
			return &wire.List[wire.ObservationResult]{Data: results}, err
		})
	if err != nil {
		return nil, err
	}
	for i := range list.Data {
		for k := range list.Data[i].Errors {
			fault := &list.Data[i].Errors[k]
			fault.Pointer = in.Observations[list.Data[i].Index].toInputPointer(fault.Pointer)
		}
	}
	return &RecordObservationsPayload{list.Data, in.ClientMutationID}, nil
}

// observationBatch is the identity of a request for idempotency.
type observationBatch struct {
	Observations []wire.ObservationInput
	FinalTrack   bool
}

// toInputPointer converts a pointer into a REST observation to one into the input:
// /measures/wind/unit becomes the unit of each measure named wind. A pointer to a missing
// measure becomes a pointer to the list of measures.
func (in *ObservationInput) toInputPointer(pointer string) string {
	segments := strings.Split(pointer, "/")
	for i, segment := range segments {
		segments[i] = scalar.FieldName(segment)
	}
	if len(segments) > 2 && segments[1] == "measures" {
		name := pointer[len("/measures/"):]
		at := slices.IndexFunc(in.Measures, func(m MeasuredInput) bool { return m.Name == name || strings.HasPrefix(name, m.Name+"/") })
		if at < 0 {
			return "/measures"
		}
		segments[2] = strconv.Itoa(at)
	}
	return strings.Join(segments, "/")
}

// toModel converts the input to the REST form, in which each measure name is unique.
func (in *RecordObservationsInput) toModel() ([]wire.ObservationInput, error) {
	batch := make([]wire.ObservationInput, len(in.Observations))
	var twice []apperr.FieldError
	for i, each := range in.Observations {
		batch[i] = each.ObservationInput
		batch[i].Measures = make(map[string]wire.Measure, len(each.Measures))
		batch[i].Station = optional.OrZero(each.Station)
		for k, measured := range each.Measures {
			if _, known := batch[i].Measures[measured.Name]; known {
				at := fmt.Sprintf("/observations/%d/measures/%d/name", i, k)
				twice = append(twice, apperr.FieldError{Pointer: at, Code: "value", Detail: "Give each measure once."})
			}
			batch[i].Measures[measured.Name] = measured.Measure
		}
	}
	if len(twice) > 0 {
		return nil, apperr.Invalid(twice...)
	}
	return batch, nil
}
