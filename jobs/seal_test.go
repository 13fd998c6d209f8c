package jobs

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model"
)

// TestFileThatWasNotPermittedIsNotSealed lets releases stop between the cut of a batch
// and its permit. Then the bank refuses one order: the others are written.
func TestFileThatWasNotPermittedIsNotSealed(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, folder := s.files()
	fleet := s.fleet(3)
	require.NoError(t, s.slice(files))
	stopped := func(context.Context) (context.Context, rail.Permit, error) { return nil, nil, model.ErrReleasesStopped }
	require.ErrorIs(t, files.WriteDue(t.Context(), stopped), model.ErrReleasesStopped)
	require.Zero(t, s.count("bank_batches where sealed_digest is not null"))
	order := s.read(fleet[0])
	s.report(files, model.ReportLine{Key: s.RailKey(order.ID, 1), Reference: "r", Amount: order.Amount, Status: model.LineRejected, Code: "AC04"})
	require.NoError(t, s.write(files))
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "<NbOfTxs>2</NbOfTxs>")
	require.NotContains(t, string(text), bankfile.PolicyID(s.RailKey(order.ID, 1)))
}

// TestUnsealedFileIsWrittenWithoutTheOrdersThatChanged leaves a sealed batch without a
// file and has the bank refuse one of its orders: an operator says that the bank does not
// have the file, while nothing is sent.
func TestUnsealedFileIsWrittenWithoutTheOrdersThatChanged(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, folder := s.files()
	fleet := s.fleet(3)
	require.NoError(t, s.slice(files))
	good := files.Store
	files.Store = &dying{Store: good, half: true}
	require.ErrorIs(t, s.write(files), errHung)
	files.Store = good
	order := s.read(fleet[0])
	s.report(files, model.ReportLine{Key: s.RailKey(order.ID, 1), Reference: "r", Amount: order.Amount, Status: model.LineRejected, Code: "AC04"})
	require.ErrorIs(t, s.write(files), bankfile.ErrSealed)
	require.Empty(t, written(t, folder))

	var batch string
	require.NoError(t, s.pool.QueryRow(t.Context(), "select id from bank_batches").Scan(&batch))
	unseal := func(by model.Actor, batch string) error {
		return s.Service.UnsealBankFile(t.Context(), by, model.UnsealRequest{Batch: batch, Reason: "The bank has searched for it."})
	}
	require.Equal(t, model.CodeStateConflict, model.CodeOf(unseal(s.Operator, batch)), "releases go on")
	_, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "A file is missing."})
	require.NoError(t, err)
	require.Error(t, unseal(s.Acme, batch))
	require.Equal(t, model.CodeStateConflict, model.CodeOf(unseal(s.Operator, "PPT-none")))
	require.Equal(t, 1, s.count("bank_batches where sealed_digest is not null"))
	require.NoError(t, unseal(s.Operator, batch))
	_, err = s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "The file can be written."})
	require.NoError(t, err)
	require.NoError(t, s.Service.SweepDue(t.Context(), "stopped_payouts"), "it ends the stop where the request could not")
	require.NoError(t, s.write(files))
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "<NbOfTxs>2</NbOfTxs>")
	require.Equal(t, model.CodeStateConflict, model.CodeOf(unseal(s.Operator, batch)), "it stands")
}
