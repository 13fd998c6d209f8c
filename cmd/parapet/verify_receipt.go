package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/jobs/feed"
	"parapet/model/hazard"
	"parapet/model/receipts/receipt"
)

// errNotChecked reports a receipt whose computed values are right as far as they could be
// computed. Its exit code is exitNotChecked.
var errNotChecked = errors.New("right as far as it was checked")

// newVerifyReceiptCommand verifies a receipt without network, database or settings.
func newVerifyReceiptCommand() *cobra.Command {
	var in receiptCheck
	cmd := &cobra.Command{
		Use: "verify RECEIPT.json", Example: "  parapet verify receipt.json --keys keys.json\n  parapet verify receipt.json --pin THUMBPRINT --output json",
		Short: "compute a receipt of a quote or claim again, offline", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || (in.keys == "") == (in.pin == "") {
				return usageError{errors.New("use: parapet verify receipt.json --keys FILE, or --pin THUMBPRINT")}
			}
			return in.run(args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&in.keys, "keys", "", "`FILE` with the server's keys, from /.well-known/parapet-receipt-keys.json")
	cmd.Flags().StringVar(&in.pin, "pin", "", "`THUMBPRINT` (RFC 7638) of the one key that is trusted")
	cmd.Flags().StringVar(&in.history, "history", "", "`FILE` of the price history whose digest the receipt names, from parapet history export (default: that of this release)")
	in.format.addFlag(cmd)
	return cmd
}

// receiptCheck are the flags of verify.
type receiptCheck struct {
	keys, pin, history string
	format             outputFormat
}

func (in *receiptCheck) run(file string, out io.Writer) error {
	trust, err := readTrust(in.keys, in.pin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file) //nolint:gosec // the caller chooses the file
	if err != nil {
		return err
	}
	history, err := readHistory(in.history)
	if err != nil {
		return err
	}
	report, err := receipt.Verify(text, trust, receipt.Data{History: history, ParseRecord: feed.ParseRecord})
	if err != nil {
		return fmt.Errorf("%s proves nothing: %w", file, err)
	}
	if in.format == formatJSON {
		return errors.Join(printJSON(out, report), reportError(report))
	}
	return printReport(out, report)
}

// readHistory returns the history of this release, with the data set of a file if one is
// named.
func readHistory(file string) (*hazard.History, error) {
	if file == "" {
		return hazard.Shipped(), nil
	}
	text, err := readHistoryFile(file)
	if err != nil {
		return nil, err
	}
	edition, faults := hazard.ParseEdition(text, time.Now())
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", file, faults[0])
	}
	return hazard.Shipped().WithEdition(edition), nil
}

func readTrust(keys, pin string) (receipt.Trust, error) {
	if keys == "" {
		return receipt.Trust{Pin: pin}, nil
	}
	text, err := os.ReadFile(keys) //nolint:gosec // the caller chooses the file
	if err != nil {
		return receipt.Trust{}, err
	}
	set, err := receipt.ParseKeySet(text)
	return receipt.Trust{Keys: set}, err
}

// printReport prints what was verified and returns reportError.
func printReport(out io.Writer, r *receipt.Report) error {
	status := r.KeyStatus
	if status == "" {
		status = "pinned"
	}
	_, _ = fmt.Fprintf(out, "receipt of the %s %s, signed by %s (%s)\n", r.Type, r.ID, r.KeyID, status)
	_, _ = fmt.Fprintf(out, "%d values computed again as stated\n", r.Checked)
	for _, d := range r.Decided {
		_, _ = fmt.Fprintf(out, "not computable %s: %s\n", d.Pointer, d.Reason)
	}
	for _, n := range r.NotChecked {
		_, _ = fmt.Fprintf(out, "NOT CHECKED %s: %s\n", n.Pointer, n.Reason)
	}
	for _, d := range r.Differences {
		_, _ = fmt.Fprintf(out, "DIFFERENT %s: it states %s, computed is %s\n", d.Pointer, orNothing(d.Stated), orNothing(d.Computed))
	}
	return reportError(r)
}

// reportError returns the error that the exit code follows from.
func reportError(r *receipt.Report) error {
	switch {
	case len(r.Differences) > 0:
		return fmt.Errorf("%d values are not what the terms and the readings give", len(r.Differences))
	case len(r.NotChecked) > 0:
		return fmt.Errorf("%w; %s", errNotChecked, joinReasons(r.NotChecked))
	}
	return nil
}

// joinReasons returns the reasons of remarks, each once.
func joinReasons(remarks []receipt.Remark) string {
	var reasons []string
	for _, remark := range remarks {
		if !slices.Contains(reasons, remark.Reason) {
			reasons = append(reasons, remark.Reason)
		}
	}
	return strings.Join(reasons, "; ")
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
