package main

import (
	"context"
	"fmt"
	"time"
)

// interval is how long until waits before it asks again.
const interval = 100 * time.Millisecond

// response is what every generated answer has.
type response interface {
	StatusCode() int
	GetBody() []byte
}

// expect fails when there is no answer, or one with another status.
func expect(r response, err error, status int) error {
	if err != nil {
		return err
	}
	if r.StatusCode() != status {
		return fmt.Errorf("status %d instead of %d: %s", r.StatusCode(), status, r.GetBody())
	}
	return nil
}

// answered is expect, counted.
func (s *story) answered(r response, err error, status int) error {
	if err := expect(r, err, status); err != nil {
		return err
	}
	s.checks++
	return nil
}

// check fails with what is wrong unless holds.
func (s *story) check(holds bool, wrong string, args ...any) error {
	if !holds {
		return fmt.Errorf(wrong, args...)
	}
	s.checks++
	return nil
}

// until asks again until it is true or ctx ends. However often it asked, it is
// one check.
func (s *story) until(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			s.checks++
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s", what)
		case <-time.After(interval):
		}
	}
}
