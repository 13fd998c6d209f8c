package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/migrations"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
)

// A dump is restored and checked; one whose data was changed, or that other keys sealed, is
// refused. No release serves the copy.
func TestBackupCheckProvesThatADumpIsIntact(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"pg_dump", "pg_restore", "psql"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install postgresql-client", program)
		}
	}
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.PlayFullStory()
	c := newProcessGroupOn(t, b, "PATH="+os.Getenv("PATH"))
	folder := t.TempDir()
	dump := func(name, format string) string {
		file := filepath.Join(folder, name)
		out, err := exec.CommandContext(t.Context(), "pg_dump", "--format="+format, "--exclude-schema=modeltest*", "--file="+file, "--dbname="+b.URL).CombinedOutput()
		require.NoError(t, err, string(out))
		return file
	}
	check := func(args ...string) (string, error) {
		return c.runCommand(t, append([]string{"backup", "check", "--scratch", b.URL}, args...)...)
	}
	for _, format := range []string{"custom", "plain"} {
		said, err := check(dump(format, format))
		require.NoError(t, err, said)
		for _, line := range []string{"acme: intact", "balanced in every currency", "invariants: all ", "they open what they sealed", "the backup is intact; its last event is of "} {
			require.Contains(t, said, line)
		}
	}

	_, err := b.DB.Pool.Exec(t.Context(), `alter table ledger_entries disable trigger user; update ledger_entries set amount = amount + 1 where amount > 0;
		update events set data = convert_to('{}', 'UTF8') where id = (select min(event_id::text)::uuid from event_sequence)`)
	require.NoError(t, err)
	changed := dump("changed", "custom")
	c.environment = append(c.environment, "PARAPET_SEAL_KEYS=test:"+"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	said, err := check(changed)
	require.Error(t, err)
	for _, fault := range []string{"a history of events has changed", "the ledger does not balance in ", "inv_ledger_matches_payouts is violated by ", "the keys do not open what they sealed"} {
		require.Contains(t, said, fault)
	}
	require.Empty(t, scratchDatabases(t, b.URL), "the copies are gone")

	said, err = check(changed, "--keep")
	require.Error(t, err, said)
	kept := scratchDatabases(t, b.URL)
	require.Len(t, kept, 1)
	address, err := devpg.WithDatabase(b.URL, kept[0])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, devpg.DropDatabase(context.Background(), b.URL, kept[0])) })
	db, err := dbpool.Open(t.Context(), address, 1)
	require.NoError(t, err)
	defer db.Close()
	var tooOld *migrations.BinaryTooOldError
	require.ErrorAs(t, migrations.Check(t.Context(), db.Pool), &tooOld, "no release serves the copy")

	half := filepath.Join(folder, "half")
	text, err := os.ReadFile(changed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(half, text[:len(text)/2], 0o600))
	said, err = check(half)
	require.Error(t, err)
	require.Contains(t, said, "the dump cannot be restored")
	require.NoError(t, os.WriteFile(half, nil, 0o600))
	said, err = check(half)
	require.Error(t, err)
	require.Contains(t, said, "is no dump")
	said, err = c.runCommand(t, "backup", "check")
	require.ErrorContains(t, err, "exit status 2", said)
}

// scratchDatabases returns the copies on a server.
func scratchDatabases(t *testing.T, address string) (names []string) {
	t.Helper()
	db, err := dbpool.Open(t.Context(), address, 1)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Bun.NewRaw("select datname from pg_database where datname like 'parapet\\_backup\\_check\\_%'").Scan(t.Context(), &names))
	return names
}
