package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// This run is short; make chaos runs a longer one.
var (
	moneyPayouts  = flag.Int("payouts", 60, "how many payouts TestEachPayoutIsPaidOnceDespiteCrashes makes")
	moneyKills    = flag.Int("money-kills", 6, "how often it kills a process that is paying")
	moneyRestarts = flag.Int("restarts", 1, "how often it crashes the database while processes pay")
)

// paymentChaos runs processes that pay through a bank and kills them, on a database that
// also crashes.
type paymentChaos struct {
	*processGroup

	server         *devpg.Server
	running        []*serverProcess
	policies       []string // their payouts wait for an account
	effectiveKills int      // kills during a payout
}

// The test kills processes while they pay, and the database crashes repeatedly.
// Afterwards the bank has executed every payout once, and its book agrees with our ledger
// to the cent.
func TestEachPayoutIsPaidOnceDespiteCrashes(t *testing.T) {
	t.Parallel()
	c := newPaymentChaos(t)
	books := c.startBank(t)
	for range 3 {
		c.running = append(c.running, c.startProcess(t, "rehearsal"))
	}
	c.createUnpaidClaims(t, *moneyPayouts)
	for wave := range *moneyKills {
		c.recordAccounts(t, *moneyPayouts / *moneyKills)
		if wave%max(1, *moneyKills/max(1, *moneyRestarts)) == 0 && *moneyRestarts > 0 {
			c.waitForPayingProcess(t)
			c.crashDatabase(t)
		}
		c.killPayingProcess(t)
	}
	c.recordAccounts(t, len(c.policies))
	c.advanceUntilFinal(t)
	require.GreaterOrEqual(t, c.effectiveKills, *moneyKills)
	t.Logf("%d payouts, %d kills while paying", *moneyPayouts, c.effectiveKills)
	paid := executedByBank(t, books)
	require.Equal(t, c.releasedAmounts(t), paid, "the bank's books and ours")
	require.Len(t, paid, *moneyPayouts)
}

// newPaymentChaos starts a Postgres server of its own that can survive a crash.
func newPaymentChaos(t *testing.T, with ...modeltest.Option) *paymentChaos {
	t.Helper()
	c := &paymentChaos{}
	var err error
	c.server, err = devpg.Start(t.Context(), devpg.Options{DataDir: filepath.Join(modeltest.DataFolder(t), "data"), Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.server.Stop(context.Background())) })
	require.NoError(t, devpg.CreateDatabase(t.Context(), c.server.URL("postgres"), "parapet"))
	c.processGroup = newProcessGroupOn(t, modeltest.New(t, append(with, modeltest.OnServer(c.server.URL("parapet")))...))
	return c
}

// crashDatabase ends the database without a checkpoint, as a crash does, and starts it
// again.
func (c *paymentChaos) crashDatabase(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(c.server.DataDir() + "/postmaster.pid")
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT)) // Postgres: immediate shutdown
	<-c.server.Done()
	before := c.server.URL("parapet")
	_ = c.server.Stop(t.Context()) // it reports that the server ended by itself
	again, err := devpg.Start(t.Context(), devpg.Options{DataDir: c.server.DataDir(), Durable: true})
	require.NoError(t, err)
	c.server = again
	require.Equal(t, before, c.server.URL("parapet"))
}

// createUnpaidClaims creates approved claims whose payouts wait for an account.
func (c *paymentChaos) createUnpaidClaims(t *testing.T, n int) {
	t.Helper()
	for range n {
		c.policies = append(c.policies, c.QuoteAndBind("quake-circle", nil).ID)
	}
	quake, _, err := c.Service.Occurrences.RecordObservation(t.Context(), c.Source, modeltest.Quake("us1000chhc", c.Now(), hazard.Point{Latitude: 24.1736, Longitude: 121.653}, "6.4"), false)
	require.NoError(t, err)
	require.NoError(t, c.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*quake.OccurrenceID}}))
	require.Equal(t, n, c.countRows(t, "payouts where status = 'blocked'"))
}

// recordAccounts records the accounts of some payouts over HTTP, so that they are
// verified and paid.
func (c *paymentChaos) recordAccounts(t *testing.T, n int) {
	t.Helper()
	c.recordAccountsOf(t, c.policies[:n], demoIBAN)
	c.policies = c.policies[n:]
}

// recordAccountsOf records the account of each of these policies over HTTP.
func (c *paymentChaos) recordAccountsOf(t *testing.T, policies []string, iban string) {
	t.Helper()
	for _, policy := range policies {
		body := fmt.Sprintf(`{"policy_id": %q, "type": "iban", "currency": "USD", "beneficiary": {"name": "Lin Mei-hua", "country": "TW"}, "iban": {"iban": %q}}`, policy, iban)
		var said response
		taken := becomesTrue(func() bool {
			c.restartStopped(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			said = c.postJSON(ctx, c.running[rand.IntN(len(c.running))], "/payout_methods", "account-"+iban+"-of-"+policy, body)
			return said.status == http.StatusCreated
		})
		require.True(t, taken, "an account is taken, whatever crashed meanwhile: %d %s", said.status, said.body)
	}
}

// restartStopped starts processes that ended by themselves, as an operator does: a
// process that loses its database while it starts ends.
func (c *paymentChaos) restartStopped(t *testing.T) {
	t.Helper()
	for i, p := range c.running {
		select {
		case <-p.exited:
			p.killNow()
			t.Logf("a process gave up: %s", p.log.lastLine())
			c.running[i] = c.startProcess(t, "rehearsal")
		default:
		}
	}
}

// payingWorkers returns the workers that are paying now.
const payingWorkers = "from river.river_job where kind = 'release_payout' and state = 'running'"

// waitForPayingProcess waits for a process that is paying and returns its index.
func (c *paymentChaos) waitForPayingProcess(t *testing.T) (place int) {
	t.Helper()
	require.Eventually(t, func() bool {
		rows, err := c.DB.Pool.Query(t.Context(), "select attempted_by[array_upper(attempted_by, 1)] "+payingWorkers)
		if err != nil {
			return false // the database is starting
		}
		defer rows.Close()
		for rows.Next() {
			var worker string
			if rows.Scan(&worker) != nil {
				return false
			}
			if place = c.indexOfWorker(worker); place >= 0 {
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond, "somebody pays")
	return place
}

// indexOfWorker returns the index of the process with a worker's name; -1 if there is
// none.
func (c *paymentChaos) indexOfWorker(worker string) int {
	return slices.IndexFunc(c.running, func(p *serverProcess) bool { return strings.Contains(p.log.String(), `"worker":"`+worker+`"`) })
}

// killPayingProcess kills a process while it pays, and starts another.
func (c *paymentChaos) killPayingProcess(t *testing.T) {
	t.Helper()
	for hit := false; !hit; {
		c.restartStopped(t)
		place := c.waitForPayingProcess(t)
		p := c.running[place]
		p.killNow()
		// Its jobs are locked until they are rescued.
		hit = c.countRows(t, "(select unnest(attempted_by) as worker "+payingWorkers+") as paying where position(worker in $1) > 0", p.log.String()) > 0
		if hit {
			c.effectiveKills++
		}
		c.running[place] = c.startProcess(t, "rehearsal")
	}
}

// advanceUntilFinal advances the clock until every payout is final.
func (c *paymentChaos) advanceUntilFinal(t *testing.T) {
	t.Helper()
	const open = "payouts where status in ('pending', 'releasing', 'reconciling', 'blocked')"
	for range 60 {
		c.AdvanceClock(90 * time.Second) // the leases of the killed processes end
		if becomesTrueWithin(stepWait, func() bool { return c.countRows(t, open) == 0 }) {
			return
		}
	}
	left := c.countRows(t, open)
	if left > 0 {
		c.logState(t, open)
	}
	require.Zero(t, left, "payouts that are neither final nor in a doubt that ends")
}

// logState logs what the processes logged, and the rows that show why payouts are open.
func (c *paymentChaos) logState(t *testing.T, open string) {
	t.Helper()
	for _, p := range c.running {
		t.Logf("a process logged:\n%s", p.log)
	}
	for _, table := range []string{open, "payout_methods", "payout_attempts", "reconciliation_exceptions", "database_restores", "release_stops", "invariant_violations", "invariant_checks", "river.river_job where finalized_at is null"} {
		rows, err := c.DB.Pool.Query(t.Context(), "select row_to_json(r)::text from (select * from "+table+") as r")
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		t.Logf("%s:\n%s", table, strings.Join(lines, "\n"))
	}
}

// becomesTrue reports whether the condition becomes true within half a minute.
func becomesTrue(yes func() bool) bool { return becomesTrueWithin(30*time.Second, yes) }

// becomesTrueWithin is becomesTrue with another limit.
func becomesTrueWithin(limit time.Duration, yes func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(limit); ; {
		if yes() {
			return true
		}
		select {
		case <-late:
			return false
		case <-tick.C:
		}
	}
}

// releasedAmounts returns the amount that our ledger shows as paid for each payout.
func (c *paymentChaos) releasedAmounts(t *testing.T) map[string]int64 {
	t.Helper()
	ours := map[string]int64{}
	for page := (store.PageRequest{Limit: store.MaxPageSize}); ; {
		list, err := c.Service.Claims.ListPayouts(t.Context(), c.Acme, store.Filter{}, page)
		require.NoError(t, err)
		for _, payout := range list.Data {
			require.Contains(t, []string{"released", "reconciled"}, payout.Status)
			ours[payout.ID] = payout.Amount.Amount
		}
		if !list.HasMore {
			return ours
		}
		page.Cursor = *list.NextCursor
	}
}

// countRows counts rows; it repeats the query while the database is starting.
func (c *paymentChaos) countRows(t *testing.T, of string, args ...any) (n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return c.DB.Pool.QueryRow(t.Context(), "select count(*) from "+of, args...).Scan(&n) == nil
	}, time.Minute, 20*time.Millisecond, of)
	return n
}
