package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
)

// The commands read the environment, so these tests do not run in parallel.

func TestDevRejectsAProductionDatabase(t *testing.T) {
	_, url := modeltest.Database(t, 1)
	t.Setenv("DATABASE_URL", url)
	err := runCommand(t.Context(), []string{"dev", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0"}, io.Discard)
	require.ErrorContains(t, err, "not the development stack's")
}

func TestDevRejectsAForeignDatabase(t *testing.T) {
	url := modeltest.URL(t)
	db, err := dbpool.Open(t.Context(), url, 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	_, err = db.Pool.Exec(t.Context(), "create table customers (name text)")
	require.NoError(t, err)
	t.Setenv("DATABASE_URL", url)
	err = runCommand(t.Context(), []string{"dev", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0"}, io.Discard)
	require.ErrorContains(t, err, "neither empty nor Parapet's")
	var tables int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select count(*) from information_schema.tables where table_schema in ('public', 'river')").Scan(&tables))
	require.Equal(t, 1, tables)
}

func TestServeRejectsTheDevelopmentDatabase(t *testing.T) {
	b := modeltest.New(t)
	b.AdvanceClock(0) // as the development stack does, even if it does not shift the clock
	setServeEnvironment(t, b)
	t.Setenv("PARAPET_REHEARSAL", "false")
	err := runCommand(t.Context(), []string{"serve"}, io.Discard)
	require.ErrorContains(t, err, "belongs to the development stack")
	t.Setenv("PARAPET_REHEARSAL", "true")
	err = runCommand(t.Context(), []string{"serve"}, io.Discard)
	require.ErrorContains(t, err, "PARAPET_LISTEN")
}

// setServeEnvironment sets what serve needs, and an address at which it fails last.
func setServeEnvironment(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	setKeys(t)
	for name, value := range map[string]string{
		"DATABASE_URL": b.URL, "OIDC_ISSUER": "http://127.0.0.1:1", "PARAPET_RAIL": rail.SimulatorName, "PARAPET_FILES": t.TempDir(), "PARAPET_LISTEN": "nowhere",
	} {
		t.Setenv(name, value)
	}
}

func TestServeRefusesOtherKeysThanTheDatabases(t *testing.T) {
	b := modeltest.New(t)
	setServeEnvironment(t, b)
	require.ErrorContains(t, runCommand(t.Context(), []string{"serve"}, io.Discard), "PARAPET_LISTEN", "there is nothing of a key")
	b.SignCheckpoint()
	require.ErrorContains(t, runCommand(t.Context(), []string{"serve"}, io.Discard), "the keys are not those of the database: the fingerprint key is not the one that signed")
	t.Setenv("PARAPET_FINGERPRINT_KEY", base64.StdEncoding.EncodeToString(modeltest.Keys().Fingerprint))
	require.ErrorContains(t, runCommand(t.Context(), []string{"serve"}, io.Discard), "PARAPET_LISTEN")
}

func TestObserveFailsOnATruncatedFile(t *testing.T) {
	db, url := modeltest.Database(t, 1)
	t.Setenv("DATABASE_URL", url)
	file := filepath.Join(t.TempDir(), "week.geojson")
	require.NoError(t, os.WriteFile(file, feed.SampleUSGSWeek()[:100_000], 0o600))
	var out bytes.Buffer
	err := runCommand(t.Context(), []string{"observe", "--source", feed.SourceUSGS, file}, &out)
	require.ErrorContains(t, err, "1 row was left out")
	require.Contains(t, out.String(), "the file breaks off")
	var kept int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select count(*) from observations").Scan(&kept))
	require.Positive(t, kept)
}

func TestCommandsRefuseTheDatabaseOfANewerRelease(t *testing.T) {
	db, url := modeltest.Database(t, 1)
	_, err := db.Pool.Exec(t.Context(), "update schema_compatibility set minimum_binary = 9999")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "week.geojson")
	require.NoError(t, os.WriteFile(file, feed.SampleUSGSWeek(), 0o600))
	setKeys(t)
	t.Setenv("DATABASE_URL", url)
	t.Setenv("PARAPET_FILES", t.TempDir())
	for _, args := range databaseCommands(file) {
		err := runCommand(t.Context(), args, io.Discard)
		require.ErrorContains(t, err, "needs a release that knows migration 9999", args)
		require.Equal(t, exitFailed, exitCode(err), args)
	}
}

func TestCommandsReportAnUnreachableDatabase(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	file := filepath.Join(t.TempDir(), "week.geojson")
	require.NoError(t, os.WriteFile(file, feed.SampleUSGSWeek(), 0o600))
	setKeys(t)
	t.Setenv("DATABASE_URL", "postgres://me:hunter2@"+listener.Addr().String()+"/x")
	t.Setenv("PARAPET_FILES", t.TempDir())
	for _, args := range databaseCommands(file) {
		err := runCommand(t.Context(), args, io.Discard)
		require.Equal(t, exitUnreachable, exitCode(err), args)
		require.Regexp(t, "^the database cannot be reached: failed to connect to `user=me database=x`: .*connection refused", err.Error(), args)
		require.NotContains(t, err.Error(), "\n", args)
		require.NotContains(t, err.Error(), "hunter2", args)
	}
}

func TestCommandsReportAReadOnlyDatabase(t *testing.T) {
	_, url := modeltest.Database(t, 1)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	setKeys(t)
	t.Setenv("DATABASE_URL", url+separator+"default_transaction_read_only=on")
	t.Setenv("PARAPET_FILES", t.TempDir())
	for _, args := range [][]string{{"statement"}, {"migrate"}} {
		err := runCommand(t.Context(), args, io.Discard)
		require.ErrorContains(t, err, "is a standby or read-only: name the primary in DATABASE_URL", args)
		require.Equal(t, exitUnreachable, exitCode(err), args)
	}
}

// databaseCommands are the commands that work on the database itself; file has observations.
func databaseCommands(file string) [][]string {
	return [][]string{
		{"observe", "--source", feed.SourceUSGS, file},
		{"statement"},
		{"verify-events"},
		{"keys", "rotate"},
		{"erase", "--partner", "acme", "--policyholder", "lin@example.com", "--reason", "x"},
		{"rail", "unseal", "--batch", "x", "--reason", "x"},
		{"restore", "status"},
		{"restore", "begin", "--reason", "x"},
		{"migrate"},
	}
}

// setKeys sets the keys that commands need.
func setKeys(t *testing.T) {
	t.Helper()
	secret := base64.StdEncoding.EncodeToString(make([]byte, 32))
	t.Setenv("PARAPET_SEAL_KEYS", "k1:"+secret)
	t.Setenv("PARAPET_FINGERPRINT_KEY", secret)
}

func TestInvalidClockOffsetCreatesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "stack")
	for _, offset := range []string{"P10X", "tomorrow", "--P1D", ""} {
		err := runCommand(t.Context(), []string{"dev", "--data-dir", dir, "--clock-offset=" + offset}, io.Discard)
		require.ErrorContains(t, err, "use a duration such as", offset)
		require.NoDirExists(t, dir)
	}
}

func TestVerifyEventsRequiresTheServersSettings(t *testing.T) {
	b := modeltest.New(t)
	b.SignCheckpoint()
	t.Setenv("DATABASE_URL", b.URL)
	t.Setenv("PARAPET_REHEARSAL", "true")
	verify := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := runCommand(t.Context(), append([]string{"verify-events"}, args...), &out)
		return out.String(), err
	}
	_, err := verify()
	require.ErrorContains(t, err, "PARAPET_FINGERPRINT_KEY")
	t.Setenv("PARAPET_FINGERPRINT_KEY", base64.StdEncoding.EncodeToString(modeltest.Keys().Fingerprint))
	said, err := verify("--partner", "nosuch")
	require.ErrorContains(t, err, "no partner")
	require.NotContains(t, said, "intact")
	for _, args := range [][]string{nil, {"--partner", "acme"}} {
		said, err = verify(args...)
		require.NoError(t, err, said)
		require.Contains(t, said, "acme: intact")
		require.Contains(t, said, " 1 checkpoints")
	}
}

func TestServeRefusesRehearsalsOnARealRail(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{rail.SimulatorName: false, "http": true, "iso20022": true, "nacha": true} {
		err := settings{Rehearsal: true, Rail: name}.checkComplete()
		require.Equal(t, refused, strings.Contains(err.Error(), "PARAPET_REHEARSAL needs PARAPET_RAIL=simulator"), name)
		require.NotContains(t, settings{Rail: name}.checkComplete().Error(), "PARAPET_REHEARSAL", name)
	}
}

func TestOnlyTheDevelopmentStackTakesGlobalObservationsOfPartners(t *testing.T) {
	t.Parallel()
	require.True(t, settings{Rehearsal: true, Loopback: true}.isDevelopmentStack())
	require.False(t, settings{Rehearsal: true}.isDevelopmentStack(), "a shared rehearsal server")
	require.ErrorContains(t, settings{Rehearsal: true, Loopback: true}.checkComplete(), "PARAPET_LOOPBACK_TARGETS", "serve never is one")
}
