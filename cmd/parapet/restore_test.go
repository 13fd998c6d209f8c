package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/internal/filestore"
	"parapet/jobs"
	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// This run is short; make chaos runs a longer one.
var restoredPayouts = flag.Int("restored-payouts", 2, "how many payouts the tests of a restore make before the backup; twice as many follow it")

// restoredCluster is a server whose database is restored from a backup, while its bank
// keeps its book.
type restoredCluster struct {
	*paymentChaos

	bank        *serverProcess
	mode, books string
	quakeAt     time.Time // time of the earthquake after the backup
	feedEnd     int64     // the last sequence of acme's feed before the restore
}

// runCommand runs a command of parapet in the environment of the servers.
func (c *processGroup) runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(c.environment, processRoleVariable+"=parapet")
	_, err = command.StdinPipe() // the process ends when it is closed
	require.NoError(t, err)
	said, err := command.CombinedOutput()
	return string(said), err
}

// restoreAfterPayouts pays n policies and makes a base backup. Then it pays these and n
// more policies for a second earthquake, and a policy that was bound after the backup.
// Then the server crashes, and another one starts on the backup.
func restoreAfterPayouts(t *testing.T) *restoredCluster {
	t.Helper()
	n, folder := *restoredPayouts, t.TempDir()
	r := &restoredCluster{paymentChaos: newPaymentChaos(t), mode: filepath.Join(folder, "mode"), books: filepath.Join(folder, "books")}
	r.environment = append(r.environment, "PARAPET_REHEARSAL=true") // the clock is shifted when the server starts again
	setBankMode(t, r.mode, bankNormal)
	r.bank = r.startBankAs(t, "127.0.0.1:0", r.books, r.mode)
	r.startServerWithBank(t, r.bank.base)
	r.createUnpaidClaims(t, n)
	r.recordAccounts(t, n)
	r.advanceUntilFinal(t)
	for range n {
		r.policies = append(r.policies, r.QuoteAndBind("quake-circle", nil).ID)
	}
	r.recordAccounts(t, n)
	r.advanceUntil(t, time.Minute, "the accounts are verified", func() bool { return r.countRows(t, "payout_methods where status = 'verified'") == 2*n })
	restore, err := r.server.Backup(t.Context())
	require.NoError(t, err)

	heartbeats := r.countRows(t, "generate_series(1, (select heartbeat from database_identity))")
	r.policies = append(r.policies, r.QuoteAndBind("quake-circle", nil).ID)
	r.recordAccounts(t, 1)
	r.quakeAt = r.Now()
	r.reportSecondQuake(t)
	r.advanceUntilFinal(t)
	require.Len(t, r.requireBookedOnce(t), 3*n+1)
	require.Eventually(t, func() bool {
		return r.countRows(t, "database_identity where heartbeat > $1", heartbeats) == 1
	}, time.Minute, 50*time.Millisecond, "the file store has a heartbeat that the backup lacks")
	r.Relay()
	require.NoError(t, r.DB.Pool.QueryRow(t.Context(), "select max(sequence) from event_sequence where partner = 'acme'").Scan(&r.feedEnd))
	r.running[0].killNow()

	copied, err := restore(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, copied.Stop(context.Background())) })
	r.connectTo(t, copied)
	r.running[0] = r.startProcess(t, "rehearsal")
	return r
}

// connectTo makes every process use another server's copy of the database.
func (r *restoredCluster) connectTo(t *testing.T, server *devpg.Server) {
	t.Helper()
	bundle := *r.Bundle
	bundle.URL = server.URL("parapet")
	var err error
	bundle.DB, err = dbpool.Open(t.Context(), bundle.URL, 8)
	require.NoError(t, err)
	t.Cleanup(bundle.DB.Close)
	files, err := filestore.OpenFolder(bundle.Files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	bundle.Service, err = model.New(model.Config{DB: bundle.DB, Queue: modeltest.Queue{}, Files: files, Keys: modeltest.Keys(), Development: true})
	require.NoError(t, err)
	r.Bundle, r.environment = &bundle, append(r.environment, "DATABASE_URL="+bundle.URL)
}

// reportSecondQuake records the source's report of the quake after the backup.
func (r *restoredCluster) reportSecondQuake(t *testing.T) {
	t.Helper()
	quake, _, err := r.Service.Occurrences.RecordObservation(t.Context(), r.Source, modeltest.Quake("us2000late", r.quakeAt, hazard.Point{Latitude: 24.1736, Longitude: 121.653}, "6.4"), false)
	require.NoError(t, err)
	require.NoError(t, r.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*quake.OccurrenceID}}))
}

// requireBookedOnce returns the bank's payments by key and requires that none was made twice.
func (r *restoredCluster) requireBookedOnce(t *testing.T) map[string]int64 {
	t.Helper()
	entries, err := railtest.ReadBook(r.books)
	require.NoError(t, err)
	paid := map[string]int64{}
	for _, entry := range entries {
		require.NotContains(t, paid, entry.Answer.Key, "paid twice")
		paid[entry.Answer.Key] = entry.Answer.Amount.Amount
	}
	return paid
}

// repeatQuake makes the source repeat its report; the claims and payouts are created
// again and wait.
func (r *restoredCluster) repeatQuake(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Contains(r.running[0].log.String(), "may have been restored from a backup")
	}, time.Minute, 20*time.Millisecond)
	r.reportSecondQuake(t)
	waiting := func() bool {
		return r.countRows(t, "payouts where status = 'pending' and next_attempt_at is null") == 2**restoredPayouts
	}
	r.advanceUntil(t, time.Minute, "the payouts are due and wait for the operator", waiting)
	require.Len(t, r.requireBookedOnce(t), 3**restoredPayouts+1)
}

// An operator who mistakes a restored database for a promoted standby causes no second
// payment at a bank that remembers keys: the same debt has the same key.
func TestRestoredDatabaseIsNotPaidAgainByABankThatRemembers(t *testing.T) {
	t.Parallel()
	r := restoreAfterPayouts(t)
	r.repeatQuake(t)
	said, err := r.runCommand(t, "doctor")
	require.Error(t, err)
	require.Contains(t, said, "parapet restore begin")
	said, err = r.runCommand(t, "restore", "dismiss", "--reason", "It looks like a promotion.")
	require.Error(t, err)
	require.Contains(t, said, "heartbeats")
	said, err = r.runCommand(t, "restore", "dismiss", "--reason", "It looks like a promotion.", "--without-reports")
	require.NoError(t, err, said)
	r.advanceUntilFinal(t)
	require.Equal(t, 3**restoredPayouts, r.countRows(t, "payouts where status = 'released'"))
	require.Len(t, r.requireBookedOnce(t), 3**restoredPayouts+1, "no second payment")
	r.CheckInvariants()
}

// A bank that forgot its keys makes no second payment either, because its report settles
// the debts before anything is sent.
func TestRestoredDatabaseIsNotPaidAgainByABankThatForgot(t *testing.T) {
	t.Parallel()
	r := restoreAfterPayouts(t)
	said, err := r.runCommand(t, "restore", "begin", "--reason", "The disk broke.")
	require.NoError(t, err, said)
	for _, command := range [][]string{{"doctor"}, {"restore", "status"}} {
		said, _ = r.runCommand(t, command...)
		require.Contains(t, said, "The restore was begun at")
		require.Contains(t, said, "run parapet restore finish")
		require.NotContains(t, said, "restore dismiss")
	}
	setBankMode(t, r.mode, bankForgotAll)
	r.bank.killNow()
	r.bank = r.startBankAs(t, strings.TrimPrefix(r.bank.base, "http://"), r.books, r.mode)
	r.repeatQuake(t)
	r.requireResync(t)

	finish := func() (string, error) {
		return r.runCommand(t, "restore", "finish", "--reason", "Everything is answered.")
	}
	said, err = finish()
	require.Error(t, err)
	require.Contains(t, said, "have no report")
	r.applyReports(t)
	said, err = finish()
	require.Error(t, err)
	require.Contains(t, said, "1 payments", "the policy was bound after the backup")
	var exception string
	require.NoError(t, r.DB.Pool.QueryRow(t.Context(), "select id from reconciliation_exceptions where kind = 'unknown'").Scan(&exception))
	_, err = r.DB.Pool.Exec(t.Context(), "update reconciliation_exceptions set closed_at = business_now(), closed_by = 'olive', closed_reason = 'Sold after the backup.' where id = $1", exception)
	require.NoError(t, err)
	said, err = finish()
	require.NoError(t, err, said)
	_, err = r.Service.Releases.ResumeReleases(t.Context(), r.Operator, controls.ResumeRequest{Reason: "Everything is answered."})
	require.NoError(t, err)
	r.advanceUntilFinal(t)
	require.Equal(t, 3**restoredPayouts, r.countRows(t, "payouts where status = 'reconciled'"))
	require.Len(t, r.requireBookedOnce(t), 3**restoredPayouts+1, "no second payment")
	r.CheckInvariants()
}

// applyReports applies the bank's reports when the days after the restore are over.
func (r *restoredCluster) applyReports(t *testing.T) {
	t.Helper()
	address, err := url.Parse(r.bank.base + "/v1")
	require.NoError(t, err)
	from := httprail.New(httprail.Config{URL: address, Secrets: bankSecrets, Client: http.DefaultClient, Now: time.Now})
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for _, ago := range []int{1, 0, -1, -2} { // the test may have begun before midnight, and the last payment is confirmed a day later
		day := today.AddDate(0, 0, -ago)
		done, err := jobs.Reconcile(t.Context(), r.Service, from, day)
		require.NoError(t, err)
		require.NoError(t, r.Service.Reconciliation.SaveReportDay(t.Context(), jobs.IdentityOf(from), day, done.ID))
	}
}

// requireResync reads the feed after the last sequence from before the restore.
func (r *restoredCluster) requireResync(t *testing.T) {
	t.Helper()
	address := fmt.Sprintf("%s/v1/events?after_sequence=%d", r.running[0].base, r.feedEnd)
	var err error
	require.Eventually(t, func() bool {
		_, err = sendRequest(t.Context(), http.DefaultClient, http.MethodGet, address, r.token, nil)
		return err != nil
	}, time.Minute, 50*time.Millisecond, "the server learns of the new generation within seconds")
	require.ErrorContains(t, err, "cursor_invalid")
	require.ErrorContains(t, err, "restored from a backup")
}
