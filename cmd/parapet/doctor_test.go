package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/devissuer"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// newHealthySettings returns settings in which every check succeeds, on a database with a
// secret. They allow addresses on this machine, as development does.
func newHealthySettings(t *testing.T) (settings, *modeltest.Bundle) {
	t.Helper()
	b := modeltest.New(t, modeltest.WithoutChecks())
	url := "https://hooks.example.com/"
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(b.QuoteAndBind("rain-excess", nil).ID))
	keys := modeltest.Keys()
	return settings{
		DatabaseURL: b.URL, Issuers: []string{newSkewedIssuer(t, 0)}, Audience: "parapet", PartnerClaim: "partner", Connections: 20,
		SealKeys:       []string{"test:" + base64.StdEncoding.EncodeToString(keys.Seal[0].Secret)},
		FingerprintKey: base64.StdEncoding.EncodeToString(keys.Fingerprint),
		Files:          t.TempDir(), Rail: "simulator", Rehearsal: true, Loopback: true, DelayDivisor: 1, Roles: []string{"api", "workers"}, LogLevel: "info",
		Feeds: []string{"usgs=" + newServerAnswering(t, http.StatusOK)},
	}, b
}

// newSkewedIssuer runs an issuer whose clock is ahead.
func newSkewedIssuer(t *testing.T, ahead time.Duration) string {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	made, err := devissuer.New(devissuer.Options{Issuer: server.URL, Audience: "parapet"})
	require.NoError(t, err)
	handler = made.Handler()
	return server.URL
}

func newServerAnswering(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return server.URL
}

// resultOf returns the doctor's result of one check.
func resultOf(t *testing.T, found []checkResult, check string) checkResult {
	t.Helper()
	for _, d := range found {
		if d.Check == check {
			return d
		}
	}
	t.Fatalf("nothing is said of %s: %v", check, found)
	return checkResult{}
}

func TestDoctorReportsFailedChecks(t *testing.T) {
	t.Parallel()
	another := "k9:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	slow := newSkewedIssuer(t, -time.Hour)
	late := newSkewedIssuer(t, -10*time.Second)
	teapot := newServerAnswering(t, http.StatusTeapot)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	payer := filepath.Join(t.TempDir(), "payer.json")
	require.NoError(t, os.WriteFile(payer, []byte(`{"name": "Parapet", "id": "P1", "iban": "DE89370400440532013000", "bic": "COBADEFFXXX"}`), 0o600))
	for name, test := range map[string]struct {
		check  string
		want   checkStatus
		breaks func(*settings)
	}{
		"nothing configured":  {"settings", checkFail, func(s *settings) { *s = settings{} }},
		"no database":         {"settings", checkFail, func(s *settings) { s.DatabaseURL = "" }},
		"database down":       {"database", checkFail, func(s *settings) { s.DatabaseURL = "postgres://me:hunter2@127.0.0.1:1/x" }},
		"too few connections": {"database", checkWarn, func(s *settings) { s.Connections = 10_000 }},
		"not durable":         {"durability", checkFail, func(s *settings) { s.Rehearsal = false }}, // as the databases of tests are
		"key not base64":      {"keys", checkFail, func(s *settings) { s.SealKeys = []string{"test:!"} }},
		"key too short":       {"keys", checkFail, func(s *settings) { s.SealKeys = []string{"test:AAAA"} }},
		"key lost":            {"sealed secrets", checkFail, func(s *settings) { s.SealKeys = []string{another} }},
		"key other":           {"keys open", checkFail, func(s *settings) { s.SealKeys = []string{"test" + strings.TrimPrefix(another, "k9")} }},
		"keys called alike":   {"keys", checkFail, func(s *settings) { s.SealKeys = append(s.SealKeys, s.SealKeys[0]) }},
		"fingerprints other":  {"keys open", checkFail, func(s *settings) { s.FingerprintKey = base64.StdEncoding.EncodeToString(make([]byte, 32)) }},
		"roles unknown":       {"settings", checkFail, func(s *settings) { s.Loopback, s.Roles = false, []string{"api", "wokers"} }},
		"claim order unknown": {"settings", checkFail, func(s *settings) { s.Loopback, s.ClaimOrder = false, "largest" }},
		"no roles":            {"settings", checkFail, func(s *settings) { s.Loopback, s.Roles = false, nil }},
		"no origin":           {"settings", checkFail, func(s *settings) { s.Loopback, s.BaseURL = false, "https://api.example.com/" }},
		"no such log level":   {"settings", checkFail, func(s *settings) { s.Loopback, s.LogLevel = false, "loud" }},
		"key older":           {"sealed secrets", checkWarn, func(s *settings) { s.SealKeys = []string{another, s.SealKeys[0]} }},
		"issuer down":         {"issuer http://127.0.0.1:1", checkFail, func(s *settings) { s.Issuers = []string{"http://127.0.0.1:1"} }},
		"issuer's clock":      {"clock of " + slow, checkFail, func(s *settings) { s.Issuers = []string{slow} }},
		"issuer a bit late":   {"clock of " + late, checkWarn, func(s *settings) { s.Issuers = []string{late} }},
		"feed unknown":        {"feeds", checkFail, func(s *settings) { s.Feeds = []string{"weather=https://x.example"} }},
		"feed broken":         {"feed usgs " + teapot, checkFail, func(s *settings) { s.Feeds = []string{"usgs=" + teapot + "?key=hunter2"} }},
		"feed down":           {"feed usgs http://127.0.0.1:1", checkFail, func(s *settings) { s.Feeds = []string{"usgs=http://127.0.0.1:1?key=hunter2"} }},
		"feed in the clear":   {"feeds", checkFail, func(s *settings) { s.Feeds = []string{"usgs=http://example.com/all?key=hunter2"} }},
		"no feed":             {"feeds", checkWarn, func(s *settings) { s.Feeds = nil }},
		"files unwritable":    {"attachments", checkFail, func(s *settings) { s.Files = file }},
		"no such rail":        {"rail", checkFail, func(s *settings) { s.Rail = "pigeon" }},
		"bank's files unwritable": {"rail", checkFail, func(s *settings) {
			s.Rail, s.RailAccount, s.RailFiles = "iso20022", payer, file
		}},
		"rail forgets": {"rail", checkFail, func(s *settings) {
			s.Rail, s.RailURL, s.RailKeyWindow = "http", "http://127.0.0.1:1", time.Minute
			s.RailSecrets = []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
		}},
		"rail down": {"rail answers", checkFail, func(s *settings) {
			s.Rail, s.RailURL = "http", "http://127.0.0.1:1"
			s.RailSecrets = []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
		}},
		"desk behind nothing": {"desk", checkWarn, func(s *settings) { s.OperatorUI = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newHealthySettings(t)
			test.breaks(&s)
			found := runChecks(t.Context(), s)
			d := resultOf(t, found, test.check)
			require.Equal(t, test.want, d.Verdict, d)
			require.NotEmpty(t, d.Advice, "it says what to do")
			require.NotContains(t, d.Found, "hunter2")
		})
	}
}

func TestTheDoctorFindsAPendingMigration(t *testing.T) {
	t.Parallel()
	s, b := newHealthySettings(t)
	for _, d := range runChecks(t.Context(), s) {
		if d.Check != "settings" { // addresses on this machine
			require.NotEqual(t, checkFail, d.Verdict, d)
		}
	}
	s.Rehearsal = false
	require.NoError(t, b.Service.ShiftClock(t.Context(), time.Hour))
	require.Equal(t, checkFail, resultOf(t, runChecks(t.Context(), s), "rehearsals").Verdict)
	_, err := b.DB.Pool.Exec(t.Context(), "delete from bun_migrations where id = (select max(id) from bun_migrations)")
	require.NoError(t, err)
	require.Equal(t, checkFail, resultOf(t, runChecks(t.Context(), s), "migrations").Verdict)
	_, err = b.DB.Pool.Exec(t.Context(), "update schema_compatibility set minimum_binary = 9999")
	require.NoError(t, err)
	require.Contains(t, resultOf(t, runChecks(t.Context(), s), "migrations").Advice, "a newer one")
}

func TestDoctorReportsPayoutsInDoubtAtAnotherRail(t *testing.T) {
	t.Parallel()
	s, b := newHealthySettings(t)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return payouts.RailAnswer{Outcome: payouts.OutcomeUnknown} }
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), hazard.Point{Latitude: 24.174, Longitude: 121.653}, "6.4"))
	b.RunJobs()
	require.Equal(t, "reconciling", b.OnlyClaim(policy).Payouts[0].Status)
	d := resultOf(t, runChecks(t.Context(), s), "doubts elsewhere")
	require.Equal(t, checkFail, d.Verdict)
	require.Equal(t, "payouts in doubt at "+modeltest.RailName+": 1", d.Found)
}

func TestDoctorFindsDaysWithoutAReportOfAnotherBank(t *testing.T) {
	t.Parallel()
	s, b := newHealthySettings(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), hazard.Point{Latitude: 24.174, Longitude: 121.653}, "6.4"))
	b.RunJobs()
	former := payouts.RailIdentity{Name: modeltest.RailName, Address: "https://former.example"}
	require.NoError(t, b.Service.Releases.RegisterRail(t.Context(), former))
	yesterday := time.Now().UTC().AddDate(0, 0, -1)
	_, err := b.DB.Pool.Exec(t.Context(), "update payout_attempts set rail_identity = $1, started_at = $2::timestamptz + (select offset_interval from clock)", former.ID(), yesterday)
	require.NoError(t, err)
	d := resultOf(t, runChecks(t.Context(), s), "reports elsewhere")
	require.Equal(t, checkWarn, d.Verdict)
	require.Equal(t, describeRail(former)+" has payouts that its reports settle, and no report of "+yesterday.Format(time.DateOnly), d.Found)
}

func TestDoctorPrintsTextAndJSON(t *testing.T) {
	t.Parallel()
	found := []checkResult{{"database", checkOK, "Postgres 15", ""}, {"rail", checkFail, "no answer:\n\tlost\n\tlost\nover", "Call them."}}
	var text, list bytes.Buffer
	require.NoError(t, printResults(&text, found, false))
	require.Equal(t, "ok    database  Postgres 15\nfail  rail      no answer: lost; over\n                -> Call them.\n", text.String())
	require.NoError(t, printResults(&list, found, true))
	var back []checkResult
	require.NoError(t, json.Unmarshal(list.Bytes(), &back))
	require.Equal(t, found, back)
}

func TestDoctorExitCodeReflectsFailedChecks(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("OIDC_ISSUER", "")
	t.Setenv("PARAPET_FILES", t.TempDir())
	require.ErrorContains(t, runCommand(t.Context(), []string{"doctor", "--json"}, &bytes.Buffer{}), "checks failed")
	t.Setenv("PARAPET_CONNECTIONS", "many")
	var unread bytes.Buffer
	require.Error(t, runDoctor(t.Context(), false, &unread))
	require.Contains(t, unread.String(), "PARAPET_CONNECTIONS: ")
	t.Setenv("PARAPET_TYPO", "1")
	var out bytes.Buffer
	require.ErrorContains(t, runDoctor(t.Context(), false, &out), "1 of 1 checks failed")
	require.Contains(t, out.String(), "PARAPET_TYPO")
}
