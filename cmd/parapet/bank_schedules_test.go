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
	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// otherIBAN is an account that every bank pays to.
const otherIBAN = "GB29NWBK60161331926819"

// bankFixture runs servers that pay through a bank in a process of its own.
type bankFixture struct {
	*paymentChaos

	mode, books string // mode file and book of the bank
	bank        *serverProcess
}

// newBankFixture starts a bank in a mode, and a server that owes n payouts.
func newBankFixture(t *testing.T, in string, n int) *bankFixture {
	t.Helper()
	folder := t.TempDir()
	b := &bankFixture{paymentChaos: &paymentChaos{processGroup: newProcessGroup(t)}, mode: filepath.Join(folder, "mode"), books: filepath.Join(folder, "books")}
	setBankMode(t, b.mode, in)
	b.startAt(t, "127.0.0.1:0")
	b.startServerWithBank(t, b.bank.base)
	b.createUnpaidClaims(t, n)
	return b
}

// startAt starts the bank at an address, with its existing book.
func (b *bankFixture) startAt(t *testing.T, address string) {
	t.Helper()
	b.bank = b.startBankAs(t, address, b.books, b.mode)
}

// haveStatus reports whether exactly this many payouts have a status.
func (b *bankFixture) haveStatus(t *testing.T, n int, status string) func() bool {
	t.Helper()
	return func() bool { return b.countRows(t, "payouts where status = $1", status) == n }
}

// stopUntilVerified stops releases until the accounts of all payouts that wait for one are verified.
func (b *bankFixture) stopUntilVerified(t *testing.T) {
	t.Helper()
	_, err := b.Service.Controls.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "A drill."})
	require.NoError(t, err)
	b.recordAccounts(t, len(b.policies))
	b.advanceUntil(t, time.Minute, "every account is verified", func() bool { return b.countRows(t, "payouts where status = 'blocked'") == 0 })
}

// resolveAsNeverReceived has an operator resolve payouts in doubt, because the bank
// states that it never received them, and release them again.
func (b *bankFixture) resolveAsNeverReceived(t *testing.T) {
	t.Helper()
	for _, payout := range b.listPayouts(t) {
		resolved := becomesTrue(func() bool {
			_, err := b.Service.Payouts.Resolve(t.Context(), b.Operator, payouts.ResolutionRequest{PayoutID: payout.ID, Outcome: claims.PayoutBlocked, Note: "The bank's letter."})
			return err == nil // a worker may be asking the bank
		})
		require.True(t, resolved)
		_, err := b.Service.Payouts.Unblock(t.Context(), b.Operator, payouts.LiftHoldRequest{PayoutID: payout.ID, Note: "It may go."})
		require.NoError(t, err)
	}
}

func (b *bankFixture) listPayouts(t *testing.T) []wire.Payout {
	t.Helper()
	list, err := b.Service.Claims.ListPayouts(t.Context(), b.Acme, store.Filter{}, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	require.False(t, list.HasMore)
	return list.Data
}

// requirePaidOnce requires that the bank has paid every payout once, and that our ledger
// agrees.
func (b *bankFixture) requirePaidOnce(t *testing.T, n int) {
	t.Helper()
	require.Equal(t, b.releasedAmounts(t), executedByBank(t, b.books), "the bank's books and ours")
	require.Len(t, executedByBank(t, b.books), n)
}

// TestBankThatMovedPaysEachPayoutOnce moves a bank, which has paid and lost every answer,
// to another address. Until two operators declare that it is the same bank, it gets no
// inquiries and no orders there; afterwards it settles what it paid.
func TestBankThatMovedPaysEachPayoutOnce(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankFixture(t, bankLosesAnswers, n)
	b.recordAccounts(t, n)
	b.advanceUntil(t, time.Minute, "every order is in doubt", b.haveStatus(t, n, "reconciling"))
	b.bank.killNow()
	setBankMode(t, b.mode, bankNormal)
	b.startAt(t, "127.0.0.1:0")
	b.startServerWithBank(t, b.bank.base)
	adopt := func(who string) {
		var from, to string
		rails, err := b.Service.Releases.KnownRails(t.Context(), b.Operator)
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
		_, err = b.Service.Releases.AdoptRail(t.Context(), operator, release.AdoptionRequest{From: from, To: to, Reason: "The bank's letter."})
		require.NoError(t, err)
	}
	waits := func(attempts int) func() bool {
		return func() bool { return b.countRows(t, "payout_attempts where code = 'other_rail'") >= attempts }
	}
	b.advanceUntil(t, 3*time.Hour, "its doubts are not for the new address", waits(n))
	adopt("ann")
	b.advanceUntil(t, 3*time.Hour, "one operator is not enough", waits(2*n))
	require.True(t, b.haveStatus(t, n, "reconciling")())
	adopt("ben")
	b.advanceUntil(t, 3*time.Hour, "every payout is released", b.haveStatus(t, n, "released"))
	b.requirePaidOnce(t, n)
	require.Equal(t, n, b.countRows(t, "(select distinct key from payout_attempts) as keys"), "never another key")
}

// TestBankClosedForAWeekPaysWhenItIsBack closes a bank while half of the payouts are in
// doubt, which it paid, and the other half has not been sent. A week later every payout
// is paid without any action of an operator.
func TestBankClosedForAWeekPaysWhenItIsBack(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankFixture(t, bankLosesAnswers, 2*n)
	b.recordAccounts(t, n)
	b.advanceUntil(t, time.Minute, "every order is in doubt", b.haveStatus(t, n, "reconciling"))
	b.stopUntilVerified(t)
	address := strings.TrimPrefix(b.bank.base, "http://")
	b.bank.killNow()
	setBankMode(t, b.mode, bankNormal)
	b.resumeReleases(t)
	for _, days := range []time.Duration{1, 6} {
		b.AdvanceClock(days * 24 * time.Hour)
		b.waitForSweeps(t)
	}
	require.Positive(t, b.countRows(t, "payout_attempts where outcome = 'not_sent'"))
	require.True(t, b.haveStatus(t, n, "pending")())
	require.True(t, b.haveStatus(t, n, "reconciling")())
	b.startAt(t, address)
	b.advanceUntil(t, time.Minute, "every payout is released", b.haveStatus(t, 2*n, "released"))
	b.requirePaidOnce(t, 2*n)
	require.Equal(t, 2*n, b.countRows(t, "(select distinct key from payout_attempts) as keys"), "never another key")
}

// TestOrderThatArrivesLateIsNotPaid suspends the bank's process. The orders wait in its
// connections until an operator has resolved them as never received and they are sent
// under their next keys. The orders that the bank then reads have expired.
func TestOrderThatArrivesLateIsNotPaid(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankFixture(t, bankNormal, n)
	b.stopUntilVerified(t)
	b.bank.suspend(t)
	b.resumeReleases(t)
	b.advanceUntil(t, time.Second, "every order is in doubt", b.haveStatus(t, n, "reconciling"))
	sent := time.Now()
	b.AdvanceClock(payouts.ReleaseLease)
	b.resolveAsNeverReceived(t)
	require.Eventually(t, func() bool { return time.Since(sent) > payouts.ReleaseLease }, time.Minute, 100*time.Millisecond)
	b.bank.resume(t)
	b.advanceUntil(t, time.Minute, "every payout is released", b.haveStatus(t, n, "released"))
	b.requirePaidOnce(t, n)
	b.requireKeys(t, ".2")
}

// TestWorkerThatWakesLateIsNotPaidTwice suspends a server between its intents and its
// calls, resolves the payouts as never received, makes another server pay under the next
// keys, and resumes the first server.
func TestWorkerThatWakesLateIsNotPaidTwice(t *testing.T) {
	t.Parallel()
	n := min(*hostilePayouts, 12) // a server has 16 workers
	b := newBankFixture(t, bankNormal, n)
	b.stopUntilVerified(t)
	// Sends take this lock in shared mode. This session takes it exclusively, which
	// delays sends.
	sends, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer sends.Release()
	_, err = sends.Exec(t.Context(), "select pg_advisory_lock(hashtext('release stop'), 1)")
	require.NoError(t, err)
	b.resumeReleases(t)
	b.advanceUntil(t, time.Second, "every payout has its intent, and a call waits", func() bool {
		return b.countRows(t, "payouts where status = 'releasing'") == n && b.countRows(t, "pg_locks where locktype = 'advisory' and objid = 1 and not granted") > 0
	})
	late := b.running[0]
	late.suspend(t)
	suspended := time.Now()
	_, err = sends.Exec(t.Context(), "select pg_advisory_unlock(hashtext('release stop'), 1)")
	require.NoError(t, err)
	setBankMode(t, b.mode, bankLosesAnswers)
	b.running[0] = b.startProcess(t, "rehearsal")
	b.advanceUntil(t, payouts.ReleaseLease, "another server asks the bank, which does not answer", b.haveStatus(t, n, "reconciling"))
	require.Empty(t, executedByBank(t, b.books))
	b.resolveAsNeverReceived(t)
	setBankMode(t, b.mode, bankNormal)
	b.advanceUntil(t, time.Minute, "another server pays", b.haveStatus(t, n, "released"))
	require.Eventually(t, func() bool { return time.Since(suspended) > payouts.ReleaseLease }, time.Minute, 100*time.Millisecond)
	late.resume(t)
	require.NoError(t, late.command.Process.Signal(syscall.SIGINT)) // it finishes the work that it has begun
	<-late.exited
	b.requirePaidOnce(t, n)
	b.requireKeys(t, ".2")
}

// requireKeys requires that every key under which the bank paid has a final status.
func (b *bankFixture) requireKeys(t *testing.T, ending string) {
	t.Helper()
	entries, err := railtest.ReadBook(b.books)
	require.NoError(t, err)
	for _, entry := range entries {
		require.Equal(t, "accepted", entry.Answer.Status)
		require.True(t, strings.HasSuffix(entry.Answer.Key, ending), entry.Answer.Key)
	}
}

// TestFalseRejectionsDoNotCauseDoublePayment makes a bank pay, sign its answers wrongly
// and then send refusal notices, while another account of each payout is verified.
func TestFalseRejectionsDoNotCauseDoublePayment(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankFixture(t, bankSignsWrongly, n)
	policies := b.policies
	b.recordAccounts(t, n)
	b.advanceUntil(t, time.Minute, "every order is in doubt", b.haveStatus(t, n, "reconciling"))
	b.recordAccountsOf(t, policies, otherIBAN)
	b.advanceUntil(t, time.Minute, "the other accounts are verified", func() bool { return b.countRows(t, "payout_methods where status = 'verified'") >= n })
	entries, err := railtest.ReadBook(b.books)
	require.NoError(t, err)
	require.Len(t, entries, n)
	for _, entry := range entries {
		refused := httprail.Transfer{Key: entry.Answer.Key, Status: "refused", Code: "account_closed"}
		require.True(t, becomesTrue(func() bool { return b.sendNotice(t, refused) == http.StatusNoContent }), "a notice during a call is taken later")
	}
	asked := b.countRows(t, "payout_attempts")
	b.advanceUntil(t, time.Minute, "the bank is asked", func() bool { return b.countRows(t, "payout_attempts") >= asked+n })
	require.True(t, b.haveStatus(t, n, "reconciling")(), "a refusal that is not confirmed frees no key")
	setBankMode(t, b.mode, bankNormal)
	b.advanceUntil(t, time.Minute, "every payout is released", b.haveStatus(t, n, "released"))
	b.requirePaidOnce(t, n)
	b.requireKeys(t, ".1")
	require.Equal(t, n, b.countRows(t, "reconciliation_exceptions where kind = 'contradiction'"), "it had refused what it paid")
}

// TestRefusedPayoutsMoveToTheNextAccount refuses payouts and loses every answer, while
// another account of each is verified: they are sent to that account automatically.
func TestRefusedPayoutsMoveToTheNextAccount(t *testing.T) {
	t.Parallel()
	n := *hostilePayouts
	b := newBankFixture(t, bankRejectsSilently, n)
	policies := b.policies
	b.recordAccounts(t, n)
	b.advanceUntil(t, time.Minute, "every order is in doubt", b.haveStatus(t, n, "reconciling"))
	b.recordAccountsOf(t, policies, otherIBAN)
	b.advanceUntil(t, time.Minute, "the other accounts are verified", func() bool { return b.countRows(t, "payout_methods where status = 'verified'") >= n })
	require.Empty(t, executedByBank(t, b.books))
	setBankMode(t, b.mode, bankRejects)
	b.advanceUntil(t, time.Minute, "every payout is released", b.haveStatus(t, n, "released"))
	b.requirePaidOnce(t, n)
	for _, payout := range b.listPayouts(t) {
		require.Equal(t, 2, b.countRows(t, "(select distinct key from payout_attempts where key like $1) as keys", payout.PolicyID+".%"))
	}
	require.Zero(t, b.countRows(t, "reconciliation_exceptions"), "no exceptions")
}
