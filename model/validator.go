package model

import (
	"context"
	"strconv"
	"strings"
)

type fieldErrorsKey struct{}

// WithFieldErrors tells an operation what its door could not read of the request:
// members that are missing, null or of another type. The operation names them
// together with everything its own rules find, and does nothing.
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

// require refuses a member unless ok.
func (v *validator) require(ok bool, pointer, code, detail string) {
	if !ok && v.isParsed(pointer) {
		v.fieldErrors = append(v.fieldErrors, newFieldError(pointer, code, detail))
	}
}

// isParsed tells whether all these members were read, so that a rule over them
// can be judged.
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

// err names everything that is wrong, nil when nothing is.
func (v *validator) err() error {
	if all := v.allErrors(); len(all) > 0 {
		return Invalid(all...)
	}
	return nil
}

// allErrors is what was not read and what the rules found. Where reading stopped
// counting, a rule may have judged what was not read.
func (v *validator) allErrors() []FieldError {
	if len(v.unparsed) > MaxFieldErrors {
		return v.unparsed
	}
	return append(v.unparsed[:len(v.unparsed):len(v.unparsed)], v.fieldErrors...)
}

// splitElements takes the faults of a list's elements out of the check: for each
// element its own, with pointers relative to it.
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
