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
	"parapet/model"
	"parapet/model/account"
)

// slice works a slice's job once, by any rail.
func (s *shop) slice(by rail.Rail) error {
	worker := &releaseSlice{service: s.Service, rail: by, log: s.logger()}
	return worker.Work(s.t.Context(), &river.Job[model.ReleaseSlice]{})
}

// slicing is a rail of files whose entering a test writes.
type slicing struct {
	rail.Slicer

	enter func(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error)
}

func (s *slicing) Enter(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
	return s.enter(ctx, conn, instructions)
}

func TestSlicesReleaseEachPayoutOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, _ := s.files()
	fleet := s.fleet(9)
	var all errgroup.Group
	for range 4 { // each takes what the others leave
		all.Go(func() error { return s.slice(files) })
	}
	require.NoError(t, all.Wait())
	for _, job := range fleet {
		payout := s.read(job)
		require.Equal(t, "released", payout.Status)
		require.Equal(t, 1, payout.Attempts)
		require.Equal(t, files.Name(), *payout.Provider)
		require.Equal(t, 1, s.count("bank_entries where key = $1 and short = $2", s.RailKey(job.ID, 1), *payout.ProviderReference))
		require.Equal(t, 1, s.count("payout_attempts where key = $1 and outcome = 'accepted' and provider_reference = $2", s.RailKey(job.ID, 1), *payout.ProviderReference))
	}
	require.Equal(t, len(fleet), s.count("events where type = 'payout.releasing'"))
	require.Equal(t, len(fleet), s.count("events where type = 'payout.released'"))
	require.Equal(t, len(fleet), s.count("timeline_entries where kind = 'payout.released' and actor_kind = 'rail'"))
}

func TestASliceIsAskedForOnceAndGoesOutByItself(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serve(true)
	fleet := s.fleet(3)
	require.Equal(t, 1, s.count("river.river_job where kind = 'release_slice'"), "one transaction made them")
	require.Zero(t, s.count("river.river_job where kind = 'release_payout'"))
	files, _ := s.files()
	s.startBy(files)
	s.eventually(func() bool { return s.count("payouts where status = 'released'") == len(fleet) }, "all go out")
	require.Equal(t, len(fleet), s.count("bank_entries"))
}

func TestBooksThatFailLeaveASliceDue(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, _ := s.files()
	s.fleet(2)
	s.exec("alter table bank_entries rename to mislaid")
	require.ErrorContains(t, s.slice(files), "bank_entries")
	require.Equal(t, 2, s.count("payouts where status = 'pending' and attempts = 0"))
	s.exec("alter table mislaid rename to bank_entries")
	require.NoError(t, s.slice(files))
	require.Equal(t, 2, s.count("payouts where status = 'released'"))
}

func TestWhatCannotGoOutHoldsUpNobodyOfItsSlice(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, _ := s.files()
	fleet := s.fleet(4)
	abroad := &slicing{Slicer: files, enter: func(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
		instructions[0].Payee.Number = account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{RoutingNumber: "021000021", AccountNumber: "000123456789"}}
		return files.Enter(ctx, conn, instructions)
	}}
	s.exec("update payout_methods set sealed = 'spoilt' where id = (select payout_method_id from payouts order by id desc limit 1)")
	require.ErrorContains(t, s.slice(abroad), "open account of ")

	require.Equal(t, "rail_rejected", *s.read(fleet[0]).BlockedReason, "the files know no American accounts")
	require.Equal(t, "released", s.read(fleet[1]).Status)
	require.Equal(t, "released", s.read(fleet[2]).Status)
	require.Equal(t, "pending", s.read(fleet[3]).Status, "its account cannot be opened")
	require.Zero(t, s.read(fleet[3]).Attempts)
}

func TestASliceWaitsForTheEndOfAStop(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serve(true)
	files, _ := s.files()
	s.fleet(2)
	_, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.NoError(t, s.slice(files))
	require.Zero(t, s.count("bank_entries"))
	_, err = s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, s.Service.Sweep(t.Context()))
	require.NoError(t, s.slice(files))
	require.Equal(t, 2, s.count("payouts where status = 'released'"))
}

// TestADoubtStaysWithItsRail changes the rail while a payout is in doubt at the first,
// which paid it: the second must neither be asked nor sent to, however often.
func TestADoubtStaysWithItsRail(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	snoozed(t, s.releaseBy(silent(s.rail), job))
	files, _ := s.files()
	for range 3 {
		s.After(10 * time.Minute)
		snoozed(t, s.releaseBy(files, job))
		require.NoError(t, s.slice(files))
	}
	require.Equal(t, "reconciling", s.read(job).Status)
	require.Zero(t, s.count("bank_entries"))
	require.Equal(t, 1, s.count("simulator_transfers"))
	require.Equal(t, 3, s.count("payout_attempts where code = $1", codeOtherRail))
	elsewhere, err := s.Service.DoubtsElsewhere(t.Context(), s.Operator, IdentityOf(files))
	require.NoError(t, err)
	require.Equal(t, map[model.RailIdentity]int{IdentityOf(s.rail): 1}, elsewhere)

	report := model.Report{Rail: s.rail.Name(), Name: "the first rail's"}
	_, err = s.Service.Reconcile(t.Context(), s.Operator, report, func(each func(model.ReportLine) error) error {
		return each(model.ReportLine{Key: s.RailKey(job.ID, 1), Reference: "r", Amount: s.read(job).Amount, Status: model.LineSettled})
	})
	require.NoError(t, err)
	require.Equal(t, "reconciled", s.read(job).Status)
	elsewhere, err = s.Service.DoubtsElsewhere(t.Context(), s.Operator, IdentityOf(files))
	require.NoError(t, err)
	require.Empty(t, elsewhere)
	require.Equal(t, s.rail.Name(), *s.read(job).Provider)
}

// TestADoubtEndsWhenItsRailIsBack changes the rail and changes it back, as the doctor
// advises: that another one was there meanwhile must not keep the first from being
// asked, nor make the other one's word count.
func TestADoubtEndsWhenItsRailIsBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	snoozed(t, s.releaseBy(silent(s.rail), job))
	files, _ := s.files()
	s.After(10 * time.Minute)
	snoozed(t, s.releaseBy(files, job))
	sent, err := s.Service.Sent(t.Context(), IdentityOf(files), []string{s.RailKey(job.ID, 1)})
	require.NoError(t, err)
	require.Empty(t, sent, "the files never had it")
	elsewhere, err := s.Service.DoubtsElsewhere(t.Context(), s.Operator, IdentityOf(s.rail))
	require.NoError(t, err)
	require.Empty(t, elsewhere)

	s.After(10 * time.Minute)
	require.NoError(t, s.release(job))
	require.Equal(t, "released", s.read(job).Status)
	require.Equal(t, 1, s.count("simulator_transfers"))
}

func TestARailThatTakesNoSlicesLeavesThemToTheSweep(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.serve(true)
	job := s.fleet(1)[0]
	require.NoError(t, s.slice(s.rail))
	require.Equal(t, "pending", s.read(job).Status)
	s.After(time.Minute)
	require.NoError(t, s.Service.Sweep(t.Context()))
	require.Equal(t, 1, s.count("river.river_job where kind = 'release_payout' and args ->> 'id' = $1", job.ID))
	require.NoError(t, s.release(job))
	require.Equal(t, "released", s.read(job).Status)
}
