package upload_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/upload"
)

func TestBudgetBoundsOneCallerAndAll(t *testing.T) {
	t.Parallel()
	budget := upload.NewBudget(10, 15)
	first, second, other, last := budget.NewCharge("acme"), budget.NewCharge("acme"), budget.NewCharge("globex"), budget.NewCharge("umbrella")
	require.NoError(t, first.Add(6))
	require.NoError(t, second.Add(4))
	require.Equal(t, &upload.BudgetExceededError{Limit: 10, Scope: "one caller"}, upload.AsExceeded(second.Add(1)))
	require.NoError(t, other.Add(5))
	require.Equal(t, &upload.BudgetExceededError{Limit: 15, Scope: "all callers"}, upload.AsExceeded(last.Add(1)))
	first.Release()
	first.Release() // once is enough
	require.NoError(t, last.Add(6))
	require.Error(t, last.Add(1))
	require.NoError(t, second.Add(0))
	second.Release()
	other.Release()
	last.Release()
	require.NoError(t, budget.NewCharge("acme").Add(10))
	(*upload.Charge)(nil).Release()
}

func TestChunkedBodiesAreChargedAsTheyArrive(t *testing.T) {
	t.Parallel()
	charge := upload.NewBudget(10, 10).NewCharge("acme")
	read, err := io.ReadAll(charge.Reader(strings.NewReader("0123456789")))
	require.NoError(t, err)
	require.Len(t, read, 10)
	_, err = io.ReadAll(charge.Reader(strings.NewReader("0")))
	require.NotNil(t, upload.AsExceeded(err))
}
