// Package budget limits the memory that one operation allocates while it runs. The cost
// of a document depends on its text only; it cannot know how long the texts in the
// records are or how many fields fail.
package budget

import (
	"context"
	"sync/atomic"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/readcharge"
)

// DefaultBytes is the budget of an operation in bytes. Including uncharged memory, an
// operation allocates at most 16 MiB.
const DefaultBytes = 14 << 20

// The bytes that each step of an operation allocates, measured over the corpus of
// documents. A row and an error are charged 1.5 times their size because they take about
// 30 and 70 µs of processor time, and an operation must be stopped before it has used 100
// ms.
const (
	perByteRead    = 2    // the driver's copy and the decoded value
	perRow         = 3072 // the row, its record and its node, without their texts
	perByteWritten = 4    // two buffers, each of which doubles as it grows
	perField       = 1536 // a field that gqlgen resolves on its own
	perError       = 8192 // an error with its path and extensions
)

// Budget is the remaining memory of an operation. It is safe for concurrent use. Charges
// are never refunded, so an exceeded budget stays exceeded. A nil budget is unlimited.
type Budget struct{ remaining atomic.Int64 }

// New returns a budget of memory bytes.
func New(memory int64) *Budget {
	b := new(Budget)
	b.remaining.Store(memory)
	return b
}

type key struct{}

// With adds a budget to the context. Every row that model reads with that context is
// charged.
func With(ctx context.Context, b *Budget) context.Context {
	return readcharge.With(context.WithValue(ctx, key{}, b), func(bytes int) error { return b.chargeBytes(perByteRead*bytes + perRow) })
}

// From returns the budget of the operation, nil without one.
func From(ctx context.Context) *Budget {
	b, _ := ctx.Value(key{}).(*Budget)
	return b
}

// ChargeOutput charges bytes of the response. Errors: query_too_costly.
func (b *Budget) ChargeOutput(bytes int) error { return b.chargeBytes(perByteWritten * bytes) }

// ChargeField charges a field that gqlgen resolves on its own. Errors: query_too_costly.
func (b *Budget) ChargeField() error { return b.chargeBytes(perField) }

// ChargeError charges an error of the response. Errors: query_too_costly.
func (b *Budget) ChargeError() error { return b.chargeBytes(perError) }

// Err returns query_too_costly once the budget is exceeded.
func (b *Budget) Err() error { return b.chargeBytes(0) }

func (b *Budget) chargeBytes(memory int) error {
	if b == nil || b.remaining.Add(-int64(memory)) >= 0 {
		return nil
	}
	return apperr.Fail(errormap.CodeQueryTooCostly,
		"The answer, or the records it is made from, are too large: an answer has at most 3 MiB. Ask for fewer records with first, or in several queries.")
}
