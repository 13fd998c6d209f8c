package audit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestCallsAreSavedTogetherAndListed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := time.Now()
	record := func(caller actor.Actor, request, operation string, refusal *apperr.Error) {
		caller.RequestID = request
		b.Service.Audit.RecordCall(caller, at, operation, 201, refusal)
	}
	record(b.Acme, "req-1", "createQuote", nil)
	record(b.Acme, "req-2", "createClaim", apperr.Fail(apperr.CodeTriggerNotMet, "It missed."))
	record(b.Globex, "req-1", "createQuote", nil)
	list := func(caller actor.Actor, f audit.CallFilter) (all []string) {
		page, err := b.Service.Audit.ListCalls(t.Context(), caller, f, store.PageRequest{})
		require.NoError(t, err)
		for _, call := range page.Data {
			all = append(all, call.Partner+" "+call.RequestID+" "+call.Operation)
		}
		return all
	}
	require.Empty(t, list(b.Acme, audit.CallFilter{}))
	dropped, err := b.Service.Audit.SaveCalls(t.Context())
	require.NoError(t, err)
	require.Zero(t, dropped)
	require.Equal(t, []string{"acme req-2 createClaim", "acme req-1 createQuote"}, list(b.Acme, audit.CallFilter{}))
	require.Equal(t, []string{"acme req-2 createClaim"}, list(b.Acme, audit.CallFilter{Refused: true}))
	require.Equal(t, []string{"acme req-1 createQuote"}, list(b.Acme, audit.CallFilter{RequestID: "req-1"}))
	require.Len(t, list(b.Operator, audit.CallFilter{RequestID: "req-1"}), 2)
	require.Len(t, list(b.Operator, audit.CallFilter{Partner: "globex"}), 1)
	_, err = b.Service.Audit.ListCalls(t.Context(), b.Acme, audit.CallFilter{Partner: "globex"}, store.PageRequest{})
	require.Equal(t, apperr.CodePartnerMismatch, apperr.CodeOf(err))
	_, err = b.Service.Audit.ListCalls(t.Context(), b.Source, audit.CallFilter{}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))

	modeltest.ExecSQL(t, b, "update api_calls set created_at = created_at - interval '7 days' - interval '1 minute' where request_id = 'req-2'")
	modeltest.ExecSQL(t, b, "update api_calls set created_at = created_at - interval '7 days' + interval '1 hour' where request_id = 'req-1'")
	b.Sweep()
	require.Equal(t, []string{"acme req-1 createQuote"}, list(b.Acme, audit.CallFilter{}))
}

func TestCallsAreDroppedUnderLoad(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for i := range audit.MaxPendingCalls + 5 {
		b.Service.Audit.RecordCall(b.Acme, time.Now(), fmt.Sprint("operation-", i), 201, nil)
	}
	dropped, err := b.Service.Audit.SaveCalls(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, dropped)
	require.Equal(t, audit.MaxPendingCalls, b.CountRows()["api_calls"])

	b.Service.Audit.RecordCall(b.Acme, time.Now(), "lost", 201, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	dropped, err = b.Service.Audit.SaveCalls(cancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, dropped)
	dropped, err = b.Service.Audit.SaveCalls(t.Context())
	require.NoError(t, err)
	require.Zero(t, dropped)
}
