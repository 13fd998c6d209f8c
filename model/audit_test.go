package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// listAudit returns the audit log, newest first.
func listAudit(t *testing.T, b *modeltest.Bundle, f model.AuditFilter) []model.AuditEntry {
	t.Helper()
	page, err := b.Service.ListAudit(t.Context(), b.Operator, f, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	return page.Data
}

func TestOperatorActionIsAuditedInItsTransaction(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	payout := only(t, b, claim)
	require.Empty(t, listAudit(t, b, model.AuditFilter{}), "only operators are audited; events record the others")

	b.Operator.Operation, b.Operator.RequestID = "blockPayout", "req-1"
	_, err := holdPayout(t, b, payout, model.BlockedOperator)
	require.NoError(t, err)
	lines := listAudit(t, b, model.AuditFilter{})
	require.Len(t, lines, 1)
	line := lines[0]
	require.Equal(t, []string{"done", "blockPayout", "olive", "console"}, []string{line.Outcome, line.Operation, line.Actor, line.Client})
	require.Equal(t, []string{"acme", payout.ID, "A name on a list.", "req-1"}, []string{*line.Partner, *line.Subject, *line.Reason, *line.RequestID})

	_, err = holdPayout(t, b, payout, model.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	require.Len(t, listAudit(t, b, model.AuditFilter{}), 1, "a failed action is not in the log")
	pressed := "jobs " + strings.Repeat("17 ", 20_000)
	require.NoError(t, b.Service.Audit(t.Context(), b.Operator, pressed+"\x00\xff"))
	require.Equal(t, pressed, *listAudit(t, b, model.AuditFilter{})[0].Reason, "a long text is stored whole")
	require.Empty(t, listAudit(t, b, model.AuditFilter{Outcome: string(store.AuditRefused)}))
	_, err = b.Service.ListAudit(t.Context(), b.Acme, model.AuditFilter{}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, domainError(t, err).Code)
	require.Equal(t, apperr.CodeInsufficientScope, domainError(t, b.Service.Audit(t.Context(), b.Acme, "x")).Code)
}

func TestAuditLogIsInsertOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, b.Service.Audit(t.Context(), b.Operator, "x"))
	for _, change := range []string{"update audit_entries set actor = 'nobody'", "delete from audit_entries", "truncate audit_entries"} {
		_, err := b.DB.Pool.Exec(t.Context(), change)
		require.ErrorContains(t, err, "insert-only", change)
	}
	require.Len(t, listAudit(t, b, model.AuditFilter{}), 1)
	for _, table := range []string{"ledger_entries", "payout_approvals", "event_redactions"} {
		_, err := b.DB.Pool.Exec(t.Context(), "truncate "+table)
		require.ErrorContains(t, err, "insert-only", table)
	}
}

func TestRepeatedDenialsAreOneAuditLine(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	_, err := b.Service.ListPartners(t.Context(), b.Acme, store.PageRequest{})
	refusal := domainError(t, err)
	for range 1000 {
		b.Service.RecordRefusal(b.Acme, refusal)
	}
	require.Empty(t, listAudit(t, b, model.AuditFilter{}), "not written yet")
	require.NoError(t, b.Service.SaveRefusals(t.Context()))
	lines := listAudit(t, b, model.AuditFilter{Outcome: string(store.AuditRefused)})
	require.Len(t, lines, 1)
	require.Equal(t, int64(1000), lines[0].Times)
	require.Equal(t, "insufficient_scope", *lines[0].Code)
	require.Equal(t, refusal.Detail, *lines[0].Reason)

	for i := range 10_000 {
		b.Service.RecordRefusal(actor.Actor{Name: fmt.Sprint("made-up-", i), Client: "\xff" + string(make([]byte, 5000))}, refusal)
	}
	require.NoError(t, b.Service.SaveRefusals(t.Context()))
	require.NoError(t, b.Service.SaveRefusals(t.Context()))
	lines = listAudit(t, b, model.AuditFilter{})
	require.Len(t, lines, 52)
	var times int64
	for _, line := range lines {
		times += line.Times
	}
	require.Equal(t, int64(11_000), times)
}
