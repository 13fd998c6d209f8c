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

// bank is the other side of the rail protocol, which behaves as a test says.
type bank struct {
	*railtest.Bank

	t      *testing.T
	server *httptest.Server
	ended  chan struct{}
	ahead  atomic.Int64 // of its clock
	voids  bool         // our side knows that it voids keys
}

func openBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{t: t, ended: make(chan struct{})}
	var err error
	b.Bank, err = railtest.Open(httprail.Secrets{[]byte(strings.Repeat("s", 32))}, func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }, "")
	require.NoError(t, err)
	b.server = httptest.NewServer(b.Handler())
	t.Cleanup(b.server.Close)
	t.Cleanup(func() { close(b.ended) }) // before Close, which waits for calls that hang
	return b
}

// rail is our side, which waits for answers for a fraction of a second.
func (b *bank) rail() *httprail.Rail { return b.railAt(b.server.URL + "/v1") }

// railAt is our side of a bank that it looks for at an address.
func (b *bank) railAt(address string) *httprail.Rail {
	return b.railOf(address, time.Now)
}

// railWith is our side with a clock of the test's.
func (b *bank) railWith(now func() time.Time) *httprail.Rail {
	return b.railOf(b.server.URL+"/v1", now)
}

func (b *bank) railOf(address string, now func() time.Time) *httprail.Rail {
	base, err := url.Parse(address)
	require.NoError(b.t, err)
	return httprail.New(httprail.Config{
		URL: base, Secrets: b.Secrets(), Now: now, Client: egress.New(egress.Config{Loopback: true}).Client(300 * time.Millisecond),
		Capabilities: rail.Capabilities{KeyWindow: 24 * time.Hour, Voids: b.voids},
	})
}

// hang answers never.
func (b *bank) hang(http.ResponseWriter, *http.Request, func()) { <-b.ended }

func failing(w http.ResponseWriter, _ *http.Request, _ func()) {
	w.WriteHeader(http.StatusInternalServerError)
}

// forgotten denies a key, signed.
func (b *bank) forgotten(w http.ResponseWriter, r *http.Request, _ func()) {
	b.Answer(w, r, http.StatusNotFound, httprail.Transfer{Key: r.PathValue("key"), Status: "not_found"})
}

// misbehaviours are bad days of a rail that executes what it was sent.
func misbehaviours(b *bank) map[string]struct {
	send, ask   railtest.Behaviour
	bend        func(*httprail.Transfer)
	after, ends string // where the payout stands after the call, and after the inquiry
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
		"executes and hangs":     {send: b.hang, after: "reconciling", ends: "released"},
		"executes and fails":     {send: failing, after: "reconciling", ends: "released"},
		"answers garbage":        {send: garbage("<html>"), after: "reconciling", ends: "released"},
		"answers a lie unsigned": {send: garbage(`{"status":"refused","code":"x"}`), after: "reconciling", ends: "released"},
		"breaks the connection": {send: func(http.ResponseWriter, *http.Request, func()) {
			panic(http.ErrAbortHandler)
		}, after: "reconciling", ends: "released"},
		"sends elsewhere": {send: func(w http.ResponseWriter, r *http.Request, _ func()) {
			http.Redirect(w, r, "/v1/transfers", http.StatusTemporaryRedirect)
		}, after: "reconciling", ends: "released"},
		"inquiry is down":    {send: b.hang, ask: failing, after: "reconciling", ends: "reconciling"},
		"pays another sum":   {bend: func(t *httprail.Transfer) { t.Amount.Amount++ }, after: "blocked", ends: "blocked"},
		"pays other money":   {bend: func(t *httprail.Transfer) { t.Amount.Currency = "EUR" }, after: "blocked", ends: "blocked"},
		"pays somebody else": {bend: func(t *httprail.Transfer) { t.AccountDigest = strings.Repeat("0", 64) }, after: "blocked", ends: "blocked"},
		"names another key":  {bend: func(t *httprail.Transfer) { t.Key = "pay_other.1" }, after: "reconciling", ends: "reconciling"},
		"leaves out the sum": {bend: func(t *httprail.Transfer) { t.Amount.Currency = "" }, after: "reconciling", ends: "reconciling"},
		"pays":               {after: "released", ends: "released"},
	}
}

func TestARailOnABadDayPaysOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := openBank(t)
	days := misbehaviours(b)
	fleet := s.fleet(len(days))
	for name, day := range days {
		job := fleet[0]
		fleet = fleet[1:]
		b.Behave(day.send, day.ask, day.bend)
		_ = s.releaseBy(b.rail(), job) // whether it waits is told by the state
		require.Equal(t, day.after, s.read(job).Status, name)
		s.After(10 * time.Second)
		_ = s.releaseBy(b.rail(), job)
		payout := s.read(job)
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
	require.NotContains(t, s.log.String(), b.server.Listener.Addr().String(), "where the rail is concerns nobody")
}

// TestARailThatSaysYesTwicePaidOnce lets the rail take an order in silence, deny it,
// and then answer the same order again.
func TestARailThatSaysYesTwicePaidOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := openBank(t)
	job := s.fleet(1)[0]
	b.Behave(b.hang, b.forgotten, nil)
	snoozed(t, s.releaseBy(b.rail(), job))
	b.Behave(nil, b.forgotten, nil)
	s.After(10 * time.Second)
	require.NoError(t, s.releaseBy(b.rail(), job))
	require.NoError(t, s.releaseBy(b.rail(), job))
	require.Equal(t, "released", s.read(job).Status)
	require.Equal(t, 2, b.Sends(), "sent again, under the same key")
	_, executed := b.Executed(s.RailKey(job.ID, 1))
	require.True(t, executed)
	_, again := b.Executed(s.RailKey(job.ID, 2))
	require.False(t, again)
}

// TestALateAnswerSettlesTheDoubt lets the rail answer long after the call was given
// up: by a notice, twice.
func TestALateAnswerSettlesTheDoubt(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := openBank(t)
	job := s.fleet(1)[0]
	key := s.RailKey(job.ID, 1)
	b.Behave(b.hang, b.forgotten, nil)
	snoozed(t, s.releaseBy(b.rail(), job))
	s.After(24*time.Hour - keyMargin)
	snoozed(t, s.releaseBy(b.rail(), job))
	require.Equal(t, 1, b.Sends(), "a key that may be forgotten is not sent again")
	require.Equal(t, "reconciling", s.read(job).Status)

	entry, _ := b.Executed(key)
	door := b.rail().Notices(s.notices(b.rail()).Taker())
	notice := func(said httprail.Transfer, secrets httprail.Secrets) int {
		body, err := json.Marshal(said)
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, httprail.NoticePath, strings.NewReader(string(body)))
		secrets.SignRequest(r, body, time.Now())
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusUnauthorized, notice(entry.Told, httprail.Secrets{[]byte(strings.Repeat("x", 32))}))
	require.Equal(t, "reconciling", s.read(job).Status)
	for range 2 {
		require.Equal(t, http.StatusNoContent, notice(entry.Told, b.Secrets()))
	}
	require.Equal(t, "released", s.read(job).Status)
	require.Equal(t, "T-"+key, *s.read(job).ProviderReference)
	require.Equal(t, http.StatusNotFound, notice(httprail.Transfer{Key: "pay_x.1", Status: "refused", Code: "x"}, b.Secrets()))
	require.Equal(t, http.StatusBadRequest, notice(httprail.Transfer{Key: key, Status: "maybe"}, b.Secrets()))
}
