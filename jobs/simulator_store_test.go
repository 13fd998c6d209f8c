package jobs

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/money"
)

func TestTheLedgerRemembersTheFirstEntryOfAKey(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	ledger := NewSimulatorStore(s.pool)
	_, found, err := ledger.Find(t.Context(), "pay_1.1")
	require.NoError(t, err)
	require.False(t, found)

	entries := make([]rail.SimulatedTransfer, 10)
	var all sync.WaitGroup
	for i := range entries {
		entry := rail.SimulatedTransfer{Key: "pay_1.1", PayoutID: "pay_1", Amount: money.New(int64(i+1), "JPY"), Payee: "iban ····3000", Outcome: rail.Accepted, Reference: "sim_1"}
		all.Go(func() {
			kept, err := ledger.Record(t.Context(), []rail.SimulatedTransfer{entry})
			if err == nil {
				entries[i] = kept[0].SimulatedTransfer
			}
		})
	}
	all.Wait()
	require.NotZero(t, entries[0])
	for _, entry := range entries {
		require.Equal(t, entries[0], entry, "of racing calls one writes and all read the same")
	}
	kept, found, err := NewSimulatorStore(s.pool).Find(t.Context(), "pay_1.1")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, entries[0], kept, "a restarted rail remembers")
	require.Equal(t, 1, s.countRows("simulator_transfers"))
}

func TestALedgerWithoutItsDatabaseIsInDoubt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.execSQL("alter table simulator_transfers rename to mislaid")
	order := rail.Instruction{Key: "pay_1.1", PayoutID: "pay_1", Amount: money.New(1, "USD"), Payee: rail.Payee{Number: numberFor(rail.Accept)}}
	for _, result := range []rail.Result{s.rail.Send(t.Context(), order), s.rail.Inquire(t.Context(), order.Key)} {
		require.Equal(t, rail.Unknown, result.Outcome)
		require.ErrorContains(t, result.Err, "simulator_transfers")
	}
}

func TestSimulatorReportsOnlyTheTransfersOfTheDay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	transfers := NewSimulatorStore(s.pool)
	_, err := transfers.Record(t.Context(), []rail.SimulatedTransfer{{Key: "pay_1.1", PayoutID: "pay_1", Amount: money.New(1, "JPY"), Outcome: rail.Accepted}})
	require.NoError(t, err)
	var day time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "select date_trunc('day', created_at at time zone 'UTC') at time zone 'UTC' from simulator_transfers").Scan(&day))
	for after, count := range map[int]int{-1: 0, 0: 1, 1: 0} {
		found, err := transfers.ListDay(t.Context(), day.UTC().AddDate(0, 0, after))
		require.NoError(t, err)
		require.Len(t, found, count, "%d days after", after)
	}
}
