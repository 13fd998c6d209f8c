package reconciliation_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

var (
	reportChains = flag.Uint64("report-chains", 6, "how many stories TestArrivedMoneyBlocksAllReplacements plays")
	reportStates = flag.Int("report-states", 150, "of how many states TestReportIsImportedWhateverThePayoutState reports")
)

// chainStory applies random answers, decisions and report lines to the payouts of one
// claim that replace each other. From the lines and the notices it knows under which keys
// money has arrived and was not returned.
type chainStory struct {
	*modeltest.Bundle

	t       *testing.T
	random  *rand.Rand
	claim   *wire.Claim
	first   wire.Payout
	arrived map[string]bool

	promised map[string]bool // only a notice shows the payment
	reported map[string]bool // keys of settled and returned lines
	sent     int
	lines    int
	steps    []string
}

func newChainStory(t *testing.T, seed uint64) *chainStory {
	t.Helper()
	b := modeltest.New(t)
	s := &chainStory{Bundle: b, t: t, random: rand.New(rand.NewPCG(seed, 1)), arrived: map[string]bool{}, promised: map[string]bool{}, reported: map[string]bool{}}
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer {
		answers := []payouts.RailAnswer{modeltest.Accepted, modeltest.Mismatched, modeltest.Unknown, modeltest.Refused}
		return answers[s.random.IntN(len(answers))]
	}
	s.claim = modeltest.NewApprovedClaim(b)
	s.first = modeltest.OnlyPayout(t, b, s.claim)
	b.RecordPayoutMethod(modeltest.IBANMethod(s.claim.ID))
	b.RunJobs()
	s.sent = len(b.Rail.Orders) // before any money had arrived
	return s
}

// report imports one new line: its date and reference are unique.
func (s *chainStory) report() {
	payouts := s.Claim(s.claim.ID).Payouts
	status := []string{"settled", "settled", "returned", "returned", "rejected", "underway"}[s.random.IntN(6)]
	key := s.RailKey(s.first.ID, 1+s.random.IntN(len(payouts)+2))
	s.lines++
	line := reconciliation.ReportLine{
		Key: key, Reference: fmt.Sprintf("line-%d", s.lines), Amount: s.first.Amount, Status: status, At: time.Date(2027, 1, s.lines, 0, 0, 0, 0, time.UTC),
	}
	done := modeltest.Reconcile(s.t, s.Bundle, line.Reference, line)
	s.steps = append(s.steps, fmt.Sprintf("%s %s: %v", key[len(key)-1:], status, done.Results))
	switch status {
	case "settled":
		s.arrived[key], s.reported[key] = true, true
	case "returned":
		delete(s.arrived, key)
		s.reported[key] = true
	}
	if status != "underway" {
		delete(s.promised, key)
	}
	if done.Results["returned"] > 0 { // a rejection after the acceptance: the notice of it can be repeated
		s.reported[key] = true
	}
}

// operate performs the operator's actions on each payout; most are refused.
func (s *chainStory) operate() {
	payouts := s.Claim(s.claim.ID).Payouts
	payout := payouts[s.random.IntN(len(payouts))]
	var err error
	what := s.random.IntN(6)
	switch what {
	case 0:
		_, err = modeltest.ResolvePayout(s.t, s.Bundle, payout, claims.PayoutCancelled, "", false)
	case 1:
		_, err = modeltest.ResolvePayout(s.t, s.Bundle, payout, claims.PayoutBlocked, "", false)
	case 2:
		_, err = modeltest.ResolvePayout(s.t, s.Bundle, payout, claims.PayoutReleased, "bank-1", false)
	case 3:
		_, err = modeltest.LiftHold(s.t, s.Bundle, payout)
	case 4:
		_, err = modeltest.ApprovePayoutAs(s.t, s.Bundle, "ann", payout)
	default:
		_, err = s.Service.Payouts.RecordMethod(s.t.Context(), s.Acme, modeltest.IBANMethod(s.claim.ID))
	}
	s.steps = append(s.steps, fmt.Sprintf("operator %d on %s: %v", what, payout.Status, err))
	if err != nil {
		_ = modeltest.DomainError(s.t, err)
	}
}

// work sends the payouts that are due. None may be sent if money has arrived under
// another key.
func (s *chainStory) work() {
	s.RunJobs()
	for _, order := range s.Rail.Orders[s.sent:] {
		s.steps = append(s.steps, fmt.Sprintf("sent %s", order.Key[len(order.Key)-1:]))
		for _, key := range slices.Concat(slices.Collect(maps.Keys(s.arrived)), slices.Collect(maps.Keys(s.promised))) {
			require.Equal(s.t, key, order.Key, "the beneficiary has the money already: %v", s.steps)
		}
	}
	s.sent = len(s.Rail.Orders)
	s.AdvanceClock(time.Minute)
}

// TestArrivedMoneyBlocksAllReplacements runs random sequences of events.
func TestArrivedMoneyBlocksAllReplacements(t *testing.T) {
	t.Parallel()
	for seed := range *reportChains {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newChainStory(t, seed)
			for range 40 {
				[]func(){s.report, s.report, s.operate, s.operate, s.notice}[s.random.IntN(5)]()
				s.work()
			}
			require.NotContains(t, modeltest.OpenExceptions(t, s.Bundle), "unmatched", "%v", s.steps)
		})
	}
}

// TestLateSettlementBlocksReplacementOfReplacement pays the replacement of a payout that
// was given up, has it returned, and then imports that the first payout arrived.
func TestLateSettlementBlocksReplacementOfReplacement(t *testing.T) {
	t.Parallel()
	for _, approved := range []bool{false, true} {
		b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
		modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
		b.Rail.Answer = nil
		modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
		b.RunJobs()
		second := b.Claim(claim.ID).Payouts[1]
		require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "the second came back", modeltest.ReportLine(b, second, "returned")).Results)
		third := b.Claim(claim.ID).Payouts[2]
		if approved {
			modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", third))
			require.Equal(t, "pending", b.Claim(claim.ID).Payouts[2].Status)
		}
		require.Equal(t, map[string]int{"state": 1}, modeltest.Reconcile(t, b, "the first arrived", modeltest.ReportLine(b, first, "settled")).Results)
		b.RunJobs()
		third = b.Claim(claim.ID).Payouts[2]
		require.Equal(t, "rail_mismatch", *third.BlockedReason)
		require.Len(t, b.Rail.Orders, 2)
		_, err := modeltest.ResolvePayout(t, b, third, claims.PayoutCancelled, "", false)
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "what is paid is not paid again")
		modeltest.Must(modeltest.ResolvePayout(t, b, third, claims.PayoutCancelled, "", true))
		require.Equal(t, "closed", b.Claim(claim.ID).Status)
	}
}

// TestReturnAfterALateSettlementStartsABarredReplacement imports first that the money of
// the first payout arrived, and then that the second one was returned.
func TestReturnAfterALateSettlementStartsABarredReplacement(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
		modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
		b.Rail.Answer = nil
		modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
		b.RunJobs()
		lines := []reconciliation.ReportLine{modeltest.ReportLine(b, first, "settled"), modeltest.ReportLine(b, b.Claim(claim.ID).Payouts[1], "returned")}
		if together {
			modeltest.Reconcile(t, b, "both", lines...)
		} else {
			modeltest.Reconcile(t, b, "one", lines[0])
			modeltest.Reconcile(t, b, "two", lines[1])
		}
		third := b.Claim(claim.ID).Payouts[2]
		require.Equal(t, "rail_mismatch", *third.BlockedReason)
		back := modeltest.ReportLine(b, first, "returned")
		require.Equal(t, map[string]int{"state": 1}, modeltest.Reconcile(t, b, "the first came back too", back).Results)
		modeltest.Must(modeltest.ResolvePayout(t, b, third, claims.PayoutCancelled, "", false))
		fourth := b.Claim(claim.ID).Payouts[3]
		require.Equal(t, "approval_required", *fourth.BlockedReason, "nothing has arrived net of returns")
	}
}

// TestUndoneReturnIsAnExceptionAndBarsTheReplacement imports a settlement, a return and
// the settlement again.
func TestUndoneReturnIsAnExceptionAndBarsTheReplacement(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	day := func(n int) time.Time { return time.Date(2027, 1, n, 0, 0, 0, 0, time.UTC) }
	settled, back := modeltest.ReportLine(b, payout, "settled"), modeltest.ReportLine(b, payout, "returned")
	settled.At, back.At = day(1), day(3)
	modeltest.Reconcile(t, b, "settled", settled)
	modeltest.Reconcile(t, b, "returned", back)
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
	require.Equal(t, map[string]int{"duplicate": 1, "underway": 1}, modeltest.Reconcile(t, b, "settled once more", settled, modeltest.ReportLine(b, payout, "underway")).Results)
	late := settled
	late.Reference, late.At = "another", day(2)
	require.Equal(t, map[string]int{"duplicate": 1}, modeltest.Reconcile(t, b, "older than the return", late).Results)
	require.Equal(t, "pending", b.Claim(claim.ID).Payouts[1].Status)
	undone := settled
	undone.Reference, undone.At = "reversal", day(3)
	require.Equal(t, map[string]int{"reversed": 1}, modeltest.Reconcile(t, b, "the return is undone", undone).Results)
	require.Contains(t, modeltest.OpenExceptions(t, b), "reversed")
	require.Equal(t, "rail_mismatch", *b.Claim(claim.ID).Payouts[1].BlockedReason)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
}

// TestLineIsJudgedByTheRailOfItsKey changes the rail between a payout's keys: a report of
// the first rail about its key counts; a report of another rail about it is unknown.
func TestLineIsJudgedByTheRailOfItsKey(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	modeltest.Must(modeltest.ResolvePayout(t, b, payout, claims.PayoutBlocked, "", false))
	modeltest.Must(modeltest.LiftHold(t, b, payout))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), payouts.RailIdentity{Name: "newer"}, "acme", payout.ID)
	require.NoError(t, err)
	require.Equal(t, b.RailKey(payout.ID, 2), order.Key)
	_, err = b.Service.Releases.EndRelease(t.Context(), "newer", order, modeltest.Unknown)
	require.NoError(t, err)
	report := func(rail, name string, l reconciliation.ReportLine) map[string]int {
		return modeltest.Must(b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: rail, Name: name}, modeltest.ReadLines([]reconciliation.ReportLine{l}))).Results
	}
	require.Equal(t, map[string]int{"unknown": 1}, report("newer", "a key it was never given", modeltest.ReportLine(b, payout, "settled")))
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, map[string]int{"state": 1}, report(modeltest.RailName, "its own", modeltest.ReportLine(b, payout, "settled")))
	require.Equal(t, "rail_mismatch", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}

// TestArrivalBeforeReleaseBlocksPayout records the arrival of the money when the
// replacement is about to be approved, and when it is about to be sent.
func TestArrivalBeforeReleaseBlocksPayout(t *testing.T) {
	t.Parallel()
	for _, sending := range []bool{false, true} {
		b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
		modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
		b.Rail.Answer = nil
		arrives := func() {
			_, err := b.DB.Pool.Exec(t.Context(), "insert into payout_arrivals (claim_id, partner, installment, idempotency_seq, created_at) select claim_id, partner, installment, 1, now() from payouts limit 1")
			require.NoError(t, err)
		}
		if !sending {
			arrives()
		}
		second := modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
		if sending {
			require.Equal(t, "pending", second.Status)
			arrives()
		} else {
			require.Equal(t, "rail_mismatch", *second.BlockedReason)
		}
		b.RunJobs()
		require.Equal(t, "rail_mismatch", *b.Claim(claim.ID).Payouts[1].BlockedReason)
		require.Len(t, b.Rail.Orders, 1)
	}
}

// TestLineIsJudgedByTheBankOfItsKey imports a report about an order from another bank
// with the same rail name, before and after two operators declare that both are one bank.
func TestLineIsJudgedByTheBankOfItsKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	old, other := payouts.RailIdentity{Name: modeltest.RailName, Address: "https://old.example"}, payouts.RailIdentity{Name: modeltest.RailName, Address: "https://new.example"}
	require.NoError(t, b.Service.Releases.RegisterRail(t.Context(), other))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), old, "acme", payout.ID)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), old.Name, order, modeltest.Unknown)
	require.NoError(t, err)
	bring := func(from *payouts.RailIdentity, reference string) map[string]int {
		refused := modeltest.ReportLine(b, payout, reconciliation.LineRejected)
		refused.Reference = reference
		done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: old.Name, Bank: from, Name: reference}, modeltest.ReadLines([]reconciliation.ReportLine{refused}))
		require.NoError(t, err)
		return done.Results
	}
	require.Equal(t, map[string]int{"unknown": 1}, bring(&other, "1"), "it never had the order")
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, claim).Status)
	for _, who := range []string{"ann", "ben"} {
		_, err := b.Service.Releases.AdoptRail(t.Context(), modeltest.OperatorNamed(who), release.AdoptionRequest{From: old.ID(), To: other.ID(), Reason: "The bank moved."})
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int{"rejected": 1}, bring(&other, "2"))
	require.Equal(t, []bool{true}, reportedRefusals(t, b))
}
