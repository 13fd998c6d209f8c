package errormap

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic as an error. It is the server's fault even when the caller has left,
// unlike errors caused by the end of a request's context.
type Panic struct {
	value any
	stack []byte
}

// NewPanic returns the error of a panic, with the stack of the calling goroutine.
func NewPanic(value any) *Panic { return &Panic{value, debug.Stack()} }

// Error returns the panic's value and stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
