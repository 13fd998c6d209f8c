package model

import (
	"context"
	"strconv"
	"strings"
)

type fieldErrorsKey struct{}

// WithFieldErrors passes an operation the members of the request that could not be
// parsed: missing, null or of another type. The operation returns them together with
// its own field errors and changes nothing.
func WithFieldErrors(ctx context.Context, faults ...FieldError) context.Context {
	return context.WithValue(ctx, fieldErrorsKey{}, faults)
}

func fieldErrorsFrom(ctx context.Context) []FieldError {
	faults, _ := ctx.Value(fieldErrorsKey{}).([]FieldError)
	return faults
}

// validator collects the field errors of one request. A member that could not be parsed
// is not checked again.
type validator struct {
	unparsed    []FieldError
	fieldErrors []FieldError
}

func newValidator(ctx context.Context) *validator { return &validator{unparsed: fieldErrorsFrom(ctx)} }

// require adds a field error unless ok.
func (v *validator) require(ok bool, pointer, code, detail string) {
	if !ok && v.isParsed(pointer) {
		v.fieldErrors = append(v.fieldErrors, newFieldError(pointer, code, detail))
	}
}

// isParsed reports whether all these members were parsed, so that a rule over them can
// be checked.
func (v *validator) isParsed(pointers ...string) bool {
	for _, pointer := range pointers {
		for _, fault := range v.unparsed {
			if isWithinPointer(pointer, fault.Pointer) {
				return false
			}
		}
	}
	return true
}

// err returns all field errors, nil if there are none.
func (v *validator) err() error {
	if all := v.allErrors(); len(all) > 0 {
		return Invalid(all...)
	}
	return nil
}

// allErrors returns the parse errors and the rules' errors. If the parse errors were
// cut off at their limit, a rule may have checked an unparsed member.
func (v *validator) allErrors() []FieldError {
	if len(v.unparsed) > MaxFieldErrors {
		return v.unparsed
	}
	return append(v.unparsed[:len(v.unparsed):len(v.unparsed)], v.fieldErrors...)
}

// splitElements moves the errors of a list's elements out of the validator: one slice
// per element, with pointers relative to it.
func (v *validator) splitElements(list string, length int) [][]FieldError {
	each := make([][]FieldError, length)
	var others []FieldError
	for _, fault := range v.unparsed {
		path, inside := strings.CutPrefix(fault.Pointer, list+"/")
		number, _, _ := strings.Cut(path, "/")
		i, err := strconv.Atoi(number)
		if !inside || err != nil || i >= length {
			others = append(others, fault)
			continue
		}
		fault.Pointer = path[len(number):]
		each[i] = append(each[i], fault)
	}
	v.unparsed = others
	return each
}
