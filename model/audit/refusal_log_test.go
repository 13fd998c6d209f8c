package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

// refusalTimes returns how often each actor was refused, by name; uncounted ones have no
// name.
func refusalTimes(t *testing.T, b *modeltest.Bundle) map[string]int64 {
	t.Helper()
	times := map[string]int64{}
	for _, line := range modeltest.ListAudit(t, b, audit.Filter{Outcome: "refused"}) {
		times[line.Actor] += line.Times
	}
	return times
}

func TestRefusalsThatCouldNotBeSavedAreSavedNextTime(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	refusal := apperr.Fail(apperr.CodeInsufficientScope, "No.")
	record := func(names ...string) {
		for _, name := range names {
			b.Service.Audit.RecordRefusal(actor.Actor{Name: name}, refusal)
		}
	}
	record("ann", "ann", "bob")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Service.Audit.SaveRefusals(cancelled), context.Canceled)
	record("ann", "eve")
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	require.Equal(t, map[string]int64{"ann": 3, "bob": 1, "eve": 1}, refusalTimes(t, b))
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	require.Equal(t, map[string]int64{"ann": 3, "bob": 1, "eve": 1}, refusalTimes(t, b), "each is written once")
}

func TestUnsavedRefusalsStayBounded(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for round := range 3 {
		for i := range 60 {
			b.Service.Audit.RecordRefusal(actor.Actor{Name: fmt.Sprint(round, "-", i)}, apperr.Fail(apperr.CodeInsufficientScope, "No."))
		}
		require.Error(t, b.Service.Audit.SaveRefusals(cancelled))
	}
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	times := refusalTimes(t, b)
	require.Len(t, times, 51)
	require.EqualValues(t, 130, times[""], "one line counts the others")
	require.EqualValues(t, 1, times["0-49"])
}

// Refusals are one line only if everything that the line shows is equal.
func TestDifferentRefusalsAreDifferentLines(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	caller := actor.Actor{Kind: actor.KindPartner, Name: "n", Issuer: "https://id.test", Client: "c", Partner: "acme", Operation: "o", RequestID: "r"}
	same := caller
	same.RequestID = "another request"
	refusal := apperr.Fail(apperr.CodeInsufficientScope, "%s", strings.Repeat("x", 300))
	for _, change := range []func(*actor.Actor){
		func(*actor.Actor) {}, func(a *actor.Actor) { a.Kind = actor.KindOperator }, func(a *actor.Actor) { a.Name = "m" }, func(a *actor.Actor) { a.Issuer = "" },
		func(a *actor.Actor) { a.Client = "d" }, func(a *actor.Actor) { a.Partner = "globex" }, func(a *actor.Actor) { a.Operation = "" },
	} {
		other := caller
		change(&other)
		b.Service.Audit.RecordRefusal(other, refusal)
	}
	b.Service.Audit.RecordRefusal(caller, apperr.Fail(apperr.CodePartnerDisabled, "No."))
	b.Service.Audit.RecordRefusal(same, refusal)
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	lines := modeltest.ListAudit(t, b, audit.Filter{Actor: "n", Partner: "acme", Operation: "o"})
	require.Len(t, lines, 5)
	require.Len(t, modeltest.ListAudit(t, b, audit.Filter{}), 8)
	times := int64(0)
	for _, line := range lines {
		times += line.Times
		require.LessOrEqual(t, len(*line.Reason), 255)
		if line.Times == 2 {
			require.Equal(t, []string{"partner", "https://id.test", "c", "acme", "r"}, []string{*line.ActorKind, *line.Issuer, line.Client, *line.Partner, *line.RequestID})
		}
	}
	require.EqualValues(t, 6, times)
	require.Len(t, modeltest.ListAudit(t, b, audit.Filter{Operation: "unnamed"}), 1)
}

func TestAuditLogIsFilteredByEachMember(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for i, name := range []string{"ann", "bob"} {
		olive := modeltest.OperatorNamed(name)
		olive.Operation = fmt.Sprint("operation-", i)
		require.NoError(t, audit.RecordAction(t.Context(), b.Service.Store, olive, "first"))
	}
	b.Service.Audit.RecordRefusal(actor.Actor{Kind: actor.KindPartner, Name: "acme-client", Partner: "acme"}, apperr.Fail(apperr.CodeInsufficientScope, "No."))
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	for want, filters := range map[int][]audit.Filter{
		3: {{}},
		2: {{Outcome: "done"}},
		1: {{Outcome: "refused"}, {Operation: "operation-1"}, {Actor: "ann"}, {Partner: "acme"}, {Outcome: "done", Actor: "bob"}},
		0: {{Outcome: "refused", Actor: "bob"}, {Partner: "globex"}, {Subject: "pay_1"}, {Operation: "operation"}},
	} {
		for _, f := range filters {
			require.Len(t, modeltest.ListAudit(t, b, f), want, "%+v", f)
		}
	}
	lines := modeltest.ListAudit(t, b, audit.Filter{})
	require.False(t, lines[0].At.Before(lines[2].At), "newest first")
}
