package rail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/account"
	"parapet/model/money"
)

func newPayee(test rail.TestNumber) rail.Payee {
	number := account.Number{Type: test.Type}
	switch test.Type {
	case account.TypeIBAN:
		number.IBAN = &account.IBAN{IBAN: test.Number}
	case account.TypeUSBankAccount:
		number.USBankAccount = &account.USBankAccount{RoutingNumber: "021000021", AccountNumber: test.Number, AccountType: account.Checking}
	case account.TypeMobileMoney:
		number.MobileMoney = &account.MobileMoney{MSISDN: test.Number, Provider: "mpesa"}
	}
	return rail.Payee{Beneficiary: account.Beneficiary{Name: "Lin Mei", Country: "TW"}, Number: number}
}

func newInstruction(test rail.TestNumber) rail.Instruction {
	return rail.Instruction{Key: "pay_1.1", PayoutID: "pay_1", Amount: money.New(125_000, "USD"), Payee: newPayee(test)}
}

func ordinaryInstruction() rail.TestNumber { return rail.TestNumbers()[0] }

func numberFor(behaviour rail.Behaviour) rail.TestNumber {
	for _, test := range rail.TestNumbers() {
		if test.Behaviour == behaviour {
			return test
		}
	}
	panic(behaviour)
}

// clock adds up the waits of a simulator and does not wait.
type clock struct {
	mu     sync.Mutex
	passed time.Duration
}

func (c *clock) waitFor(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
	return ctx.Err()
}

func newSimulator() (*rail.Simulator, *rail.MemoryStore, *clock) {
	ledger, time := rail.NewMemoryStore(), &clock{}
	return rail.NewSimulator(ledger, rail.WithWait(time.waitFor)), ledger, time
}

func TestSimulatorKeepsEveryPromisedBehaviour(t *testing.T) {
	t.Parallel()
	type promise struct {
		verify     string
		send, code string
		inquiry    rail.Outcome
		passed     time.Duration
	}
	promises := map[rail.Behaviour]promise{
		rail.Accept:             {rail.CodeFound, "accepted", "", rail.Accepted, 0},
		rail.RejectAtSend:       {rail.CodeFound, "refused", rail.CodeRejected, rail.Refused, 0},
		rail.RefuseVerification: {rail.CodeClosed, "refused", rail.CodeClosed, rail.Refused, 0},
		rail.TimeOutAfterPaying: {rail.CodeFound, "unknown", rail.CodeAnswerLost, rail.Accepted, 10 * time.Second},
		rail.Slow:               {rail.CodeFound, "accepted", "", rail.Accepted, 3 * time.Second},
		rail.ReturnAfterPaying:  {rail.CodeFound, "accepted", "", rail.Accepted, 0},
		rail.ReportOtherAmount:  {rail.CodeFound, "accepted", "", rail.Accepted, 0},
	}
	for _, test := range rail.TestNumbers() {
		t.Run(fmt.Sprintf("%s %s", test.Type, test.Behaviour), func(t *testing.T) {
			t.Parallel()
			want := promises[test.Behaviour]
			s, ledger, clock := newSimulator()
			order := newInstruction(test)
			require.Empty(t, order.Payee.Number.Validate(), "a test number must be one a partner can record")

			verification, err := s.Verify(t.Context(), order.Payee)
			require.NoError(t, err)
			require.Equal(t, rail.Verification{Verified: want.verify == rail.CodeFound, Method: "simulator", Code: want.verify}, verification)

			result := s.Send(t.Context(), order)
			require.Equal(t, rail.Outcome(want.send), result.Outcome)
			require.Equal(t, want.code, result.Code)
			require.Equal(t, want.passed, clock.passed)

			truth := s.Inquire(t.Context(), order.Key)
			require.Equal(t, want.inquiry, truth.Outcome)
			require.Equal(t, want.inquiry == rail.Accepted, truth.Confirms(order))
			require.Equal(t, truth, s.Send(t.Context(), order), "the same key gives the answer the books hold")
			require.Len(t, ledger.Entries(), 1)
		})
	}
}

func TestSendRefusesWhatNobodyCanPay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code   string
		change func(*rail.Instruction)
	}{
		{rail.CodeAmountInvalid, func(i *rail.Instruction) { i.Amount.Amount = 0 }},
		{rail.CodeAmountInvalid, func(i *rail.Instruction) { i.Amount.Amount = -1 }},
		{rail.CodeCurrencyUnsupported, func(i *rail.Instruction) { i.Amount.Currency = "XXY" }},
		{rail.CodeInvalid, func(i *rail.Instruction) { i.Payee.Number = account.Number{} }},
	} {
		s, _, _ := newSimulator()
		order := newInstruction(ordinaryInstruction())
		test.change(&order)
		require.Equal(t, rail.Result{Outcome: rail.Refused, Code: test.code}, s.Send(t.Context(), order))
	}
}

// A key that is used again for another payment must not look refused, because money has
// moved.
func TestSameKeyForOtherMoneyIsNotConfirmed(t *testing.T) {
	t.Parallel()
	s, ledger, _ := newSimulator()
	first := newInstruction(ordinaryInstruction())
	require.True(t, s.Send(t.Context(), first).Confirms(first))
	for _, change := range []func(*rail.Instruction){
		func(i *rail.Instruction) { i.Amount.Amount++ },
		func(i *rail.Instruction) { i.Amount.Currency = "EUR" },
		func(i *rail.Instruction) { i.Payee = newPayee(numberFor(rail.Slow)) },
		func(i *rail.Instruction) { i.Payee = newPayee(numberFor(rail.RejectAtSend)) },
	} {
		other := first
		change(&other)
		result := s.Send(t.Context(), other)
		require.Equal(t, rail.Accepted, result.Outcome)
		require.Equal(t, first.Amount, result.Paid)
		require.False(t, result.Confirms(other))
	}
	require.Len(t, ledger.Entries(), 1)
}

func TestRacingSendsOfOneKeyPayOnce(t *testing.T) {
	t.Parallel()
	s, ledger, _ := newSimulator()
	results := make([]rail.Result, 50)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = s.Send(t.Context(), newInstruction(ordinaryInstruction())) })
	}
	all.Wait()
	for _, result := range results {
		require.Equal(t, results[0], result)
	}
	require.Len(t, ledger.Entries(), 1)
}

func TestARestartedSimulatorRemembers(t *testing.T) {
	t.Parallel()
	s, ledger, _ := newSimulator()
	order := newInstruction(ordinaryInstruction())
	before := s.Send(t.Context(), order)
	require.Equal(t, before, rail.NewSimulator(ledger).Inquire(t.Context(), order.Key))
	require.Equal(t, rail.Result{Outcome: rail.NotFound}, s.Inquire(t.Context(), "pay_1.2"))
}

func TestACallerWhoGivesUpIsInDoubt(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []rail.Behaviour{rail.Slow, rail.TimeOutAfterPaying} {
		s := rail.NewSimulator(rail.NewMemoryStore(), rail.WithDelays(time.Hour, time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		result := s.Send(ctx, newInstruction(numberFor(behaviour)))
		require.Equal(t, rail.Unknown, result.Outcome)
		require.ErrorIs(t, result.Err, context.DeadlineExceeded)
		require.Equal(t, rail.Accepted, s.Inquire(t.Context(), "pay_1.1").Outcome)
	}
}

// brokenStore is a store that always fails.
type brokenStore struct{}

var errAway = errors.New("storage is away")

func (brokenStore) Record(context.Context, []rail.SimulatedTransfer) ([]rail.RecordedTransfer, error) {
	return nil, errAway
}

func (brokenStore) Find(context.Context, string) (rail.SimulatedTransfer, bool, error) {
	return rail.SimulatedTransfer{}, false, errAway
}

func (brokenStore) ListDay(context.Context, time.Time) ([]rail.SimulatedTransfer, error) {
	return nil, errAway
}

func TestBrokenBooksAreDoubtNotRefusal(t *testing.T) {
	t.Parallel()
	s := rail.NewSimulator(brokenStore{})
	for _, result := range []rail.Result{s.Send(t.Context(), newInstruction(ordinaryInstruction())), s.Inquire(t.Context(), "pay_1.1")} {
		require.Equal(t, rail.Unknown, result.Outcome)
		require.ErrorIs(t, result.Err, errAway)
	}
}

func TestLogsHoldNoBeneficiary(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	order := newInstruction(ordinaryInstruction())
	slog.New(slog.NewJSONHandler(&log, nil)).Info("sending", "instruction", order, "payee", order.Payee)
	text := log.String() + fmt.Sprintf("%v %+v %#v", order, order, order)
	require.NotContains(t, text, "Mei")
	require.NotContains(t, text, "37040044")
	require.Contains(t, text, "····3000")
	require.Contains(t, text, "pay_1.1")
}

func TestCapabilitiesTake(t *testing.T) {
	t.Parallel()
	require.True(t, rail.Capabilities{}.SupportsCurrency("KWD"))
	require.False(t, rail.Capabilities{}.SupportsCurrency("XXY"))
	require.False(t, rail.Capabilities{Currencies: []string{"EUR"}}.SupportsCurrency("KWD"))
}

func TestCapabilitiesForget(t *testing.T) {
	t.Parallel()
	require.False(t, rail.Capabilities{}.MayForgetKey(1<<62, time.Hour), "no window is for ever")
	day := rail.Capabilities{KeyWindow: 24 * time.Hour}
	require.False(t, day.MayForgetKey(23*time.Hour, time.Minute))
	require.True(t, day.MayForgetKey(23*time.Hour, time.Hour))
	require.False(t, day.MayForgetKey(23*time.Hour, time.Hour-time.Nanosecond))
}

func TestTheSimulatorReportsWhatItPaid(t *testing.T) {
	t.Parallel()
	s := rail.NewSimulator(rail.NewMemoryStore())
	paid, refused := newInstruction(ordinaryInstruction()), newInstruction(ordinaryInstruction())
	refused.Key, refused.Amount.Amount = "pay_1.2", 0
	require.Equal(t, rail.Accepted, s.Send(t.Context(), paid).Outcome)
	require.Equal(t, rail.Refused, s.Send(t.Context(), refused).Outcome)
	var lines []rail.Line
	collect := func(line rail.Line) error { lines = append(lines, line); return nil }
	require.NoError(t, s.Report(t.Context(), time.Time{}, collect))
	require.Len(t, lines, 1)
	require.Equal(t, rail.Line{Key: paid.Key, Reference: lines[0].Reference, Amount: paid.Amount, Payee: paid.Payee.Number.String(), Status: rail.Settled}, lines[0])
	require.ErrorIs(t, rail.NewSimulator(brokenStore{}).Report(t.Context(), time.Time{}, collect), errAway)
	require.ErrorIs(t, s.Report(t.Context(), time.Time{}, func(rail.Line) error { return errAway }), errAway)
}
