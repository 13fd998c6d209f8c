package jobs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
)

// testBank is the bank's side of the rail protocol, with the behaviour of a test.
type testBank struct {
	*railtest.Bank

	t      testing.TB
	server *httptest.Server
	ended  chan struct{}
	ahead  atomic.Int64 // of its clock
	voids  bool         // our side is configured for a bank that voids keys
	groups int          // our side sends so many orders in one call
}

func openBank(t testing.TB) *testBank {
	t.Helper()
	b := &testBank{t: t, ended: make(chan struct{})}
	var err error
	b.Bank, err = railtest.Open(httprail.Secrets{[]byte(strings.Repeat("s", 32))}, func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }, "")
	require.NoError(t, err)
	b.server = httptest.NewServer(b.Handler())
	t.Cleanup(b.server.Close)
	t.Cleanup(func() { close(b.ended) }) // before Close, which waits for calls that hang
	return b
}

// newRail returns our side, which waits for responses for a fraction of a second.
func (b *testBank) newRail() *httprail.Rail { return b.newRailAt(b.server.URL + "/v1") }

// newRailAt returns our side of a bank at an address.
func (b *testBank) newRailAt(address string) *httprail.Rail {
	return b.newRailOf(address, time.Now)
}

// newRailWithClock returns our side with the test's clock.
func (b *testBank) newRailWithClock(now func() time.Time) *httprail.Rail {
	return b.newRailOf(b.server.URL+"/v1", now)
}

func (b *testBank) newRailOf(address string, now func() time.Time) *httprail.Rail {
	base, err := url.Parse(address)
	require.NoError(b.t, err)
	return httprail.New(httprail.Config{
		URL: base, Secrets: b.Secrets(), Now: now, Client: egress.New(egress.Config{Loopback: true}).Client(300 * time.Millisecond),
		Capabilities: rail.Capabilities{KeyWindow: 24 * time.Hour, CanVoid: b.voids}, GroupSize: b.groups,
	})
}

// hangUntilEnd never answers.
func (b *testBank) hangUntilEnd(http.ResponseWriter, *http.Request, func()) { <-b.ended }

func answerServerError(w http.ResponseWriter, _ *http.Request, _ func()) {
	w.WriteHeader(http.StatusInternalServerError)
}

// answerNotFound denies a key in a signed answer.
func (b *testBank) answerNotFound(w http.ResponseWriter, r *http.Request, _ func()) {
	b.WriteSigned(w, r, http.StatusNotFound, httprail.Transfer{Key: r.PathValue("key"), Status: "not_found"})
}

// misbehaviourCases are failures of a rail that executes its orders.
func misbehaviourCases(b *testBank) map[string]struct {
	send, ask   railtest.Behaviour
	bend        func(*httprail.Transfer)
	after, ends string // status of the payout after the call, and after the inquiry
} {
	type day = struct {
		send, ask   railtest.Behaviour
		bend        func(*httprail.Transfer)
		after, ends string
	}
	garbage := func(text string) railtest.Behaviour {
		return func(w http.ResponseWriter, _ *http.Request, _ func()) { _, _ = io.WriteString(w, text) }
	}
	return map[string]day{
		"executes and hangs":     {send: b.hangUntilEnd, after: "reconciling", ends: "released"},
		"executes and fails":     {send: answerServerError, after: "reconciling", ends: "released"},
		"answers garbage":        {send: garbage("<html>"), after: "reconciling", ends: "released"},
		"answers a lie unsigned": {send: garbage(`{"status":"refused","code":"x"}`), after: "reconciling", ends: "released"},
		"breaks the connection": {send: func(http.ResponseWriter, *http.Request, func()) {
			panic(http.ErrAbortHandler)
		}, after: "reconciling", ends: "released"},
		"sends elsewhere": {send: func(w http.ResponseWriter, r *http.Request, _ func()) {
			http.Redirect(w, r, "/v1/transfers", http.StatusTemporaryRedirect)
		}, after: "reconciling", ends: "released"},
		"inquiry is down":    {send: b.hangUntilEnd, ask: answerServerError, after: "reconciling", ends: "reconciling"},
		"pays another sum":   {bend: func(t *httprail.Transfer) { t.Amount.Amount++ }, after: "blocked", ends: "blocked"},
		"pays other money":   {bend: func(t *httprail.Transfer) { t.Amount.Currency = "EUR" }, after: "blocked", ends: "blocked"},
		"pays somebody else": {bend: func(t *httprail.Transfer) { t.AccountDigest = strings.Repeat("0", 64) }, after: "blocked", ends: "blocked"},
		"names another key":  {bend: func(t *httprail.Transfer) { t.Key = "pay_other.1" }, after: "reconciling", ends: "reconciling"},
		"leaves out the sum": {bend: func(t *httprail.Transfer) { t.Amount.Currency = "" }, after: "reconciling", ends: "reconciling"},
		"pays":               {after: "released", ends: "released"},
	}
}

func TestMisbehavingRailPaysOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	days := misbehaviourCases(b)
	fleet := s.createPendingPayouts(len(days))
	for name, day := range days {
		job := fleet[0]
		fleet = fleet[1:]
		b.SetBehaviour(day.send, day.ask, day.bend)
		_ = s.runReleaseWith(b.newRail(), job) // the payout's status shows the result
		require.Equal(t, day.after, s.readPayout(job).Status, name)
		s.AdvanceClock(10 * time.Second)
		_ = s.runReleaseWith(b.newRail(), job)
		payout := s.readPayout(job)
		require.Equal(t, day.ends, payout.Status, name)
		if payout.Status == "blocked" {
			require.Equal(t, "rail_mismatch", *payout.BlockedReason, name)
		}
		_, executed := b.Executed(s.RailKey(job.ID, 1))
		require.True(t, executed, name)
		_, again := b.Executed(s.RailKey(job.ID, 2))
		require.False(t, again, "%s: never under a new key", name)
	}
	require.Equal(t, len(days), b.Sends(), "no order went out twice")
	require.NotContains(t, s.log.String(), "DE89370400440532013000")
	require.NotContains(t, s.log.String(), b.server.Listener.Addr().String(), "the address of the rail is not logged")
}

// TestDuplicateAcceptancePaysOnce makes the rail accept an order without an answer, deny
// it, and then answer the same order again.
func TestDuplicateAcceptancePaysOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	job := s.createPendingPayouts(1)[0]
	b.SetBehaviour(b.hangUntilEnd, b.answerNotFound, nil)
	isSnoozed(t, s.runReleaseWith(b.newRail(), job))
	b.SetBehaviour(nil, b.answerNotFound, nil)
	s.AdvanceClock(10 * time.Second)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 2, b.Sends(), "sent again, under the same key")
	_, executed := b.Executed(s.RailKey(job.ID, 1))
	require.True(t, executed)
	_, again := b.Executed(s.RailKey(job.ID, 2))
	require.False(t, again)
}

// TestForgottenKeyIsNotSentAgain makes the rail answer long after the call timed out: with
// a notice, twice.
func TestForgottenKeyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	job := s.createPendingPayouts(1)[0]
	key := s.RailKey(job.ID, 1)
	b.SetBehaviour(b.hangUntilEnd, b.answerNotFound, nil)
	isSnoozed(t, s.runReleaseWith(b.newRail(), job))
	s.AdvanceClock(24*time.Hour - keyMargin)
	isSnoozed(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, 1, b.Sends(), "a key that may be forgotten is not sent again")
	require.Equal(t, "reconciling", s.readPayout(job).Status)

	entry, _ := b.Executed(key)
	handler := b.newRail().NoticeHandler(s.noticeRecorder(b.newRail()).HTTPRecorder())
	notice := func(said httprail.Transfer, secrets httprail.Secrets) int {
		body, err := json.Marshal(said)
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, httprail.NoticePath, strings.NewReader(string(body)))
		secrets.SignRequest(r, body, time.Now())
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusUnauthorized, notice(entry.Answer, httprail.Secrets{[]byte(strings.Repeat("x", 32))}))
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	for range 2 {
		require.Equal(t, http.StatusNoContent, notice(entry.Answer, b.Secrets()))
	}
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, "T-"+key, *s.readPayout(job).ProviderReference)
	require.Equal(t, http.StatusNotFound, notice(httprail.Transfer{Key: "pay_x.1", Status: "refused", Code: "x"}, b.Secrets()))
	require.Equal(t, http.StatusBadRequest, notice(httprail.Transfer{Key: key, Status: "maybe"}, b.Secrets()))
}
