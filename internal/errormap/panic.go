package errormap

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic as an error. It is a fault of the server even when the caller has
// left, unlike the errors that follow from the end of a request's context.
type Panic struct {
	value any
	stack []byte
}

// NewPanic makes the error of a panic, with the stack of the goroutine that calls it.
func NewPanic(value any) *Panic { return &Panic{value, debug.Stack()} }

// Error is the panic's value and its stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
