package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// otherIBAN is an account that every bank pays to.
const otherIBAN = "GB29NWBK60161331926819"

// bankOf is servers that pay through a bank in a process of its own.
type bankOf struct {
	*crash

	mode, books string // the bank's files
	bank        *process
}

// newBankOf starts a bank in a mode, and a server that owes n payouts.
func newBankOf(t *testing.T, in string, n int) *bankOf {
	t.Helper()
	folder := t.TempDir()
	b := &bankOf{crash: &crash{cloud: newCloud(t)}, mode: filepath.Join(folder, "mode"), books: filepath.Join(folder, "books")}
	mode(t, b.mode, in)
	b.openAt(t, "127.0.0.1:0")
	b.serveBy(t, b.bank.base)
	b.owe(t, n)
	return b
}

// openAt opens the bank at an address, with the books that it had.
func (b *bankOf) openAt(t *testing.T, address string) {
	t.Helper()
	b.bank = b.startBankAs(t, address, b.books, b.mode)
}

// are tells whether as many payouts have a status.
func (b *bankOf) are(t *testing.T, n int, status string) func() bool {
	t.Helper()
	return func() bool { return b.count(t, "payouts where status = $1", status) == n }
}

// hold stops releases until the accounts of all payouts that wait for one are verified.
func (b *bankOf) hold(t *testing.T) {
	t.Helper()
	_, err := b.Service.StopReleases(t.Context(), b.Operator, model.StopRequest{Reason: "A drill."})
	require.NoError(t, err)
	b.name(t, len(b.policies))
	b.passes(t, time.Minute, "every account is verified", func() bool { return b.count(t, "payouts where status = 'blocked'") == 0 })
}

// neverReceived has an operator resolve payouts in doubt by the bank's word that it never
// received them, and let them go out again.
func (b *bankOf) neverReceived(t *testing.T) {
	t.Helper()
	for _, payout := range b.payouts(t) {
		resolved := settled(func() bool {
			_, err := b.Service.ResolvePayout(t.Context(), b.Operator, model.ResolutionRequest{PayoutID: payout.ID, Outcome: model.PayoutBlocked, Note: "The bank's letter."})
			return err == nil // a worker may be asking the bank
		})
		require.True(t, resolved)
		_, err := b.Service.UnblockPayout(t.Context(), b.Operator, model.LiftRequest{PayoutID: payout.ID, Note: "It may go."})
		require.NoError(t, err)
	}
}

func (b *bankOf) payouts(t *testing.T) []wire.Payout {
	t.Helper()
	list, err := b.Service.ListPayouts(t.Context(), b.Acme, model.Filter{}, model.PageRequest{Limit: model.MaxPageSize})
	require.NoError(t, err)
	require.False(t, list.HasMore)
	return list.Data
}

// paidOnce requires that the bank has paid every payout once, and that our books agree.
func (b *bankOf) paidOnce(t *testing.T, n int) {
	t.Helper()
	require.Equal(t, b.released(t), bankSays(t, b.books), "the bank's books and ours")
	require.Len(t, bankSays(t, b.books), n)
}

// TestBankThatMovedPaysEachPayoutOnce gives a bank, which has paid and lost every answer,
// another address. Until two operators declare that it is the same bank, nothing is
// asked or sent there; afterwards it settles what it paid.
func TestBankThatMovedPaysEachPayoutOnce(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankOf(t, bankLoses, n)
	b.name(t, n)
	b.passes(t, time.Minute, "every order is in doubt", b.are(t, n, "reconciling"))
	b.bank.kill()
	mode(t, b.mode, bankWell)
	b.openAt(t, "127.0.0.1:0")
	b.serveBy(t, b.bank.base)
	adopt := func(who string) {
		var from, to string
		rails, err := b.Service.KnownRails(t.Context(), b.Operator)
		require.NoError(t, err)
		for _, known := range rails {
			if strings.HasPrefix(known.Address, b.bank.base) {
				to = known.ID
			} else if known.InDoubt == n {
				from = known.ID
			}
		}
		operator := modeltest.Operator()
		operator.Name = who
		_, err = b.Service.AdoptRail(t.Context(), operator, model.AdoptionRequest{From: from, To: to, Reason: "The bank's letter."})
		require.NoError(t, err)
	}
	waits := func(attempts int) func() bool {
		return func() bool { return b.count(t, "payout_attempts where code = 'other_rail'") >= attempts }
	}
	b.passes(t, 3*time.Hour, "its doubts are not for the new address", waits(n))
	adopt("ann")
	b.passes(t, 3*time.Hour, "one operator is not enough", waits(2*n))
	require.True(t, b.are(t, n, "reconciling")())
	adopt("ben")
	b.passes(t, 3*time.Hour, "every payout is released", b.are(t, n, "released"))
	b.paidOnce(t, n)
	require.Equal(t, n, b.count(t, "(select distinct key from payout_attempts) as keys"), "never another key")
}

// TestBankClosedForAWeekPaysWhenItIsBack closes a bank while a half of the payouts is in
// doubt, which it paid, and the other half has not been sent. A week later every payout
// is paid, and no operator did anything.
func TestBankClosedForAWeekPaysWhenItIsBack(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankOf(t, bankLoses, 2*n)
	b.name(t, n)
	b.passes(t, time.Minute, "every order is in doubt", b.are(t, n, "reconciling"))
	b.hold(t)
	address := strings.TrimPrefix(b.bank.base, "http://")
	b.bank.kill()
	mode(t, b.mode, bankWell)
	b.resume(t)
	for _, days := range []time.Duration{1, 6} {
		b.After(days * 24 * time.Hour)
		b.sweeps(t)
	}
	require.Positive(t, b.count(t, "payout_attempts where outcome = 'not_sent'"))
	require.True(t, b.are(t, n, "pending")())
	require.True(t, b.are(t, n, "reconciling")())
	b.openAt(t, address)
	b.passes(t, time.Minute, "every payout is released", b.are(t, 2*n, "released"))
	b.paidOnce(t, 2*n)
	require.Equal(t, 2*n, b.count(t, "(select distinct key from payout_attempts) as keys"), "never another key")
}

// TestOrderThatArrivesLateIsNotPaid suspends the bank's process: orders stand in its
// connections until an operator has resolved them as never received and they go out
// under their next keys. What it reads at last has expired.
func TestOrderThatArrivesLateIsNotPaid(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankOf(t, bankWell, n)
	b.hold(t)
	require.NoError(t, b.bank.command.Process.Signal(syscall.SIGSTOP))
	b.resume(t)
	b.passes(t, time.Second, "every order is in doubt", b.are(t, n, "reconciling"))
	sent := time.Now()
	b.After(model.ReleaseLease)
	b.neverReceived(t)
	require.Eventually(t, func() bool { return time.Since(sent) > model.ReleaseLease }, time.Minute, 100*time.Millisecond)
	require.NoError(t, b.bank.command.Process.Signal(syscall.SIGCONT))
	b.passes(t, time.Minute, "every payout is released", b.are(t, n, "released"))
	b.paidOnce(t, n)
	b.requireKeys(t, ".2")
}

// TestWorkerThatWakesLateIsNotPaidTwice suspends a server between its intents and its
// calls, has an operator resolve them as never received, lets another server pay under
// the next keys, and wakes the first one.
func TestWorkerThatWakesLateIsNotPaidTwice(t *testing.T) {
	t.Parallel()
	n := min(*hostilePayouts, 12) // a server has 16 workers
	b := newBankOf(t, bankWell, n)
	b.hold(t)
	// Sends share this lock. Nobody else takes it alone: it holds them up.
	sends, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer sends.Release()
	_, err = sends.Exec(t.Context(), "select pg_advisory_lock(hashtext('release stop'), 1)")
	require.NoError(t, err)
	b.resume(t)
	b.passes(t, time.Second, "every payout has its intent, and a call waits", func() bool {
		return b.count(t, "payouts where status = 'releasing'") == n && b.count(t, "pg_locks where locktype = 'advisory' and objid = 1 and not granted") > 0
	})
	late := b.running[0]
	require.NoError(t, late.command.Process.Signal(syscall.SIGSTOP))
	suspended := time.Now()
	_, err = sends.Exec(t.Context(), "select pg_advisory_unlock(hashtext('release stop'), 1)")
	require.NoError(t, err)
	mode(t, b.mode, bankLoses)
	b.running[0] = b.start(t, "rehearsal")
	b.passes(t, model.ReleaseLease, "another server asks the bank, which does not answer", b.are(t, n, "reconciling"))
	require.Empty(t, bankSays(t, b.books))
	b.neverReceived(t)
	mode(t, b.mode, bankWell)
	b.passes(t, time.Minute, "another server pays", b.are(t, n, "released"))
	require.Eventually(t, func() bool { return time.Since(suspended) > model.ReleaseLease }, time.Minute, 100*time.Millisecond)
	require.NoError(t, late.command.Process.Signal(syscall.SIGCONT))
	require.NoError(t, late.command.Process.Signal(syscall.SIGINT)) // it ends what it has begun
	<-late.ended
	b.paidOnce(t, n)
	b.requireKeys(t, ".2")
}

// requireKeys requires that every key under which the bank paid has an ending.
func (b *bankOf) requireKeys(t *testing.T, ending string) {
	t.Helper()
	entries, err := railtest.Read(b.books)
	require.NoError(t, err)
	for _, entry := range entries {
		require.Equal(t, "accepted", entry.Told.Status)
		require.True(t, strings.HasSuffix(entry.Told.Key, ending), entry.Told.Key)
	}
}

// TestFalseRefusalsPayNothingTwice lets a bank pay, sign its answers wrongly and then
// send notices that it refused, while another account of each payout is verified.
func TestFalseRefusalsPayNothingTwice(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankOf(t, bankMissigns, n)
	policies := b.policies
	b.name(t, n)
	b.passes(t, time.Minute, "every order is in doubt", b.are(t, n, "reconciling"))
	b.nameAccount(t, policies, otherIBAN)
	b.passes(t, time.Minute, "the other accounts are verified", func() bool { return b.count(t, "payout_methods where status = 'verified'") >= n })
	entries, err := railtest.Read(b.books)
	require.NoError(t, err)
	require.Len(t, entries, n)
	for _, entry := range entries {
		refused := httprail.Transfer{Key: entry.Told.Key, Status: "refused", Code: "account_closed"}
		require.True(t, settled(func() bool { return b.notice(t, refused) == http.StatusNoContent }), "a notice during a call is taken later")
	}
	asked := b.count(t, "payout_attempts")
	b.passes(t, time.Minute, "the bank is asked", func() bool { return b.count(t, "payout_attempts") >= asked+n })
	require.True(t, b.are(t, n, "reconciling")(), "a refusal that is not confirmed frees no key")
	mode(t, b.mode, bankWell)
	b.passes(t, time.Minute, "every payout is released", b.are(t, n, "released"))
	b.paidOnce(t, n)
	b.requireKeys(t, ".1")
	require.Equal(t, n, b.count(t, "findings where kind = 'contradiction'"), "it had refused what it paid")
}

// TestRefusedPayoutsMoveToTheNextAccount refuses payouts, and loses every answer, while
// another account of each is verified: they go there by themselves.
func TestRefusedPayoutsMoveToTheNextAccount(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankOf(t, bankRefusesMute, n)
	policies := b.policies
	b.name(t, n)
	b.passes(t, time.Minute, "every order is in doubt", b.are(t, n, "reconciling"))
	b.nameAccount(t, policies, otherIBAN)
	b.passes(t, time.Minute, "the other accounts are verified", func() bool { return b.count(t, "payout_methods where status = 'verified'") >= n })
	require.Empty(t, bankSays(t, b.books))
	mode(t, b.mode, bankRefuses)
	b.passes(t, time.Minute, "every payout is released", b.are(t, n, "released"))
	b.paidOnce(t, n)
	for _, payout := range b.payouts(t) {
		require.Equal(t, 2, b.count(t, "(select distinct key from payout_attempts where key like $1) as keys", payout.PolicyID+".%"))
	}
	require.Zero(t, b.count(t, "findings"), "nobody contradicted anything")
}
