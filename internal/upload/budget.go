// Package upload receives the bodies of requests. It bounds the bytes that are on their
// way at once, and keeps the content of a document in a file while it arrives.
package upload

import (
	"errors"
	"io"
	"sync"
)

// Budget bounds how many bytes of bodies are received and worked on at once.
type Budget struct {
	perCaller, perServer int64

	mu       sync.Mutex
	byCaller map[string]int64 // by caller
	total    int64
}

// Bounds of bodies that are received at once, in bytes.
const (
	DefaultPerCaller = 64 << 20
	DefaultPerServer = 512 << 20
)

// NewBudget bounds the bytes of each caller and of all callers.
func NewBudget(perCaller, perServer int64) *Budget {
	return &Budget{perCaller: perCaller, perServer: perServer, byCaller: map[string]int64{}}
}

// BudgetExceededError is a body that does not fit into a budget beside those that are being
// received. It fits once they have been answered.
type BudgetExceededError struct {
	Limit int64 // bytes at once
	Scope string
}

// Error says which bound was met.
func (e *BudgetExceededError) Error() string {
	return "too many bytes of " + e.Scope + " are being received"
}

// Charge is what one request has taken from a budget.
type Charge struct {
	budget *Budget
	caller string
	taken  int64
}

// NewCharge begins the charge of a request; Release ends it.
func (b *Budget) NewCharge(caller string) *Charge { return &Charge{budget: b, caller: caller} }

// Add charges n more bytes. Errors: *Exceeded.
func (c *Charge) Add(n int64) error {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.byCaller[c.caller]+n > b.perCaller:
		return &BudgetExceededError{b.perCaller, "one caller"}
	case b.total+n > b.perServer:
		return &BudgetExceededError{b.perServer, "all callers"}
	}
	b.byCaller[c.caller] += n
	b.total += n
	c.taken += n
	return nil
}

// Release gives everything back that was charged.
func (c *Charge) Release() {
	if c == nil {
		return
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total -= c.taken
	if b.byCaller[c.caller] -= c.taken; b.byCaller[c.caller] == 0 {
		delete(b.byCaller, c.caller)
	}
	c.taken = 0
}

// Reader charges bytes as they come: the length of a chunked body is not announced.
func (c *Charge) Reader(r io.Reader) io.Reader { return &chargedReader{r, c} }

type chargedReader struct {
	io.Reader

	charge *Charge
}

// Read charges what it read. What does not fit into the budget is an *Exceeded.
func (r *chargedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if exceeded := r.charge.Add(int64(n)); exceeded != nil {
		return 0, exceeded
	}
	return n, err
}

// AsExceeded is the bound that an error tells of, nil when it tells of none.
func AsExceeded(err error) *BudgetExceededError {
	var exceeded *BudgetExceededError
	errors.As(err, &exceeded)
	return exceeded
}
