package jobs

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/fetch"
	"parapet/jobs/webhook"
	"parapet/model/account"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/sandbox"
	"parapet/model/wire"
)

// runWorkers runs workers and returns how to stop them.
func (s *fixture) runWorkers(settleAfter time.Duration) (stop func()) {
	s.t.Helper()
	workers, err := NewWorkers(Config{Pool: s.pool, Service: s.Service, Rail: s.rail, Fetch: &fetch.Fetcher{}, Sender: s.newSender(), Log: s.newLogger(), SettleAfter: settleAfter})
	require.NoError(s.t, err)
	require.NoError(s.t, workers.Start(context.WithoutCancel(s.t.Context())))
	return func() { require.NoError(s.t, workers.Stop(context.WithoutCancel(s.t.Context()))) }
}

func (s *fixture) readRun(id string) *wire.SandboxRun {
	s.t.Helper()
	run, err := s.Service.Sandbox.GetRun(s.t.Context(), s.Operator, id)
	require.NoError(s.t, err)
	return run
}

// awaitRun waits for the end of a run.
func (s *fixture) awaitRun(started *wire.SandboxRun, err error) *wire.SandboxRun {
	s.t.Helper()
	require.NoError(s.t, err)
	require.Equal(s.t, "running", started.Status)
	require.Eventually(s.t, func() bool { return s.readRun(started.ID).Status != "running" }, 5*time.Minute, 20*time.Millisecond, "the run ends")
	return s.readRun(started.ID)
}

// eventTime returns when the only event of a type about a record occurred.
func (s *fixture) eventTime(kind, subject string) (at time.Time) {
	s.t.Helper()
	prefix, _, _ := strings.Cut(subject, "_")
	id, err := store.FindEventSubject(prefix).ParseID(subject)
	require.NoError(s.t, err)
	require.NoError(s.t, s.DB.Bun.NewRaw("select occurred_at from events where type = ? and subject_id = ?", kind, id).Scan(s.t.Context(), &at))
	return at
}

// A year of clock, with a restart in the middle: each quote and policy ends at its instant,
// in order.
func TestClockDoesDueWorkInOrderOverAYear(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	quote, later := s.Quote("quake-circle", nil), s.QuoteAndBind("quake-circle", map[string]any{"term": "P60D"})
	policy := s.QuoteAndBind("quake-circle", nil)
	stop := s.runWorkers(0)
	from := s.Now()
	_, err := s.Service.Sandbox.MoveClock(t.Context(), s.Acme, sandbox.ClockRequest{By: new("P400D")})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code, "two partners share the clock")
	run, err := s.Service.Sandbox.MoveClock(t.Context(), s.Operator, sandbox.ClockRequest{By: new("P400D")})
	require.NoError(t, err)
	_, err = s.Service.Sandbox.MoveClock(t.Context(), s.Operator, sandbox.ClockRequest{By: new("P1D")})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "one run at a time")
	s.requireEventually(func() bool { return s.readRun(run.ID).Clock.Steps > 2 }, "the clock moves")
	stop()
	half := s.readRun(run.ID)
	require.Equal(t, "running", half.Status)
	require.Positive(t, half.Progress)
	defer s.runWorkers(0)()

	done := s.awaitRun(half, nil)
	require.Equal(t, "done", done.Status)
	require.Equal(t, 100, done.Progress)
	require.WithinDuration(t, from.AddDate(0, 0, 400), done.Clock.ReachedAt, time.Minute)
	require.GreaterOrEqual(t, done.Clock.Steps, 13, "at least once a month")
	require.WithinDuration(t, quote.ExpiresAt, s.eventTime("quote.expired", quote.ID), time.Minute)
	require.WithinDuration(t, later.ExpiresAt, s.eventTime("policy.expired", later.ID), time.Minute)
	require.WithinDuration(t, policy.ExpiresAt, s.eventTime("policy.expired", policy.ID), time.Minute)
	clock, err := s.Service.Sandbox.GetClock(t.Context(), s.Acme)
	require.NoError(t, err)
	require.WithinDuration(t, done.Clock.To, clock.Now, 5*time.Minute)
	require.WithinDuration(t, time.Now(), clock.RealTime, 5*time.Minute)
	require.False(t, clock.Moving)
	require.False(t, clock.Movable)

	for name, in := range map[string]sandbox.ClockRequest{"/to": {To: &from}, "/by": {By: new("P20Y")}, "": {}} {
		_, err = s.Service.Sandbox.MoveClock(t.Context(), s.Operator, in)
		require.Equal(t, name, modeltest.DomainError(t, err).Fields[0].Pointer)
	}
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, s.Service.ShiftClock(t.Context(), time.Hour)).Code, "it never goes back")
}

// Two partners replay the same earthquake at once: each sees its own.
func TestReplaysOfTwoPartnersAreTheirOwn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(0)()
	mine, theirs := s.QuoteAndBind("quake-circle", nil), s.ActingAs(s.Globex).QuoteAndBind("quake-circle", nil)
	runs := map[string]*wire.SandboxRun{}
	for _, who := range []struct {
		partner string
		event   string
	}{{"acme", "us1000chhc"}, {"globex", "us1000chhc"}} {
		run, err := s.Service.Sandbox.Replay(t.Context(), modeltest.Partner(who.partner), sandbox.ReplayRequest{Event: &who.event})
		require.NoError(t, err)
		runs[who.partner] = run
	}
	for partner, policy := range map[string]*wire.Policy{"acme": mine, "globex": theirs} {
		done := s.awaitRun(runs[partner], nil)
		require.Equal(t, "done", done.Status, "%v", done.Error)
		require.EqualValues(t, 1, done.Replay.ClaimsOpened)
		require.EqualValues(t, 2_000_000, done.Replay.Lines[0].Owed.Amount)
		require.Equal(t, partner, done.Replay.Lines[0].Partner)
		claim := s.ActingAs(modeltest.Partner(partner)).OnlyClaim(policy)
		require.Equal(t, []string{claim.Occurrence.ID}, done.Replay.OccurrenceIDs)
		require.Equal(t, done.Replay.SourceEventID, claim.Occurrence.SourceEventID)
		require.Equal(t, "2018-02-06", done.Replay.ReplayedFrom.Format(time.DateOnly))
	}
	_, err := s.Service.Sandbox.GetRun(t.Context(), s.Globex, runs["acme"].ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	list, err := s.Service.Sandbox.ListRuns(t.Context(), s.Globex, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1)
	require.EqualValues(t, 1, list.Data[0].Replay.ClaimsOpened)
}

// A storm that is moved to a cover, and days at a station, after the clock was moved on.
func TestStormsAndDaysAreReplayedIntoCover(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(0)()
	storm, rain := s.QuoteAndBind("cyclone-circle", nil), s.QuoteAndBind("rain-excess", nil)
	moved := s.awaitRun(s.Service.Sandbox.MoveClock(t.Context(), s.Operator, sandbox.ClockRequest{By: new("P60D")}))
	require.Equal(t, "done", moved.Status, "%v", moved.Error)
	place := hazard.Point{Latitude: storm.Cover.Place.Latitude, Longitude: storm.Cover.Place.Longitude}
	done := s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Event: new("AL041992"), Location: &place}))
	require.Equal(t, "done", done.Status, "%v", done.Error)
	require.Equal(t, "approved", s.OnlyClaim(storm).Status)
	require.Equal(t, s.OnlyClaim(storm).Amount.Amount, done.Replay.Lines[0].Owed.Amount)

	done = s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Event: new("Milwaukee/2008-06-03"), Days: new(20), Station: &rain.Cover.Place.Station}))
	require.Equal(t, "done", done.Status, "%v", done.Error)
	require.Equal(t, 20, done.Replay.Observations)
	require.Equal(t, "approved", s.OnlyClaim(rain).Status)
	require.NotEmpty(t, done.Replay.OccurrenceIDs)
	require.WithinDuration(t, s.Now(), done.Replay.OccurredAt, 48*time.Hour)

	for pointer, in := range map[string]sandbox.ReplayRequest{
		"/event": {Event: new("us0")}, "/days": {Event: new("Seattle/2012-11-01"), Days: new(367)}, "/station": {Event: new("us1000chhc"), Station: new("Seattle")},
		"/location": {Event: new("Seattle/2012-11-01"), Location: &place}, "/upload/source": {Upload: &sandbox.UploadedFile{Source: "bbc", Content: "x"}},
		"/upload/content": {Upload: &sandbox.UploadedFile{Source: "usgs"}}, "/location/latitude": {Event: new("us1000chhc"), Location: &hazard.Point{Latitude: 91}},
	} {
		_, err := s.Service.Sandbox.Replay(t.Context(), s.Acme, in)
		require.Equal(t, []string{pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)), pointer)
	}
}

func TestUploadedFileIsReplayed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(0)()
	policy := s.QuoteAndBind("quake-circle", nil)
	feature := func(id string) string {
		return `{"type":"Feature","id":"` + id + `","properties":{"mag":6.9,"magType":"mww","time":1517932242000,"updated":1517932242000,"status":"reviewed","type":"earthquake","ids":",` + id + `,","net":"us","code":"1"},"geometry":{"type":"Point","coordinates":[121.65,24.17,10]}}`
	}
	file := `{"type":"FeatureCollection","features":[` + feature("us1") + `,` + feature("us2") + `]}`
	done := s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Upload: &sandbox.UploadedFile{Source: "usgs", Content: file}}))
	require.Equal(t, "failed", done.Status)
	require.Contains(t, *done.Error, "several events")
	done = s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Upload: &sandbox.UploadedFile{Source: "usgs", Content: file}, Event: new("us2")}))
	require.Equal(t, "done", done.Status, "%v", done.Error)
	require.Equal(t, "6.9", s.OnlyClaim(policy).Determination.Index.Value)
	done = s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Upload: &sandbox.UploadedFile{Source: "usgs", Content: "no JSON"}}))
	require.Contains(t, *done.Error, "not in the format")
}

// payWith returns a claim whose payout went to an account of the simulator.
func (s *fixture) payWith(iban string) *wire.Claim {
	s.t.Helper()
	policy := s.QuoteAndBind("quake-circle", nil)
	s.awaitRun(s.Service.Sandbox.Replay(s.t.Context(), s.Acme, sandbox.ReplayRequest{Event: new("us1000chhc")}))
	claim := s.OnlyClaim(policy)
	method := modeltest.IBANMethod(claim.ID)
	method.Number.IBAN = &account.IBAN{IBAN: iban}
	s.RecordPayoutMethod(method)
	// Not onlyPayout: a payout that comes back at once is replaced by another one.
	s.requireEventually(func() bool { return s.Claim(claim.ID).Payouts[0].ReleasedAt != nil }, "the payout is released")
	return s.Claim(claim.ID)
}

// The rail's report confirms a payout, returns it or reports another amount, when the
// partner asks for it.
func TestPartnerDecidesWhatTheRailReports(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(0)()
	claim := s.payWith("DE89370400440532013000")
	report := func(as *wire.Claim, outcome sandbox.Outcome) error {
		_, err := s.Service.Sandbox.ReportPayout(t.Context(), s.Acme, sandbox.PayoutRequest{PayoutID: as.Payouts[0].ID, Outcome: outcome})
		return err
	}
	_, err := s.Service.Sandbox.ReportPayout(t.Context(), s.Globex, sandbox.PayoutRequest{PayoutID: claim.Payouts[0].ID, Outcome: sandbox.Settle})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	require.NoError(t, report(claim, sandbox.Mismatch))
	s.requireEventually(func() bool { return s.countRows("reconciliation_exceptions where kind = 'amount'") == 1 }, "another amount is an exception")
	require.Equal(t, "released", s.onlyPayout(claim.ID).Status)

	require.NoError(t, report(claim, sandbox.Settle))
	s.requireEventually(func() bool { return s.Claim(claim.ID).Status == "closed" }, "the claim closes")
	require.Equal(t, "reconciled", s.onlyPayout(claim.ID).Status)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, report(claim, sandbox.Settle)).Code)
	require.NoError(t, report(claim, sandbox.Return))
	s.requireEventually(func() bool { return s.Claim(claim.ID).Status == "approved" && len(s.Claim(claim.ID).Payouts) == 2 }, "the money comes back")
	require.Equal(t, "returned", s.Claim(claim.ID).Payouts[0].Status)
	s.requireEventually(func() bool { return s.countRows("simulator_report_lines where not imported") == 0 }, "every report is imported once")
}

// Without being asked, the simulator reports within the day what the account number says.
func TestAccountsDecideWhatTheRailReports(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(time.Millisecond)()
	settled := s.payWith("DE89370400440532013000")
	s.requireEventually(func() bool { return s.Claim(settled.ID).Status == "closed" }, "it is paid")
	s.AdvanceClock(time.Hour) // two earthquakes within a minute are possible duplicates
	returned := s.payWith("DE30370400440000000005")
	s.requireEventually(func() bool { return s.Claim(returned.ID).Payouts[0].Status == "returned" }, "it comes back")
	s.AdvanceClock(time.Hour)
	s.payWith("DE03370400440000000006")
	s.requireEventually(func() bool { return s.countRows("reconciliation_exceptions where kind = 'amount'") == 1 }, "another amount")
	require.Zero(t, s.countRows("simulator_transfers where not reported"))
	day, err := NewSimulatorStore(s.pool).ListDay(t.Context(), time.Now().UTC().Truncate(24*time.Hour))
	require.NoError(t, err)
	require.Empty(t, day, "the report of the day does not repeat them")
}

// A reset ends what is open and nothing of another partner, and the same can be rehearsed
// again.
func TestResetEndsOpenRecords(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	defer s.runWorkers(0)()
	theirs := s.ActingAs(s.Globex).QuoteAndBind("quake-circle", nil)
	quote, policy := s.Quote("quake-circle", nil), s.QuoteAndBind("quake-circle", nil)
	day := modeltest.StationDay("Seattle", s.Now().Truncate(24*time.Hour).AddDate(0, 0, -3), "5")
	_, _, err := s.Service.Occurrences.RecordObservation(t.Context(), s.Acme, day, true)
	require.NoError(t, err)
	s.awaitRun(s.Service.Sandbox.Replay(t.Context(), s.Acme, sandbox.ReplayRequest{Event: new("us1000chhc")}))
	claim, before := s.OnlyClaim(policy), s.CountRows()
	done := s.awaitRun(s.Service.Sandbox.Reset(t.Context(), s.Acme))
	require.Equal(t, "done", done.Status, "%v", done.Error)
	require.Equal(t, wire.SandboxReset{PayoutsCancelled: 1, PoliciesCancelled: 1, QuotesExpired: 1, ObservationsRetracted: 2}, *done.Reset)
	require.Equal(t, "closed", s.Claim(claim.ID).Status)
	require.Equal(t, "cancelled", s.onlyPayout(claim.ID).Status)
	require.Equal(t, "cancelled", s.Policy(policy.ID).Status)
	ended, err := s.Service.Quotes.Get(t.Context(), s.Acme, quote.ID)
	require.NoError(t, err)
	require.Equal(t, "expired", ended.Status)
	require.Equal(t, "active", s.ActingAs(s.Globex).Policy(theirs.ID).Status)
	after := s.CountRows()
	delete(before, "event_outbox") // the relay empties it
	for table, count := range before {
		require.GreaterOrEqual(t, after[table], count, "%s: nothing is deleted", table)
	}
	require.Greater(t, after["events"], before["events"], "sequences go on")
	again, created, err := s.Service.Occurrences.RecordObservation(t.Context(), s.Acme, day, true)
	require.NoError(t, err)
	require.True(t, created, "the same day is rehearsed again")
	require.EqualValues(t, "final", again.Stage)
}

// The checklist names a receiver that refuses a wrong signature after it accepted a right
// one.
func TestReceiverThatRefusesAWrongSignatureIsNoted(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var secret atomic.Pointer[[]byte] // nil: every signature is refused
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seconds, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
		key := secret.Load()
		if err != nil || key == nil || r.Header.Get("Webhook-Signature") != webhook.Sign([][]byte{*key}, r.Header.Get("Webhook-Id"), time.Unix(seconds, 0), body) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(receiver.Close)
	defer s.runWorkers(0)()
	endpoint, err := s.Service.Webhooks.CreateEndpoint(t.Context(), s.Acme, webhooks.EndpointRequest{URL: &receiver.URL})
	require.NoError(t, err)
	done := s.awaitRun(s.Service.Sandbox.SendBadSignature(t.Context(), s.Acme, endpoint.ID))
	require.True(t, done.Signature.Refused)
	require.Equal(t, http.StatusUnauthorized, *done.Signature.StatusCode)
	shown := func() *wire.SandboxChecklist {
		list, err := s.Service.Sandbox.GetChecklist(t.Context(), s.Acme)
		require.NoError(t, err)
		return list
	}
	require.Zero(t, shown().Shown, "it refuses everything")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*endpoint.Secret, "whsec_"))
	require.NoError(t, err)
	s.requireEventually(func() bool { return s.countRows("deliveries where json_array_length(attempts) > 0") > 0 }, "the event of the new endpoint is refused too")
	secret.Store(&key)
	s.requireEventually(func() bool {
		_, err := s.Service.Webhooks.TestEndpoint(t.Context(), s.Acme, endpoint.ID)
		return err == nil
	}, "the event of the new endpoint gets its number")
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") > 0 }, "a right signature is accepted")
	s.awaitRun(s.Service.Sandbox.SendBadSignature(t.Context(), s.Acme, endpoint.ID))
	require.Equal(t, 1, shown().Shown)
	require.Contains(t, *shown().Items[2].Evidence, "answered 401 to a wrong signature")
	require.NoError(t, s.Service.Sandbox.Show(t.Context(), s.Acme, sandbox.FeedReadAgain, "The feed was read."))
	require.Equal(t, 2, shown().Shown, "a delivery had failed")
	require.NoError(t, s.Service.Sandbox.Show(t.Context(), s.Globex, sandbox.FeedReadAgain, "The feed was read."))
	list, err := s.Service.Sandbox.GetChecklist(t.Context(), s.Globex)
	require.NoError(t, err)
	require.Zero(t, list.Shown, "nothing of globex failed")
	_, err = s.Service.Sandbox.SendBadSignature(t.Context(), s.Globex, endpoint.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}
