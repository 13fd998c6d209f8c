package jobs

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// adoptRail has an operator declare that a rail is the same bank as an earlier one.
func (s *fixture) adoptRail(operator string, from, to rail.Rail) (*release.RailAdoption, error) {
	s.t.Helper()
	actor := modeltest.Operator()
	actor.Name = operator
	return s.Service.Releases.AdoptRail(s.t.Context(), actor, release.AdoptionRequest{From: IdentityOf(from).ID(), To: IdentityOf(to).ID(), Reason: "The bank's letter of Monday."})
}

// TestDoubtIsNotSentToAnotherBankUnderTheSameName changes the address of a rail while
// payouts are in doubt at the first bank, which paid them. Until two operators declare
// that the second bank is the first one, it gets no inquiries and no orders, and its
// notices have no effect.
func TestDoubtIsNotSentToAnotherBankUnderTheSameName(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	first, second := openBank(t), openBank(t)
	fleet := s.createPendingPayouts(3)
	first.SetBehaviour(first.hangUntilEnd, nil, nil)
	for _, job := range fleet {
		isSnoozed(t, s.runReleaseWith(first.newRail(), job))
	}
	first.SetBehaviour(nil, nil, nil)
	for range 3 {
		s.AdvanceClock(2 * time.Hour)
		for _, job := range fleet {
			isSnoozed(t, s.runReleaseWith(second.newRail(), job))
			require.Equal(t, "reconciling", s.readPayout(job).Status)
			refused := rail.Result{Outcome: rail.Refused, Code: "account_closed"}
			require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(s.noticeRecorder(second.newRail()).Record(t.Context(), s.RailKey(job.ID, 1), refused)))
		}
	}
	require.Zero(t, second.Sends())
	require.Equal(t, 9, s.countRows("payout_attempts where code = $1", codeOtherRail))
	elsewhere, err := s.Service.Releases.CountInDoubtElsewhere(t.Context(), s.Operator, IdentityOf(second.newRail()))
	require.NoError(t, err)
	require.Equal(t, map[payouts.RailIdentity]int{IdentityOf(first.newRail()): 3}, elsewhere)
	rails, err := s.Service.Releases.KnownRails(t.Context(), s.Operator)
	require.NoError(t, err)
	require.Equal(t, first.server.URL+"/v1", rails[1].Address)
	require.Equal(t, 3, rails[1].InDoubt)

	s.AdvanceClock(2 * time.Hour)
	require.NoError(t, s.runReleaseWith(first.newRail(), fleet[0]), "the first bank is back at its address")
	require.Equal(t, "released", s.readPayout(fleet[0]).Status)
	require.Equal(t, 3, first.Sends())

	proposal, err := s.adoptRail("ann", first.newRail(), second.newRail())
	require.NoError(t, err)
	require.Nil(t, proposal.ConfirmedAt)
	_, err = s.adoptRail("ann", first.newRail(), second.newRail())
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err), "one operator is not enough")
	s.AdvanceClock(2 * time.Hour)
	isSnoozed(t, s.runReleaseWith(second.newRail(), fleet[1]))
	require.Zero(t, second.Sends(), "a proposal changes nothing")
	confirmed, err := s.adoptRail("bob", first.newRail(), second.newRail())
	require.NoError(t, err)
	require.Equal(t, "bob", *confirmed.ConfirmedBy)
	_, err = s.adoptRail("ann", second.newRail(), first.newRail())
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err), "they are one bank")

	// The first bank moved: its book is now served at the new address.
	entry, _ := first.Executed(s.RailKey(fleet[1].ID, 1))
	moved := &wrappedRail{Rail: second.newRail(), inquire: func(context.Context, string) rail.Result {
		return rail.Result{Outcome: rail.Accepted, Reference: entry.Answer.Reference, Paid: entry.Answer.Amount, Payee: entry.Answer.Account, Digest: entry.Answer.AccountDigest}
	}}
	s.AdvanceClock(2 * time.Hour)
	require.NoError(t, s.runReleaseWith(moved, fleet[1]))
	require.Equal(t, "released", s.readPayout(fleet[1]).Status)
	require.Zero(t, second.Sends())
	elsewhere, err = s.Service.Releases.CountInDoubtElsewhere(t.Context(), s.Operator, IdentityOf(second.newRail()))
	require.NoError(t, err)
	require.Empty(t, elsewhere)
}

func TestAdoptionNamesTwoKnownRailsOfOneName(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	files, _ := s.writtenFiles()
	_, err := s.adoptRail("ann", b.newRail(), s.rail)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	for _, r := range []rail.Rail{b.newRail(), files} {
		require.NoError(t, s.Service.Releases.RegisterRail(t.Context(), IdentityOf(r)))
	}
	_, err = s.adoptRail("ann", b.newRail(), files)
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err))
	_, err = s.adoptRail("ann", b.newRail(), b.newRail())
	require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err))
	_, err = s.Service.Releases.AdoptRail(t.Context(), s.Acme, release.AdoptionRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestRailIdentityIgnoresTheSpellingOfItsAddress(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	same := []string{"https://bank.example.com/v1", "https://BANK.example.com:443/v1/", "https://bank.example.com/v1/"}
	other := []string{"https://bank.example.com/v2", "https://bank.example.com:8443/v1", "http://bank.example.com/v1", "https://bank.example.org/v1"}
	want := IdentityOf(b.newRailAt(same[0])).ID()
	for _, address := range same {
		require.Equal(t, want, IdentityOf(b.newRailAt(address)).ID(), address)
	}
	for _, address := range other {
		require.NotEqual(t, want, IdentityOf(b.newRailAt(address)).ID(), address)
	}
	base, err := url.Parse(same[0])
	require.NoError(t, err)
	require.NotEqual(t, want, IdentityOf(httprail.New(httprail.Config{URL: base, Account: "other"})).ID(), "another paying account is another bank")
}
