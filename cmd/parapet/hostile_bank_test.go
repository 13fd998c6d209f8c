package main

import (
	"encoding/base64"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
)

// This run is short; make chaos runs a longer one.
var hostilePayouts = flag.Int("hostile-payouts", 6, "how many payouts TestHostileBankPaysEachPayoutOnce makes")

// setBankMode changes the behaviour of the bank.
func setBankMode(t *testing.T, file, mode string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(mode), 0o600))
}

// stepWait is how long a test waits for a condition before it advances the clock: two
// intervals of the sweeps.
const stepWait = 10 * time.Second

// advanceUntil advances the clock step by step until the condition is true.
func (c *paymentChaos) advanceUntil(t *testing.T, step time.Duration, says string, yes func() bool) {
	t.Helper()
	for range 36 {
		if becomesTrueWithin(stepWait, yes) {
			return
		}
		c.AdvanceClock(step)
	}
	require.Fail(t, says)
}

// startBankAs runs a bank in its own process, with this book and this mode file.
func (c *processGroup) startBankAs(t *testing.T, address, books, mode string) *serverProcess {
	t.Helper()
	other := &processGroup{Bundle: c.Bundle, environment: append(slices.Clone(c.environment), bankAddressVar+"="+address, bankLedgerVar+"="+books, bankModeVar+"="+mode)}
	return other.startProcess(t, "bank")
}

// startServerWithBank starts one server whose bank is at an address.
func (c *paymentChaos) startServerWithBank(t *testing.T, bank string) {
	t.Helper()
	for _, p := range c.running {
		p.killNow()
	}
	c.environment = append(c.environment, "PARAPET_RAIL=http", "PARAPET_RAIL_URL="+bank+"/v1",
		"PARAPET_RAIL_SECRET="+base64.StdEncoding.EncodeToString(bankSecrets[0]), "PARAPET_LOOPBACK_TARGETS=true",
		"PARAPET_REHEARSAL=true") // a later server starts on a shifted clock
	c.running = []*serverProcess{c.startProcess(t, "rehearsal")}
}

// sendNotice makes the bank send a signed notice about a key.
func (c *paymentChaos) sendNotice(t *testing.T, said httprail.Transfer) int {
	t.Helper()
	body, err := json.Marshal(said)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.running[0].base+httprail.NoticePath, strings.NewReader(string(body)))
	require.NoError(t, err)
	bankSecrets.SignRequest(request, body, time.Now())
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// TestHostileBankPaysEachPayoutOnce pays through a bank in another process that is
// closed, loses its answers, sends false refusals, is replaced by another bank under the
// same name, and forgets its keys. Nothing is paid twice, and every payout is final when
// the bank works again.
func TestHostileBankPaysEachPayoutOnce(t *testing.T) {
	t.Parallel()
	c := &paymentChaos{processGroup: newProcessGroup(t)}
	folder, n := t.TempDir(), *hostilePayouts
	file, books, others := filepath.Join(folder, "mode"), filepath.Join(folder, "books"), filepath.Join(folder, "others")
	setBankMode(t, file, bankLosesAnswers) // it executes every order and answers none
	first := c.startBankAs(t, "127.0.0.1:0", books, file)
	c.startServerWithBank(t, first.base)
	c.createUnpaidClaims(t, n)
	c.recordAccounts(t, n)
	statuses := func(status string) func() bool {
		return func() bool { return c.countRows(t, "payouts where status = $1", status) == n }
	}

	c.advanceUntil(t, time.Minute, "the accounts are checked and every order is in doubt", statuses("reconciling"))
	require.Len(t, executedByBank(t, books), n)
	first.killNow()
	c.advanceUntil(t, 10*time.Minute, "it is asked while it is closed", func() bool { return c.countRows(t, "payout_attempts where outcome = 'not_sent'") > 0 })
	require.True(t, statuses("reconciling")())

	// Another bank has its name and gets neither inquiries nor orders.
	second := c.startBankAs(t, "127.0.0.1:0", others, filepath.Join(folder, "well"))
	c.startServerWithBank(t, second.base)
	c.advanceUntil(t, 3*time.Hour, "its doubts are not for the second bank", func() bool {
		return c.countRows(t, "(select distinct payout_id from payout_attempts where code = 'other_rail') as held") == n
	})

	// The first bank is back, has lost its keys, and sends false refusals.
	setBankMode(t, file, bankForgetsKeys)
	first = c.startBankAs(t, strings.TrimPrefix(first.base, "http://"), books, file)
	c.startServerWithBank(t, first.base)
	entries, err := railtest.ReadBook(books)
	require.NoError(t, err)
	for _, entry := range entries {
		said := httprail.Transfer{Key: entry.Answer.Key, Status: "refused", Code: "account_closed"}
		require.True(t, becomesTrue(func() bool { return c.sendNotice(t, said) == http.StatusNoContent }), "a notice during a call is taken later")
	}
	c.AdvanceClock(25 * time.Hour)
	c.advanceUntil(t, time.Hour, "a key that may be forgotten is not sent again", func() bool {
		return c.countRows(t, "(select distinct payout_id from payout_attempts where code = 'key_forgotten') as kept") == n
	})
	require.True(t, statuses("reconciling")())

	setBankMode(t, file, bankNormal)
	c.advanceUntil(t, time.Hour, "every payout is released", statuses("released"))
	require.Equal(t, c.releasedAmounts(t), executedByBank(t, books), "the bank's books and ours")
	require.Empty(t, executedByBank(t, others))
	require.Equal(t, n, c.countRows(t, "(select distinct key from payout_attempts) as keys"), "never another key")
	require.Equal(t, n, c.countRows(t, "reconciliation_exceptions where kind = 'contradiction'"), "it had refused what it paid")
}
