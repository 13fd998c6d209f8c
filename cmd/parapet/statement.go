package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"parapet/model/kernel/actor"
	"parapet/model/ledger"
)

// newStatementCommand writes the movements of the ledger in any number.
func newStatementCommand() *cobra.Command {
	var f ledger.Filter
	var from, to string
	cmd := &cobra.Command{
		Use: "statement", Example: "  parapet statement --partner acme --from 2026-01-01 --to 2026-02-01 > january.csv",
		Short: "write the movements of the ledger as CSV", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStatement(cmd.Context(), f, from, to, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.Partner, "partner", "", "the partner of the statement (default: all partners)")
	set.StringVar(&f.PolicyID, "policy", "", "only entries of this policy")
	set.StringVar(&f.Currency, "currency", "", "only entries of this ISO 4217 currency")
	set.StringVar(&from, "from", "", "the start, included: a day in UTC such as 2026-01-31, or RFC 3339 (default: the first entry)")
	set.StringVar(&to, "to", "", "the end, not included (default: now)")
	return cmd
}

func runStatement(ctx context.Context, f ledger.Filter, from, to string, out io.Writer) error {
	var bounds [2]*time.Time
	for i, text := range []string{from, to} {
		if text == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return usageError{fmt.Errorf("%q is neither a day nor a time; write 2026-01-31 or 2026-01-31T12:00:00Z", text)}
		}
		bounds[i] = &at
	}
	service, closeDomain, err := openDomain(ctx, nil)
	if err != nil {
		return err
	}
	defer closeDomain()
	statement, err := service.Ledger.OpenStatement(ctx, actor.System(), f, bounds[0], bounds[1])
	if err != nil {
		return err
	}
	return statement.WriteCSV(ctx, out)
}
