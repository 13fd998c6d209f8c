package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
)

// useServerEnvironment sets the environment of the server of a database, and returns a
// function that runs a command in it. Its tests do not run in parallel.
func useServerEnvironment(t *testing.T, b *modeltest.Bundle) func(args ...string) (string, error) {
	t.Helper()
	keys := modeltest.Keys()
	for name, value := range map[string]string{
		"DATABASE_URL": b.URL, "PARAPET_FILES": b.Files, "PARAPET_REHEARSAL": "true",
		"PARAPET_SEAL_KEYS":       keys.Seal[0].ID + ":" + base64.StdEncoding.EncodeToString(keys.Seal[0].Secret),
		"PARAPET_FINGERPRINT_KEY": base64.StdEncoding.EncodeToString(keys.Fingerprint),
	} {
		t.Setenv(name, value)
	}
	return func(args ...string) (string, error) {
		var out bytes.Buffer
		err := runCommand(t.Context(), args, &out)
		return out.String(), err
	}
}

// shellAuditEntries returns the audit entries of the machine's shell user, newest first.
func shellAuditEntries(t *testing.T, b *modeltest.Bundle, operation string) []audit.Entry {
	t.Helper()
	page, err := b.Service.Audit.List(t.Context(), b.Operator, audit.Filter{Operation: operation}, store.PageRequest{})
	require.NoError(t, err)
	for _, line := range page.Data {
		require.Contains(t, line.Actor, "shell ")
	}
	return page.Data
}

func TestEraseCommand(t *testing.T) {
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"policyholder": map[string]any{"name": "Lin Mei-hua", "email": "lin@example.com"}})
	shell := useServerEnvironment(t, b)
	erase := func(args ...string) (string, error) { return shell(append([]string{"erase"}, args...)...) }
	for flaw, args := range map[string][]string{
		"erase needs --partner;":             {"--policyholder", "lin@example.com", "--reason", "r"},
		"needs --policyholder or --policy;":  {"--partner", "acme", "--reason", "r"},
		"erase needs --reason;":              {"--partner", "acme", "--policyholder", "lin@example.com"},
		"no policy and no quote":             {"--partner", "acme", "--policyholder", "nobody@example.com", "--reason", "r"},
		"unknown flag":                       {"--person", "x"},
		`takes no argument "lin@example.com`: {"lin@example.com"},
		"is in force":                        {"--partner", "acme", "--policy", policy.ID, "--reason", "r"},
	} {
		_, err := erase(args...)
		require.ErrorContains(t, err, flaw)
	}
	b.AdvanceClock(500 * 24 * time.Hour)
	b.Sweep()
	b.Relay()
	said, err := erase("--partner", "acme", "--policyholder", "lin@example.com", "--reason", "They asked for it.")
	require.NoError(t, err)
	require.Contains(t, said, "erased from 1 quotes, 1 policies, 0 claims")
	require.Nil(t, b.Policy(policy.ID).Policyholder)
	lines := shellAuditEntries(t, b, "erase")
	require.Len(t, lines, 1)
	require.Equal(t, []string{"acme", "They asked for it."}, []string{*lines[0].Partner, *lines[0].Reason})
	said, err = shell("verify-events", "--partner", "acme")
	require.NoError(t, err, said)
	require.Contains(t, said, "acme: intact")

	t.Setenv("PARAPET_FINGERPRINT_KEY", "")
	_, err = erase("--partner", "acme", "--policyholder", "lin@example.com", "--reason", "r")
	require.ErrorContains(t, err, "PARAPET_FINGERPRINT_KEY")
}

func TestKeysRotateCommand(t *testing.T) {
	b := modeltest.New(t)
	url := "https://hooks.example.com/"
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	shell := useServerEnvironment(t, b)
	said, err := shell("keys")
	require.ErrorContains(t, err, "parapet keys needs a verb")
	require.Contains(t, said, "rotate")
	_, err = shell("keys", "rotate", "now")
	require.ErrorContains(t, err, "takes no argument")

	old, young := os.Getenv("PARAPET_SEAL_KEYS"), "k2:"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32))
	t.Setenv("PARAPET_SEAL_KEYS", young)
	_, err = shell("keys", "rotate")
	require.ErrorContains(t, err, "no key")
	t.Setenv("PARAPET_SEAL_KEYS", "k2")
	_, err = shell("keys", "rotate")
	require.ErrorContains(t, err, "name:base64")
	t.Setenv("PARAPET_SEAL_KEYS", "")
	_, err = shell("keys", "rotate")
	require.ErrorContains(t, err, "PARAPET_SEAL_KEYS is missing")

	t.Setenv("PARAPET_SEAL_KEYS", young+","+old)
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select from webhook_endpoints for update")
	require.NoError(t, err)
	said, err = shell("keys", "rotate")
	require.ErrorContains(t, err, "run it again")
	require.Contains(t, said, "test: 1 secrets")
	require.NoError(t, tx.Rollback(t.Context()))
	said, err = shell("keys", "rotate")
	require.NoError(t, err)
	require.Contains(t, said, "1 records sealed again with key k2\nk2: 1 secrets\nno older key is needed any more\n")
	require.Len(t, shellAuditEntries(t, b, "keys rotate"), 2)
}

func TestEraseDeletesAttachmentFiles(t *testing.T) {
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
	require.NoError(t, err)
	_, err = b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader("a")})
	require.NoError(t, err)
	_, err = b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimDeclined})
	require.NoError(t, err)
	_, err = b.Service.Policies.Cancel(t.Context(), b.Operator, underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new("r")})
	require.NoError(t, err)
	b.Relay()
	shell := useServerEnvironment(t, b)
	t.Setenv("PARAPET_FILES", t.TempDir()) // missing, or on another machine
	_, err = shell("erase", "--partner", "acme", "--policy", policy.ID, "--reason", "r")
	require.NoError(t, err)
	var keys string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select args->'keys'->>0 from river.river_job where kind = 'delete_files'").Scan(&keys))
	require.FileExists(t, filepath.Join(b.Files, keys), "the workers of the server find it")
}
