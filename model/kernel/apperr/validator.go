package apperr

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

// FieldErrorsFrom returns the errors of members that an API layer could not parse, nil
// without any.
func FieldErrorsFrom(ctx context.Context) []FieldError {
	faults, _ := ctx.Value(fieldErrorsKey{}).([]FieldError)
	return faults
}

// Validator collects the field errors of one request. A member that could not be parsed
// is not checked again.
type Validator struct {
	Unparsed    []FieldError
	FieldErrors []FieldError
}

// NewValidator returns a validator that starts with the errors of unparsed members.
func NewValidator(ctx context.Context) *Validator { return &Validator{Unparsed: FieldErrorsFrom(ctx)} }

// Require adds a field error unless ok.
func (v *Validator) Require(ok bool, pointer, code, detail string) {
	if !ok && v.IsParsed(pointer) {
		v.FieldErrors = append(v.FieldErrors, NewFieldError(pointer, code, detail))
	}
}

// IsParsed reports whether all these members were parsed, so that a rule over them can
// be checked.
func (v *Validator) IsParsed(pointers ...string) bool {
	for _, pointer := range pointers {
		for _, fault := range v.Unparsed {
			if isWithinPointer(pointer, fault.Pointer) {
				return false
			}
		}
	}
	return true
}

// Err returns all field errors, nil if there are none.
func (v *Validator) Err() error {
	if all := v.AllErrors(); len(all) > 0 {
		return Invalid(all...)
	}
	return nil
}

// AllErrors returns the parse errors and the rules' errors. If the parse errors were
// cut off at their limit, a rule may have checked an unparsed member.
func (v *Validator) AllErrors() []FieldError {
	if len(v.Unparsed) > MaxFieldErrors {
		return v.Unparsed
	}
	return append(v.Unparsed[:len(v.Unparsed):len(v.Unparsed)], v.FieldErrors...)
}

// SplitElements moves the errors of a list's elements out of the validator: one slice
// per element, with pointers relative to it.
func (v *Validator) SplitElements(list string, length int) [][]FieldError {
	each := make([][]FieldError, length)
	var others []FieldError
	for _, fault := range v.Unparsed {
		path, inside := strings.CutPrefix(fault.Pointer, list+"/")
		number, _, _ := strings.Cut(path, "/")
		i, err := strconv.ParseUint(number, 10, 31)
		if !inside || err != nil || int(i) >= length {
			others = append(others, fault)
			continue
		}
		fault.Pointer = path[len(number):]
		each[i] = append(each[i], fault)
	}
	v.Unparsed = others
	return each
}
