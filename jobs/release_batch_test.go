package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/rail"
	"parapet/model/account"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/reconciliation"
)

// runReleaseBatch runs a batch job once, with any rail.
func (s *fixture) runReleaseBatch(by rail.Rail) error {
	worker := &releaseBatch{service: s.Service, rail: by, log: s.newLogger(), single: &releasePayout{service: s.Service, rail: by, log: s.newLogger()}}
	return worker.Work(s.t.Context(), &river.Job[payouts.ReleaseBatch]{})
}

// recordingBatchRail is a rail of files whose Submit is written by a test.
type recordingBatchRail struct {
	rail.BatchRail

	enter func(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error)
}

func (s *recordingBatchRail) Submit(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
	return s.enter(ctx, conn, instructions)
}

func TestSlicesReleaseEachPayoutOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	fleet := s.createPendingPayouts(9)
	var all errgroup.Group
	for range 4 { // each takes the payouts that the others have not locked
		all.Go(func() error { return s.runReleaseBatch(files) })
	}
	require.NoError(t, all.Wait())
	for _, job := range fleet {
		payout := s.readPayout(job)
		require.Equal(t, "released", payout.Status)
		require.Equal(t, 1, payout.Attempts)
		require.Equal(t, files.Name(), *payout.Provider)
		require.Equal(t, 1, s.countRows("payment_orders where key = $1 and end_to_end_id = $2", s.RailKey(job.ID, 1), *payout.ProviderReference))
		require.Equal(t, 1, s.countRows("payout_attempts where key = $1 and outcome = 'accepted' and provider_reference = $2", s.RailKey(job.ID, 1), *payout.ProviderReference))
	}
	require.Equal(t, len(fleet), s.countRows("events where type = 'payout.releasing'"))
	require.Equal(t, len(fleet), s.countRows("events where type = 'payout.released'"))
	require.Equal(t, len(fleet), s.countRows("timeline_entries where kind = 'payout.released' and actor_kind = 'rail'"))
}

func TestASliceIsAskedForOnceAndGoesOutByItself(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.resetService(true)
	fleet := s.createPendingPayouts(3)
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_batch'"), "one transaction made them")
	require.Zero(t, s.countRows("river.river_job where kind = 'release_payout'"))
	files, _ := s.writtenFiles()
	s.startWorkersWith(files)
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == len(fleet) }, "all go out")
	require.Equal(t, len(fleet), s.countRows("payment_orders"))
}

func TestFailingStoreLeavesBatchDue(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	s.createPendingPayouts(2)
	s.execSQL("alter table payment_orders rename to mislaid")
	require.ErrorContains(t, s.runReleaseBatch(files), "payment_orders")
	require.Equal(t, 2, s.countRows("payouts where status = 'pending' and attempts = 0"))
	s.execSQL("alter table mislaid rename to payment_orders")
	require.NoError(t, s.runReleaseBatch(files))
	require.Equal(t, 2, s.countRows("payouts where status = 'released'"))
}

func TestBlockedPayoutDoesNotDelayItsBatch(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	fleet := s.createPendingPayouts(4)
	abroad := &recordingBatchRail{BatchRail: files, enter: func(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
		instructions[0].Payee.Number = account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{RoutingNumber: "021000021", AccountNumber: "000123456789"}}
		return files.Submit(ctx, conn, instructions)
	}}
	s.execSQL("update payout_methods set sealed = 'spoilt' where id = (select payout_method_id from payouts order by id desc limit 1)")
	require.ErrorContains(t, s.runReleaseBatch(abroad), "open account of ")

	require.Equal(t, "rail_rejected", *s.readPayout(fleet[0]).BlockedReason, "the files know no American accounts")
	require.Equal(t, "released", s.readPayout(fleet[1]).Status)
	require.Equal(t, "released", s.readPayout(fleet[2]).Status)
	require.Equal(t, "pending", s.readPayout(fleet[3]).Status, "its account cannot be opened")
	require.Zero(t, s.readPayout(fleet[3]).Attempts)
}

func TestBatchHoldsPayoutOfARetractedOccurrence(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	fleet := s.createPendingPayouts(2)
	s.execSQL("update claims set retraction = 'held' where id = (select claim_id from payouts order by id limit 1)")
	require.NoError(t, s.runReleaseBatch(files))
	require.Equal(t, "compliance_hold", *s.readPayout(fleet[0]).BlockedReason)
	require.Equal(t, "released", s.readPayout(fleet[1]).Status)
}

func TestASliceWaitsForTheEndOfAStop(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.resetService(true)
	files, _ := s.writtenFiles()
	s.createPendingPayouts(2)
	_, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.NoError(t, s.runReleaseBatch(files))
	require.Zero(t, s.countRows("payment_orders"))
	_, err = s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, s.Service.Operations.Sweep(t.Context()))
	require.NoError(t, s.runReleaseBatch(files))
	require.Equal(t, 2, s.countRows("payouts where status = 'released'"))
}

// TestInDoubtPayoutIsInquiredAtItsOwnRailOnly changes the rail while a payout is in doubt
// at the first rail, which paid it: the second one must get neither inquiries nor orders,
// however often the job runs.
func TestInDoubtPayoutIsInquiredAtItsOwnRailOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	isSnoozed(t, s.runReleaseWith(silentLogger(s.rail), job))
	files, _ := s.writtenFiles()
	for range 3 {
		s.AdvanceClock(10 * time.Minute)
		isSnoozed(t, s.runReleaseWith(files, job))
		require.NoError(t, s.runReleaseBatch(files))
	}
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	require.Zero(t, s.countRows("payment_orders"))
	require.Equal(t, 1, s.countRows("simulator_transfers"))
	require.Equal(t, 3, s.countRows("payout_attempts where code = $1", codeOtherRail))
	elsewhere, err := s.Service.Releases.CountInDoubtElsewhere(t.Context(), s.Operator, IdentityOf(files))
	require.NoError(t, err)
	require.Equal(t, map[payouts.RailIdentity]int{IdentityOf(s.rail): 1}, elsewhere)

	report := reconciliation.Report{Rail: s.rail.Name(), Name: "the first rail's"}
	_, err = s.Service.Reconciliation.Reconcile(t.Context(), s.Operator, report, func(each func(reconciliation.ReportLine) error) error {
		return each(reconciliation.ReportLine{Key: s.RailKey(job.ID, 1), Reference: "r", Amount: s.readPayout(job).Amount, Status: reconciliation.LineSettled})
	})
	require.NoError(t, err)
	require.Equal(t, "reconciled", s.readPayout(job).Status)
	elsewhere, err = s.Service.Releases.CountInDoubtElsewhere(t.Context(), s.Operator, IdentityOf(files))
	require.NoError(t, err)
	require.Empty(t, elsewhere)
	require.Equal(t, s.rail.Name(), *s.readPayout(job).Provider)
}

// TestADoubtEndsWhenItsRailIsBack changes the rail and changes it back, as the doctor
// advises: the first rail must still be asked, and the answers of the other one must not
// count.
func TestADoubtEndsWhenItsRailIsBack(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	isSnoozed(t, s.runReleaseWith(silentLogger(s.rail), job))
	files, _ := s.writtenFiles()
	s.AdvanceClock(10 * time.Minute)
	isSnoozed(t, s.runReleaseWith(files, job))
	sent, err := s.Service.Releases.SentOrders(t.Context(), IdentityOf(files), []string{s.RailKey(job.ID, 1)})
	require.NoError(t, err)
	require.Empty(t, sent, "the files never had it")
	elsewhere, err := s.Service.Releases.CountInDoubtElsewhere(t.Context(), s.Operator, IdentityOf(s.rail))
	require.NoError(t, err)
	require.Empty(t, elsewhere)

	s.AdvanceClock(10 * time.Minute)
	require.NoError(t, s.runRelease(job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("simulator_transfers"))
}

func TestARailThatTakesNoSlicesLeavesThemToTheSweep(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.resetService(true)
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runReleaseBatch(s.rail))
	require.Equal(t, "pending", s.readPayout(job).Status)
	batches := s.countRows("river.river_job where kind = 'release_batch'")
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.Service.Operations.Sweep(t.Context()))
	require.Equal(t, batches+1, s.countRows("river.river_job where kind = 'release_batch'"), "a batch comes first")
	require.Zero(t, s.countRows("river.river_job where kind = 'release_payout'"))
	s.execSQL("update payouts set requeued_at = null")
	require.NoError(t, s.Service.Operations.Sweep(t.Context()))
	require.Equal(t, batches+1, s.countRows("river.river_job where kind = 'release_batch'"), "one waits already")
	s.AdvanceClock(2 * time.Minute)
	require.NoError(t, s.Service.Operations.Sweep(t.Context()))
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_payout' and args ->> 'id' = $1", job.ID))
	require.NoError(t, s.runRelease(job))
	require.Equal(t, "released", s.readPayout(job).Status)
}
