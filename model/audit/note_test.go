package audit_test

import (
	"context"
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

func TestNoteHasOneToTwoThousandCharacters(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"a": true, strings.Repeat("é", 2000): true, "two\nlines": true, " a ": true,
		"": false, " \n": false, strings.Repeat("a", 2001): false, "a\x00b": false, "a\xff": false,
	} {
		for kind, allowed := range map[actor.Kind]bool{actor.KindOperator: good, actor.KindSystem: good, actor.KindPartner: false} {
			v := apperr.Validator{}
			audit.RequireOperatorNote(&v, actor.Actor{Kind: kind}, &text, "/note")
			require.Equal(t, allowed, len(v.FieldErrors) == 0, "%s %.9q", kind, text)
			if !allowed {
				require.Equal(t, "/note", v.FieldErrors[0].Pointer)
			}
		}
	}
	for _, kind := range []actor.Kind{actor.KindPartner, actor.KindOperator} {
		v := apperr.Validator{}
		audit.RequireOperatorNote(&v, actor.Actor{Kind: kind}, nil, "/note")
		require.Empty(t, v.FieldErrors, "a note is optional")
	}
}

func TestOperatorActionsOfAClaimAreShownToOperators(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.NoError(t, err)
	_, err = modeltest.LiftHold(t, b, payout)
	require.NoError(t, err)
	page := modeltest.Must(b.Service.Audit.ListOperatorActions(t.Context(), b.Operator, claim.ID, store.PageRequest{}))
	require.Len(t, page.Data, 2)
	require.Equal(t, []audit.Operation{audit.OperationBlockPayout, audit.OperationUnblockPayout}, []audit.Operation{page.Data[0].Operation, page.Data[1].Operation}, "oldest first")
	for _, action := range page.Data {
		require.Equal(t, []string{"olive", modeltest.Issuer, payout.ID}, []string{action.Author, *action.AuthorIssuer, *action.PayoutID})
		require.False(t, action.At.IsZero())
	}
	require.Equal(t, "A name on a list.", *page.Data[0].Note)
	pages := modeltest.Must(b.Service.Audit.OperatorActionsOf(t.Context(), b.Operator, []string{claim.ID}, store.PageRequest{}))
	require.Equal(t, page.Data, pages[claim.ID].Data)
	_, err = b.Service.Audit.ListOperatorActions(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	_, err = b.Service.Audit.OperatorActionsOf(t.Context(), b.Acme, []string{claim.ID}, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestOperatorActionNamesAuthorAndReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, b.Service.InTx(t.Context(), b.Operator, func(_ context.Context, tx *store.Tx) error {
		audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: audit.OperationDisablePartner, Partner: "acme", Note: new("The contract ended."), Author: "unknown"})
		return nil
	}))
	var author, operation string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select author, operation from operator_actions where operation <> 'register_partner'").Scan(&author, &operation))
	require.Equal(t, []string{modeltest.Issuer + "#olive", "disable_partner"}, []string{author, operation})
	line := modeltest.ListAudit(t, b, audit.Filter{})[0]
	require.Equal(t, []string{"acme", "The contract ended."}, []string{*line.Partner, *line.Reason})
}
