package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"parapet/model"
)

// runStatement writes the movements of the ledger in any number.
func runStatement(ctx context.Context, args []string, out io.Writer) error {
	set := newFlagSet("statement")
	var f model.LedgerFilter
	set.StringVar(&f.Partner, "partner", "", "the partner whose statement it is; everybody's without")
	set.StringVar(&f.PolicyID, "policy", "", "the only policy to tell of")
	set.StringVar(&f.Currency, "currency", "", "the only currency to tell of, ISO 4217")
	from := set.String("from", "", "its beginning, included: a day in UTC such as 2026-01-31, or RFC 3339; the first entry without")
	to := set.String("to", "", "its end, left out; now without")
	if err := parseFlags(set, args); err != nil {
		return err
	}
	var bounds [2]*time.Time
	for i, text := range []string{*from, *to} {
		if text == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return fmt.Errorf("%q is no day and no time; write 2026-01-31 or 2026-01-31T12:00:00Z", text)
		}
		bounds[i] = &at
	}
	service, closeDomain, err := openDomain(ctx, nil)
	if err != nil {
		return err
	}
	defer closeDomain()
	statement, err := service.OpenStatement(ctx, model.System(), f, bounds[0], bounds[1])
	if err != nil {
		return err
	}
	return statement.WriteCSV(ctx, out)
}
