package adjudication_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// verifyReceipts verifies the receipts of all quotes and of all decided claims with the
// history, and describes how many there were.
func verifyReceipts(t *testing.T, b *modeltest.Bundle) string {
	t.Helper()
	rows, err := b.DB.Pool.Query(t.Context(), "select partner, id, true as is_claim from claims union all select partner, id, false from quotes")
	require.NoError(t, err)
	type subject struct {
		Partner string
		ID      uuid.UUID
		IsClaim bool
	}
	subjects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[subject])
	require.NoError(t, err)
	trust := receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}
	claims, quotes, values, decided := 0, 0, 0, 0
	for _, s := range subjects {
		var signed *wire.Receipt
		if s.IsClaim {
			signed, err = b.Service.Receipts.Claim(t.Context(), modeltest.Partner(s.Partner), store.ResourceClaim.FormatID(s.ID), nil)
			if apperr.CodeOf(err) == apperr.CodeStateConflict {
				continue // it waits for its decision
			}
			claims++
		} else {
			signed, err = b.Service.Receipts.Quote(t.Context(), modeltest.Partner(s.Partner), store.ResourceQuote.FormatID(s.ID))
			quotes++
		}
		require.NoError(t, err)
		text, err := wire.Encode(signed)
		require.NoError(t, err)
		report, err := receipt.Verify(text, trust, receipt.Data{History: hazard.Shipped()})
		require.NoError(t, err)
		require.Empty(t, report.Differences, "%s", report.ID)
		require.Empty(t, report.NotChecked, "%s", report.ID)
		values, decided = values+report.Checked, decided+len(report.Decided)
	}
	require.Positive(t, claims)
	require.GreaterOrEqual(t, quotes, *propertyPolicies)
	return fmt.Sprintf("receipts of %d quotes and %d claims verify: %d values; %d parts were decided by others", quotes, claims, values, decided)
}
