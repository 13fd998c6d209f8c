package jobs

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/model"
	"parapet/model/modeltest"
)

// adopt has an operator declare that a rail is the same bank as an earlier one.
func (s *shop) adopt(operator string, from, to rail.Rail) (*model.RailAdoption, error) {
	s.t.Helper()
	actor := modeltest.Operator()
	actor.Name = operator
	return s.Service.AdoptRail(s.t.Context(), actor, model.AdoptionRequest{From: IdentityOf(from).ID(), To: IdentityOf(to).ID(), Reason: "The bank's letter of Monday."})
}

// TestDoubtIsNotSentToAnotherBankUnderTheSameName changes the address of a rail while
// payouts are in doubt at the first bank, which paid them. The second bank, which knows
// none of them, is neither asked nor sent to, and its notices count for nothing, until
// two operators declare that it is the first one.
func TestDoubtIsNotSentToAnotherBankUnderTheSameName(t *testing.T) {
	t.Parallel()
	s := open(t)
	first, second := openBank(t), openBank(t)
	fleet := s.fleet(3)
	first.Behave(first.hang, nil, nil)
	for _, job := range fleet {
		snoozed(t, s.releaseBy(first.rail(), job))
	}
	first.Behave(nil, nil, nil)
	for range 3 {
		s.After(2 * time.Hour)
		for _, job := range fleet {
			snoozed(t, s.releaseBy(second.rail(), job))
			require.Equal(t, "reconciling", s.read(job).Status)
			refused := rail.Result{Outcome: rail.Refused, Code: "account_closed"}
			require.Equal(t, model.CodeNotFound, model.CodeOf(s.notices(second.rail()).Take(t.Context(), s.RailKey(job.ID, 1), refused)))
		}
	}
	require.Zero(t, second.Sends())
	require.Equal(t, 9, s.count("payout_attempts where code = $1", codeOtherRail))
	elsewhere, err := s.Service.DoubtsElsewhere(t.Context(), s.Operator, IdentityOf(second.rail()))
	require.NoError(t, err)
	require.Equal(t, map[model.RailIdentity]int{IdentityOf(first.rail()): 3}, elsewhere)
	rails, err := s.Service.KnownRails(t.Context(), s.Operator)
	require.NoError(t, err)
	require.Equal(t, first.server.URL+"/v1", rails[1].Address)
	require.Equal(t, 3, rails[1].InDoubt)

	s.After(2 * time.Hour)
	require.NoError(t, s.releaseBy(first.rail(), fleet[0]), "the first bank is back at its address")
	require.Equal(t, "released", s.read(fleet[0]).Status)
	require.Equal(t, 3, first.Sends())

	proposal, err := s.adopt("ann", first.rail(), second.rail())
	require.NoError(t, err)
	require.Nil(t, proposal.ConfirmedAt)
	_, err = s.adopt("ann", first.rail(), second.rail())
	require.Equal(t, model.CodeStateConflict, model.CodeOf(err), "one operator is not enough")
	s.After(2 * time.Hour)
	snoozed(t, s.releaseBy(second.rail(), fleet[1]))
	require.Zero(t, second.Sends(), "a proposal changes nothing")
	confirmed, err := s.adopt("bob", first.rail(), second.rail())
	require.NoError(t, err)
	require.Equal(t, "bob", *confirmed.ConfirmedBy)
	_, err = s.adopt("ann", second.rail(), first.rail())
	require.Equal(t, model.CodeStateConflict, model.CodeOf(err), "they are one bank")

	// The first bank moved: its books are at the new address now.
	entry, _ := first.Executed(s.RailKey(fleet[1].ID, 1))
	moved := &acting{Rail: second.rail(), inquire: func(context.Context, string) rail.Result {
		return rail.Result{Outcome: rail.Accepted, Reference: entry.Told.Reference, Paid: entry.Told.Amount, Payee: entry.Told.Account, Digest: entry.Told.AccountDigest}
	}}
	s.After(2 * time.Hour)
	require.NoError(t, s.releaseBy(moved, fleet[1]))
	require.Equal(t, "released", s.read(fleet[1]).Status)
	require.Zero(t, second.Sends())
	elsewhere, err = s.Service.DoubtsElsewhere(t.Context(), s.Operator, IdentityOf(second.rail()))
	require.NoError(t, err)
	require.Empty(t, elsewhere)
}

func TestAdoptionNamesTwoKnownRailsOfOneName(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := openBank(t)
	files, _ := s.files()
	_, err := s.adopt("ann", b.rail(), s.rail)
	require.Equal(t, model.CodeNotFound, model.CodeOf(err))
	for _, r := range []rail.Rail{b.rail(), files} {
		require.NoError(t, s.Service.RegisterRail(t.Context(), IdentityOf(r)))
	}
	_, err = s.adopt("ann", b.rail(), files)
	require.Equal(t, model.CodeStateConflict, model.CodeOf(err))
	_, err = s.adopt("ann", b.rail(), b.rail())
	require.Equal(t, model.CodeValidationFailed, model.CodeOf(err))
	_, err = s.Service.AdoptRail(t.Context(), s.Acme, model.AdoptionRequest{})
	require.Equal(t, model.CodeInsufficientScope, model.CodeOf(err))
}

func TestRailIdentityIgnoresTheSpellingOfItsAddress(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	same := []string{"https://bank.example.com/v1", "https://BANK.example.com:443/v1/", "https://bank.example.com/v1/"}
	other := []string{"https://bank.example.com/v2", "https://bank.example.com:8443/v1", "http://bank.example.com/v1", "https://bank.example.org/v1"}
	want := IdentityOf(b.railAt(same[0])).ID()
	for _, address := range same {
		require.Equal(t, want, IdentityOf(b.railAt(address)).ID(), address)
	}
	for _, address := range other {
		require.NotEqual(t, want, IdentityOf(b.railAt(address)).ID(), address)
	}
	base, err := url.Parse(same[0])
	require.NoError(t, err)
	require.NotEqual(t, want, IdentityOf(httprail.New(httprail.Config{URL: base, Account: "other"})).ID(), "another paying account is another bank")
}
