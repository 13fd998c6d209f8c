package ledger

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// totals returns the amount of each account in a set.
func totals(set PostingSet) map[Account]int64 {
	sums := map[Account]int64{}
	for _, side := range set.Sides {
		sums[side.account] += side.amount
	}
	return sums
}

func TestTransfersOfASetAddUpByAccount(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	accounts := Accounts()
	for range 200 {
		var set PostingSet
		want := map[Account]int64{}
		for range random.IntN(12) {
			move := Transfer{accounts[random.IntN(len(accounts))], accounts[random.IntN(len(accounts))]}
			if random.IntN(5) == 0 {
				move = Transfer{} // moves nothing
			}
			amount := random.Int64N(1000)
			set.AddTransfer(move, amount)
			if move != (Transfer{}) {
				want[move.Debit] += amount
				want[move.Credit] -= amount
			}
		}
		require.Equal(t, want, totals(set))
		require.Len(t, set.Sides, len(want), "one side an account")
		var sum int64
		for _, amount := range totals(set) {
			sum += amount
		}
		require.Zero(t, sum)
	}
}

func TestReversedTransferUndoesIt(t *testing.T) {
	t.Parallel()
	for _, move := range []Transfer{{AccountClaimsIncurred, AccountReserve}, {AccountReturn, AccountPayout}} {
		var set PostingSet
		set.AddTransfer(move, 70)
		require.Equal(t, map[Account]int64{move.Debit: 70, move.Credit: -70}, totals(set), "a debit is positive")
		set.AddTransfer(move.Reversed(), 70)
		require.Equal(t, map[Account]int64{move.Debit: 0, move.Credit: 0}, totals(set))
	}
	var set PostingSet
	set.AddTransfer(Transfer{AccountCommission, AccountCommissionPayable}, 5)
	require.Equal(t, map[Account]int64{AccountCommission: -5, AccountCommissionPayable: 5}, totals(set.Reversed()))
}

func TestTextOfAStatementIsBounded(t *testing.T) {
	t.Parallel()
	text := new(boundedText)
	_, err := text.Write([]byte(strings.Repeat("x", maxStatementBytes)))
	require.NoError(t, err)
	_, err = text.Write([]byte("x"))
	require.ErrorContains(t, err, "from")
	require.Equal(t, maxStatementBytes, text.Len())
}
