// Package readcharge bounds the memory that the statements of a request read: a context
// carries a function that is called with the size of each row. It has no states and takes
// no locks. Start reading at With.
package readcharge

import (
	"context"

	"github.com/jackc/pgx/v5"
)

type key struct{}

// With calls charge with the size in bytes of each row that statements under
// the context read, before the row is decoded. An error of charge ends the statement
// and is returned. This bounds the memory of a request, because the size of a record is
// unknown before it is read. A nil charge disables that of an outer context.
func With(ctx context.Context, charge func(bytes int) error) context.Context {
	return context.WithValue(ctx, key{}, charge)
}

// From returns the function of With, nil if there is none.
func From(ctx context.Context) func(bytes int) error {
	charge, _ := ctx.Value(key{}).(func(int) error)
	return charge
}

// chargedRows charges each row of a statement before it is decoded.
type chargedRows struct {
	pgx.Rows

	charge func(bytes int) error
	err    error
}

// Charge wraps the rows if the context has a charge.
func Charge(ctx context.Context, rows pgx.Rows) pgx.Rows {
	if charge := From(ctx); charge != nil {
		return &chargedRows{Rows: rows, charge: charge}
	}
	return rows
}

// Next implements pgx.Rows.
func (c *chargedRows) Next() bool {
	if c.err != nil || !c.Rows.Next() {
		return false
	}
	bytes := 0
	for _, value := range c.RawValues() {
		bytes += len(value)
	}
	if c.err = c.charge(bytes); c.err != nil {
		c.Close()
	}
	return c.err == nil
}

// Err implements pgx.Rows.
func (c *chargedRows) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Rows.Err()
}
