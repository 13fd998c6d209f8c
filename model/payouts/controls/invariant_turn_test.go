package controls_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// TestCheckTakesATurnOfBulkWork checks invariants in a process that answers requests.
func TestCheckTakesATurnOfBulkWork(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	b.OccupyBulkWork()()
	blocked, ended := b.BlockTable("timeline_entries"), make(chan error, 1)
	go func() { ended <- b.Service.Controls.CheckInvariants(t.Context()) }()
	blocked.AwaitWaiter()
	require.Equal(t, modeltest.BulkTurns()-1, b.FreeBulkTurns())
	blocked.Release()
	require.NoError(t, <-ended)
	require.Equal(t, modeltest.BulkTurns(), b.FreeBulkTurns(), "it gave its turn back")
}

// TestCheckWaitsForTurnsAMinuteInAll takes turns while other work has all.
func TestCheckWaitsForTurnsAMinuteInAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store.Store{}
		takeTurn, began := controls.TakeTurns(s), time.Now()
		for wait := range 100 {
			for range 3 {
				s.Bulk.CountRequest()
			}
			for wait == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, err := s.Bulk.Enter(ctx)
				cancel()
				if err != nil {
					began = time.Now()
					break
				}
			}
			takeTurn(t.Context())()
			require.Equal(t, time.Duration(min(wait+1, 60))*time.Second, time.Since(began))
		}
	})
}

// TestCheckReadsWithItsSettings reads them by a view.
func TestCheckReadsWithItsSettings(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), `create view inv_settings as select id as subject, partner, concat_ws(' ', current_setting('statement_timeout'),
		current_setting('max_parallel_workers_per_gather'), current_setting('random_page_cost')) as message from policies`)
	require.NoError(t, err)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	found := modeltest.Must(b.Service.Controls.ListViolations(t.Context(), b.Operator, "inv_settings", 1))
	require.Len(t, found, 1)
	require.Equal(t, "8s 0 1.1", found[0].Message)
}
