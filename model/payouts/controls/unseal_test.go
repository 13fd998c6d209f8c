package controls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

func TestOnlyASealedUnwrittenFileIsUnsealedDuringAStop(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	modeltest.ExecSQL(t, b, `insert into payment_files (id, rail, sealed_digest, written_at, written_digest) values
		('sealed', 'bank', 'd1', null, null), ('other', 'bank', 'd2', null, null), ('open', 'bank', null, null, null), ('written', 'bank', 'd3', now(), 'd3')`)
	unseal := func(who actor.Actor, batch, reason string) error {
		return b.Service.Controls.UnsealBankFile(t.Context(), who, controls.UnsealRequest{Batch: batch, Reason: reason})
	}
	refused := modeltest.DomainError(t, unseal(b.Operator, "sealed", "Ms Lee, 9:15."))
	require.Equal(t, apperr.CodeStateConflict, refused.Code)
	require.Contains(t, refused.Detail, "stop releases first")
	modeltest.StopReleases(t, b)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, unseal(b.Acme, "sealed", "Ms Lee, 9:15.")).Code)
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, unseal(b.Operator, "sealed", ""))))
	for _, batch := range []string{"open", "written", "unknown", ""} {
		refused := modeltest.DomainError(t, unseal(b.Operator, batch, "Ms Lee, 9:15."))
		require.Equal(t, apperr.CodeStateConflict, refused.Code, batch)
		require.Contains(t, refused.Detail, "is sealed and unwritten", batch)
	}
	sealed := func() (ids string) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select string_agg(id, ' ' order by id) from payment_files where sealed_digest is not null").Scan(&ids))
		return ids
	}
	require.Equal(t, "other sealed written", sealed())
	require.NoError(t, unseal(b.Operator, "sealed", "Ms Lee, 9:15."))
	require.Equal(t, "other written", sealed())
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, unseal(b.Operator, "sealed", "Ms Lee, 9:15.")).Code, "it is open already")
}

func TestFileIsNotUnsealedWhileASendIsRunning(t *testing.T) {
	t.Parallel()
	stop := newStopping()
	b := modeltest.New(t, modeltest.WithSleep(stop.pause))
	modeltest.ExecSQL(t, b, "insert into payment_files (id, rail, sealed_digest) values ('sealed', 'bank', 'd1')")
	_, sending, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	stop.start(t, b)
	stop.waiting(t)
	unsealed := make(chan error, 1)
	go func() {
		unsealed <- b.Service.Controls.UnsealBankFile(t.Context(), b.Operator, controls.UnsealRequest{Batch: "sealed", Reason: "Ms Lee, 9:15."})
	}()
	for range 5 { // the stop and the request both wait
		stop.waiting(t)
	}
	require.Empty(t, unsealed)
	sending.End()
	require.Nil(t, stop.answered().Leaving)
	for done := false; !done; {
		select {
		case <-stop.waits:
		case err := <-unsealed:
			require.NoError(t, err)
			done = true
		}
	}
}
