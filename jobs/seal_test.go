package jobs

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/reconciliation"
)

// TestFileThatWasNotPermittedIsNotSealed stops releases between the cut of a batch and
// its permit. Then the bank refuses one order: the others are written.
func TestFileThatWasNotPermittedIsNotSealed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(3)
	require.NoError(t, s.runReleaseBatch(files))
	stopped := func(context.Context) (context.Context, rail.Permit, error) {
		return nil, nil, controls.ErrReleasesStopped
	}
	require.ErrorIs(t, files.WriteDueFiles(t.Context(), stopped), controls.ErrReleasesStopped)
	require.Zero(t, s.countRows("payment_files where sealed_digest is not null"))
	order := s.readPayout(fleet[0])
	s.applyBankReport(files, reconciliation.ReportLine{Key: s.RailKey(order.ID, 1), Reference: "r", Amount: order.Amount, Status: reconciliation.LineRejected, Code: "AC04"})
	require.NoError(t, s.writeDueFiles(files))
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "<NbOfTxs>2</NbOfTxs>")
	require.NotContains(t, string(text), bankfile.PolicyID(s.RailKey(order.ID, 1)))
}

// TestUnsealedFileIsWrittenWithoutTheOrdersThatChanged leaves a sealed batch without a
// file and makes the bank refuse one of its orders. While nothing is sent, an operator
// declares that the bank does not have the file.
func TestUnsealedFileIsWrittenWithoutTheOrdersThatChanged(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(3)
	require.NoError(t, s.runReleaseBatch(files))
	good := files.FileStore
	files.FileStore = &failingStore{FileStore: good, half: true}
	require.ErrorIs(t, s.writeDueFiles(files), errHung)
	files.FileStore = good
	order := s.readPayout(fleet[0])
	s.applyBankReport(files, reconciliation.ReportLine{Key: s.RailKey(order.ID, 1), Reference: "r", Amount: order.Amount, Status: reconciliation.LineRejected, Code: "AC04"})
	require.ErrorIs(t, s.writeDueFiles(files), bankfile.ErrFileSealed)
	require.Empty(t, written(t, folder))

	var batch string
	require.NoError(t, s.pool.QueryRow(t.Context(), "select id from payment_files").Scan(&batch))
	unseal := func(by actor.Actor, batch string) error {
		return s.Service.Controls.UnsealBankFile(t.Context(), by, controls.UnsealRequest{Batch: batch, Reason: "The bank has searched for it."})
	}
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(unseal(s.Operator, batch)), "releases go on")
	_, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "A file is missing."})
	require.NoError(t, err)
	require.Error(t, unseal(s.Acme, batch))
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(unseal(s.Operator, "PPT-none")))
	require.Equal(t, 1, s.countRows("payment_files where sealed_digest is not null"))
	require.NoError(t, unseal(s.Operator, batch))
	_, err = s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "The file can be written."})
	require.NoError(t, err)
	require.NoError(t, s.Service.Operations.SweepDue(t.Context(), "stopped_payouts"), "it ends the stop where the request could not")
	require.NoError(t, s.writeDueFiles(files))
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "<NbOfTxs>2</NbOfTxs>")
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(unseal(s.Operator, batch)), "it stands")
}
