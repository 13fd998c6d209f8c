package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// ReportLine returns the rail's report of the first key of a payout, or of the first
// payout that replaces another.
func ReportLine(b *Bundle, payout wire.Payout, status string) reconciliation.ReportLine {
	n := 1
	if payout.ReplacesPayoutID != nil {
		n = 2
	}
	return reconciliation.ReportLine{Key: b.RailKey(payout.ID, n), Reference: "ref-1", Amount: payout.Amount, Status: status}
}

// Reconcile imports a report of these lines with correct totals.
func Reconcile(t *testing.T, b *Bundle, name string, lines ...reconciliation.ReportLine) *reconciliation.Reconciliation {
	t.Helper()
	sums := map[string]int64{}
	for _, l := range lines {
		sums[l.Amount.Currency] += l.Amount.Amount
	}
	done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{
		Rail: RailName, Name: name, Lines: new(len(lines)), Sums: sums, Until: new(b.Now()),
	}, ReadLines(lines))
	require.NoError(t, err)
	return done
}

// ReadLines returns the lines as a report is read.
func ReadLines(lines []reconciliation.ReportLine) func(func(reconciliation.ReportLine) error) error {
	return func(each func(reconciliation.ReportLine) error) error {
		for _, l := range lines {
			if err := each(l); err != nil {
				return err
			}
		}
		return nil
	}
}

// OpenExceptions returns the kinds of the open exceptions, newest first.
func OpenExceptions(t *testing.T, b *Bundle) (kinds []string) {
	t.Helper()
	list, err := b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})
	require.NoError(t, err)
	for _, f := range list.Data {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// CloseExceptions closes all open exceptions.
func CloseExceptions(t *testing.T, b *Bundle) {
	t.Helper()
	for _, exception := range Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data {
		_, err := b.Service.Reconciliation.CloseException(t.Context(), b.Operator, reconciliation.CloseExceptionRequest{ID: exception.ID, Reason: "The bank's letter."})
		require.NoError(t, err)
	}
}
