package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/sandbox"
)

func TestReplayRequestsAreChecked(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quake, rain := new("us1000chhc"), new("Seattle/2012-11-01")
	file := func(size int) *sandbox.UploadedFile {
		return &sandbox.UploadedFile{Source: "usgs", Content: strings.Repeat("x", size)}
	}
	at := func(latitude, longitude float64) *hazard.Point {
		return &hazard.Point{Latitude: latitude, Longitude: longitude}
	}
	for name, row := range map[string]struct {
		in      sandbox.ReplayRequest
		pointer string
	}{
		"nothing":              {sandbox.ReplayRequest{}, "/event"},
		"an empty name":        {sandbox.ReplayRequest{Event: new("")}, "/event"},
		"an unknown event":     {sandbox.ReplayRequest{Event: new("us0")}, "/event"},
		"an unknown station":   {sandbox.ReplayRequest{Event: new("Atlantis/2012-11-01")}, "/event"},
		"an empty station":     {sandbox.ReplayRequest{Event: rain, Station: new("")}, "/station"},
		"two places":           {sandbox.ReplayRequest{Event: quake, Station: new("Seattle"), Location: at(1, 1)}, "/location"},
		"no day":               {sandbox.ReplayRequest{Event: rain, Days: new(0)}, "/days"},
		"too many days":        {sandbox.ReplayRequest{Event: rain, Days: new(367)}, "/days"},
		"south of the pole":    {sandbox.ReplayRequest{Event: quake, Location: at(-90.1, 0)}, "/location/latitude"},
		"north of the pole":    {sandbox.ReplayRequest{Event: quake, Location: at(90.1, 0)}, "/location/latitude"},
		"west of the line":     {sandbox.ReplayRequest{Event: quake, Location: at(0, -180.1)}, "/location/longitude"},
		"east of the line":     {sandbox.ReplayRequest{Event: quake, Location: at(0, 180.1)}, "/location/longitude"},
		"an unknown source":    {sandbox.ReplayRequest{Upload: &sandbox.UploadedFile{Source: "bbc", Content: "x"}}, "/upload/source"},
		"an empty file":        {sandbox.ReplayRequest{Upload: file(0)}, "/upload/content"},
		"a file that is long":  {sandbox.ReplayRequest{Upload: file(1<<20 + 1)}, "/upload/content"},
		"days of a file":       {sandbox.ReplayRequest{Upload: file(1), Days: new(3)}, "/days"},
		"a quake to a station": {sandbox.ReplayRequest{Event: quake, Station: new("Seattle")}, "/station"},
		"rain to a location":   {sandbox.ReplayRequest{Event: rain, Location: at(1, 1)}, "/location"},
	} {
		_, err := b.Service.Sandbox.Replay(t.Context(), b.Acme, row.in)
		require.Equal(t, []string{row.pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	for name, in := range map[string]sandbox.ReplayRequest{
		"one day": {Event: rain, Days: new(1)}, "a leap year": {Event: rain, Days: new(366)}, "the south pole": {Event: quake, Location: at(-90, -180)}, "the north pole": {Event: quake, Location: at(90, 180)}, "a long file": {Upload: file(1 << 20)},
	} {
		_, err := b.Service.Sandbox.Replay(t.Context(), b.Acme, in)
		require.NoError(t, err, name)
	}
	_, err := b.Service.Sandbox.Replay(t.Context(), b.Operator, sandbox.ReplayRequest{Event: quake})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code, "an operator has no policies")
}

// The clock goes forward by at most five years, by one run at a time.
func TestClockRequestsAreChecked(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.FixedClock())
	now := time.Now().UTC()
	for name, row := range map[string]struct {
		in      sandbox.ClockRequest
		pointer string
	}{
		"nothing": {sandbox.ClockRequest{}, ""}, "both": {sandbox.ClockRequest{To: new(now.AddDate(0, 0, 1)), By: new("P1D")}, ""}, "no duration": {sandbox.ClockRequest{By: new("a day")}, "/by"}, "no time": {sandbox.ClockRequest{By: new("P0D")}, "/by"},
		"the past": {sandbox.ClockRequest{To: new(now.Add(-time.Second))}, "/to"}, "too far": {sandbox.ClockRequest{To: new(now.AddDate(5, 1, 0))}, "/to"},
	} {
		_, err := b.Service.Sandbox.MoveClock(t.Context(), b.Operator, row.in)
		require.Equal(t, []string{row.pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	_, err := b.Service.Sandbox.MoveClock(t.Context(), b.Acme, sandbox.ClockRequest{By: new("P1D")})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code, "globex shares the clock")
	setStatus := func(status string) {
		_, err := b.DB.Pool.Exec(t.Context(), "update partners set status = $1 where slug <> 'acme'", status)
		require.NoError(t, err)
	}
	setStatus("disabled")
	_, err = b.Service.Sandbox.MoveClock(t.Context(), actor.Actor{Kind: actor.KindPartner, Partner: "acme", Scopes: []actor.Scope{actor.ScopeClaimsRead}}, sandbox.ClockRequest{By: new("P1D")})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	run, err := b.Service.Sandbox.MoveClock(t.Context(), b.Acme, sandbox.ClockRequest{To: new(now.AddDate(4, 11, 0))})
	require.NoError(t, err, "the only partner moves it")
	require.Equal(t, "running", run.Status)
	_, err = b.Service.Sandbox.MoveClock(t.Context(), b.Operator, sandbox.ClockRequest{By: new("P1D")})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	setStatus("enabled")
	clock, err := b.Service.Sandbox.GetClock(t.Context(), b.Globex)
	require.NoError(t, err)
	require.True(t, clock.Moving)
	require.Nil(t, clock.RunID, "the run is of another partner")
}

func TestOnlyEnabledEndpointsGetAWrongSignature(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://hooks.example.com")})
	require.NoError(t, err)
	_, err = b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new(string(webhooks.EndpointDisabled))})
	require.NoError(t, err)
	_, err = b.Service.Sandbox.SendBadSignature(t.Context(), b.Acme, endpoint.ID)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	list, err := b.Service.Sandbox.ListRuns(t.Context(), b.Acme, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
}

// The simulated rail reports a payout that it has, with an outcome that exists.
func TestPayoutOutcomesAreChecked(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.Quake("drill", b.Now(), modeltest.Epicentre, "6.4"), true)
	require.NoError(t, err)
	b.RunJobs()
	payout := b.OnlyClaim(policy).Payouts[0].ID
	_, err = b.Service.Sandbox.ReportPayout(t.Context(), b.Acme, sandbox.PayoutRequest{PayoutID: payout, Outcome: "lose"})
	require.Equal(t, []string{"/outcome"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	for _, outcome := range []sandbox.Outcome{sandbox.Settle, sandbox.Return, sandbox.Mismatch} {
		_, err = b.Service.Sandbox.ReportPayout(t.Context(), b.Acme, sandbox.PayoutRequest{PayoutID: payout, Outcome: outcome})
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it was not sent")
	}
}
