// Package upload receives the bodies of requests. It limits the bytes received
// concurrently and stores the content of a document in a file while it arrives.
package upload

import (
	"errors"
	"io"
	"sync"
)

// Budget limits the bytes of bodies that are received and processed concurrently.
type Budget struct {
	perCaller, perServer int64

	mu       sync.Mutex
	byCaller map[string]int64 // charged bytes
	total    int64
}

// Default limits of concurrently received bodies, in bytes.
const (
	DefaultPerCaller = 64 << 20
	DefaultPerServer = 512 << 20
)

// NewBudget returns a budget for each caller and for the server.
func NewBudget(perCaller, perServer int64) *Budget {
	return &Budget{perCaller: perCaller, perServer: perServer, byCaller: map[string]int64{}}
}

// BudgetExceededError means that a body does not fit into a budget together with those
// being received. It fits once they have been answered.
type BudgetExceededError struct {
	Limit int64 // of concurrent bytes
	Scope string
}

// Error names the exceeded limit.
func (e *BudgetExceededError) Error() string {
	return "too many bytes of " + e.Scope + " are being received"
}

// Charge is the part of a budget that one request uses.
type Charge struct {
	budget *Budget
	caller string
	taken  int64
}

// NewCharge starts the charge of a request; Release ends it.
func (b *Budget) NewCharge(caller string) *Charge { return &Charge{budget: b, caller: caller} }

// Add charges n more bytes. Errors: *BudgetExceededError.
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

// Release returns all charged bytes.
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

// Reader charges bytes as they arrive, because a chunked body has no announced length.
func (c *Charge) Reader(r io.Reader) io.Reader { return &chargedReader{r, c} }

type chargedReader struct {
	io.Reader

	charge *Charge
}

// Read charges the bytes read. It returns *BudgetExceededError when they do not fit.
func (r *chargedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if exceeded := r.charge.Add(int64(n)); exceeded != nil {
		return 0, exceeded
	}
	return n, err
}

// AsExceeded returns the BudgetExceededError in an error, nil without one.
func AsExceeded(err error) *BudgetExceededError {
	var exceeded *BudgetExceededError
	errors.As(err, &exceeded)
	return exceeded
}
