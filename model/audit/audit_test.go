package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestOperatorActionIsAuditedInItsTransaction(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Empty(t, modeltest.ListAudit(t, b, audit.Filter{}), "only operators are audited; events record the others")

	b.Operator.Operation, b.Operator.RequestID = "blockPayout", "req-1"
	_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.NoError(t, err)
	lines := modeltest.ListAudit(t, b, audit.Filter{})
	require.Len(t, lines, 1)
	line := lines[0]
	require.Equal(t, []string{"done", "blockPayout", "olive", "console"}, []string{line.Outcome, line.Operation, line.Actor, line.Client})
	require.Equal(t, []string{"acme", payout.ID, "A name on a list.", "req-1"}, []string{*line.Partner, *line.Subject, *line.Reason, *line.RequestID})

	_, err = modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Len(t, modeltest.ListAudit(t, b, audit.Filter{}), 1, "a failed action is not in the log")
	pressed := "jobs " + strings.Repeat("17 ", 20_000)
	require.NoError(t, audit.RecordAction(t.Context(), b.Service.Store, b.Operator, pressed+"\x00\xff"))
	require.Equal(t, pressed, *modeltest.ListAudit(t, b, audit.Filter{})[0].Reason, "a long text is stored whole")
	require.Empty(t, modeltest.ListAudit(t, b, audit.Filter{Outcome: string(store.AuditRefused)}))
	_, err = b.Service.Audit.List(t.Context(), b.Acme, audit.Filter{}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, audit.RecordAction(t.Context(), b.Service.Store, b.Acme, "x")).Code)
}

func TestAuditLogIsInsertOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, audit.RecordAction(t.Context(), b.Service.Store, b.Operator, "x"))
	for _, change := range []string{"update audit_entries set actor = 'nobody'", "delete from audit_entries", "truncate audit_entries"} {
		_, err := b.DB.Pool.Exec(t.Context(), change)
		require.ErrorContains(t, err, "insert-only", change)
	}
	require.Len(t, modeltest.ListAudit(t, b, audit.Filter{}), 1)
	for _, table := range []string{"ledger_entries", "payout_approvals", "event_redactions"} {
		_, err := b.DB.Pool.Exec(t.Context(), "truncate "+table)
		require.ErrorContains(t, err, "insert-only", table)
	}
}

func TestRepeatedDenialsAreOneAuditLine(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.Service.Partners.List(t.Context(), b.Acme, store.PageRequest{})
	refusal := modeltest.DomainError(t, err)
	for range 1000 {
		b.Service.Audit.RecordRefusal(b.Acme, refusal)
	}
	require.Empty(t, modeltest.ListAudit(t, b, audit.Filter{}), "not written yet")
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	lines := modeltest.ListAudit(t, b, audit.Filter{Outcome: string(store.AuditRefused)})
	require.Len(t, lines, 1)
	require.Equal(t, int64(1000), lines[0].Times)
	require.Equal(t, "insufficient_scope", *lines[0].Code)
	require.Equal(t, refusal.Detail, *lines[0].Reason)

	for i := range 10_000 {
		b.Service.Audit.RecordRefusal(actor.Actor{Name: fmt.Sprint("made-up-", i), Client: "\xff" + string(make([]byte, 5000))}, refusal)
	}
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	lines = modeltest.ListAudit(t, b, audit.Filter{})
	require.Len(t, lines, 52)
	var times int64
	for _, line := range lines {
		times += line.Times
	}
	require.Equal(t, int64(11_000), times)
}
