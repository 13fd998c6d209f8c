package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parapet/model/hazard"
	"parapet/model/hazard/sources"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting/product"
)

// measurementMigration is the number of the migration since which every release reads
// products with a measurement.
const measurementMigration = 31

// measurementPointer is the member of a publication that has the measurement.
const measurementPointer = "/document/measurement"

// checkMeasurement returns validation_failed when a document has a measurement that cannot
// be published now. Versions that are published already are not checked again: their
// sources may have been disabled since.
func checkMeasurement(ctx context.Context, tx *store.Tx, d product.Document) error {
	if d.Measurement == nil {
		return nil
	}
	oldest, err := store.ReadOldestRelease(ctx, tx) // each time: the error says how to change it
	if err != nil {
		return err
	}
	if oldest < measurementMigration {
		return apperr.Invalid(apperr.NewFieldError(measurementPointer, "not_allowed",
			fmt.Sprintf("Releases that cannot read a measurement may run on this database. When none does, an operator sets schema_compatibility.minimum_binary to %d.", measurementMigration)))
	}
	fields, err := checkSources(ctx, tx, d)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		return apperr.Invalid(fields...)
	}
	return nil
}

// measurementFault returns the sentence of a publication that failed for its measurement
// only; empty for other errors and none.
func measurementFault(err error) string {
	refusal := new(apperr.Error)
	if !errors.As(err, &refusal) || refusal.Code != apperr.CodeValidationFailed || len(refusal.Fields) == 0 {
		return ""
	}
	for _, field := range refusal.Fields {
		if !strings.HasPrefix(field.Pointer, measurementPointer) {
			return ""
		}
	}
	return refusal.Fields[0].Detail
}

// checkSources returns the sources of a document's measurement that are not registered, or
// not for its peril and stage.
func checkSources(ctx context.Context, tx *store.Tx, d product.Document) (fields []apperr.FieldError, err error) {
	if len(d.Measurement.Sources) > 1 && d.Trigger.IsAtStation() {
		return []apperr.FieldError{apperr.NewFieldError("/document/measurement/sources", "length", "Name one source: the days of a station are measured by one.")}, nil
	}
	names := make([]string, 0, len(d.Measurement.Sources))
	for _, s := range d.Measurement.Sources {
		names = append(names, s.Source)
	}
	registry, err := sources.Load(ctx, tx, names, tx.Store.Development)
	if err != nil {
		return nil, err
	}
	for i, s := range d.Measurement.Sources {
		if fault := registry.Require(s.Source, []hazard.Peril{d.Trigger.Kind}, s.Stage, nil); fault != nil {
			fault.Pointer = fmt.Sprintf("/document/measurement/sources/%d%s", i, strings.Replace(fault.Pointer, "/kind", "/source", 1))
			fields = append(fields, *fault)
		}
	}
	return fields, nil
}
