package model

import (
	"context"
	"strconv"
	"strings"
)

type faultsKey struct{}

// WithFaults tells an operation what its door could not read of the request:
// members that are missing, null or of another type. The operation names them
// together with everything its own rules find, and does nothing.
func WithFaults(ctx context.Context, faults ...FieldError) context.Context {
	return context.WithValue(ctx, faultsKey{}, faults)
}

func faultsIn(ctx context.Context) []FieldError {
	faults, _ := ctx.Value(faultsKey{}).([]FieldError)
	return faults
}

// fieldCheck collects what is wrong with one request. A member that could not be
// read is not judged again: its value is nobody's, and one fault is enough.
type fieldCheck struct {
	unread []FieldError
	fields []FieldError
}

func checking(ctx context.Context) *fieldCheck { return &fieldCheck{unread: faultsIn(ctx)} }

// that refuses a member unless ok.
func (c *fieldCheck) that(ok bool, pointer, code, detail string) {
	if !ok && c.readable(pointer) {
		c.fields = append(c.fields, wrong(pointer, code, detail))
	}
}

// readable tells whether all these members were read, so that a rule over them
// can be judged.
func (c *fieldCheck) readable(pointers ...string) bool {
	for _, pointer := range pointers {
		for _, fault := range c.unread {
			if leadsInto(pointer, fault.Pointer) {
				return false
			}
		}
	}
	return true
}

// refusal names everything that is wrong, nil when nothing is.
func (c *fieldCheck) refusal() error {
	if all := c.all(); len(all) > 0 {
		return Invalid(all...)
	}
	return nil
}

// all is what was not read and what the rules found. Where reading stopped
// counting, a rule may have judged what was not read.
func (c *fieldCheck) all() []FieldError {
	if len(c.unread) > MaxFields {
		return c.unread
	}
	return append(c.unread[:len(c.unread):len(c.unread)], c.fields...)
}

// elements takes the faults of a list's elements out of the check: for each
// element its own, with pointers relative to it.
func (c *fieldCheck) elements(list string, length int) [][]FieldError {
	each := make([][]FieldError, length)
	var others []FieldError
	for _, fault := range c.unread {
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
	c.unread = others
	return each
}
