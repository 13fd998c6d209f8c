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
	first, second, other, last := budget.Open("acme"), budget.Open("acme"), budget.Open("globex"), budget.Open("umbrella")
	require.NoError(t, first.Take(6))
	require.NoError(t, second.Take(4))
	require.Equal(t, &upload.Exceeded{Limit: 10, Whose: "one caller"}, upload.AsExceeded(second.Take(1)))
	require.NoError(t, other.Take(5))
	require.Equal(t, &upload.Exceeded{Limit: 15, Whose: "all callers"}, upload.AsExceeded(last.Take(1)))
	first.Release()
	first.Release() // once is enough
	require.NoError(t, last.Take(6))
	require.Error(t, last.Take(1))
	require.NoError(t, second.Take(0))
	second.Release()
	other.Release()
	last.Release()
	require.NoError(t, budget.Open("acme").Take(10))
	(*upload.Charge)(nil).Release()
}

func TestChunksAreChargedAsTheyCome(t *testing.T) {
	t.Parallel()
	charge := upload.NewBudget(10, 10).Open("acme")
	read, err := io.ReadAll(charge.Reader(strings.NewReader("0123456789")))
	require.NoError(t, err)
	require.Len(t, read, 10)
	_, err = io.ReadAll(charge.Reader(strings.NewReader("0")))
	require.NotNil(t, upload.AsExceeded(err))
}
