package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
)

// runInitIn runs parapet init for a database, and returns the file and what it prints.
func runInitIn(t *testing.T, folder, database string, args ...string) (string, string, error) {
	t.Helper()
	file := filepath.Join(folder, "parapet.env")
	out, err := commandOutput(t, append([]string{"init", "--file", file, "--database-url", database, "--set", "PARAPET_FILES=" + filepath.Join(folder, "files")}, args...)...)
	return file, out, err
}

// readWithShell returns the settings of a file as a shell reads them.
func readWithShell(t *testing.T, file string) map[string]string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", `set -a; . "$0"; env`, file)
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	text, err := shell.Output()
	require.NoError(t, err)
	return env.ToMap(strings.Split(strings.TrimSpace(string(text)), "\n"))
}

func TestInitSetsUpAServer(t *testing.T) {
	t.Parallel()
	database, folder, issuer := modeltest.URL(t), t.TempDir(), newSkewedIssuer(t, 0)
	args := []string{"--issuer", issuer, "--rail", "simulator", "--partner", "acme", "--partner-name", "Acme Ltd", "--set", "PARAPET_REHEARSAL=true", "--set", "PARAPET_ORIGINS=https://a.example.com"}
	file, out, err := runInitIn(t, folder, database, args...)
	require.NoError(t, err, out)
	require.Contains(t, out, "partner acme is registered")
	require.Contains(t, out, "set -a; . "+file+"; set +a")
	require.Equal(t, 5, strings.Count(out, "   # "), "five commands")
	require.Contains(t, out, "http://127.0.0.1:8080/readyz")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	values := readWithShell(t, file)
	s, err := parseSettings(values)
	require.NoError(t, err)
	require.NoError(t, s.checkComplete())
	require.Equal(t, database, s.DatabaseURL)
	require.Equal(t, []string{issuer}, s.Issuers)
	keys, err := s.parseKeys()
	require.NoError(t, err)
	require.NoError(t, keys.Check())
	signing, err := s.parseReceiptKeys()
	require.NoError(t, err)
	require.NotEmpty(t, signing)
	for _, r := range runChecks(t.Context(), s) {
		require.NotEqual(t, checkFail, r.Verdict, r)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for row := range settingRows(settings{}) {
		require.Contains(t, string(text), "\n# "+row.help+"\n")
		require.Regexp(t, "(?m)^#?"+row.name+"=", string(text))
	}
	service, closeDomain, err := s.openDomain(t.Context(), nil)
	require.NoError(t, err)
	defer closeDomain()
	partner, err := service.Partners.Get(t.Context(), shellActor("test"), "acme")
	require.NoError(t, err)
	require.Equal(t, "Acme Ltd", partner.Name)

	_, _, err = runInitIn(t, folder, database, args...)
	require.ErrorContains(t, err, "parapet.env exists, and its keys may be in use")
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, after)
}

func TestInitWritesNothingBeforeTheChecksPass(t *testing.T) {
	t.Parallel()
	database := modeltest.URL(t)
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"missing values":  {nil, "name --issuer, --rail, --partner;"},
		"issuer down":     {[]string{"--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--partner", "acme", "--set", "PARAPET_REHEARSAL=true"}, "1 check failed, and nothing was written"},
		"unknown setting": {[]string{"--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--partner", "acme", "--set", "PARAPET_TYPO=1"}, "there is no setting PARAPET_TYPO"},
		"a wrong letter":  {[]string{"--write-only", "--issuer", "http://127.0.0.1:1", "--set", "PARAPET_LISTENS=:80"}, "there is no setting PARAPET_LISTENS; did you mean PARAPET_LISTEN?"},
		"wrong prefix":    {[]string{"--write-only", "--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--set", "LOG_LEVEL_OF_PARAPET=debug"}, "there is no setting LOG_LEVEL_OF_PARAPET; parapet config lists them"},
		"other variable":  {[]string{"--write-only", "--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--set", "PARAPET_SERVER=x"}, "there is no setting PARAPET_SERVER"},
		"wrong slug":      {[]string{"--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--partner", "No Slug"}, "--partner: use 1 to 63"},
		"no value":        {[]string{"--set", "PARAPET_LISTEN"}, "write NAME=value"},
		"quote in value":  {[]string{"--issuer", "http://127.0.0.1:1", "--rail", "simulator", "--write-only", "--set", "PARAPET_FAMILY=it's"}, "PARAPET_FAMILY: a quote"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _, err := runInitIn(t, t.TempDir(), database, tc.args...)
			require.ErrorContains(t, err, tc.says)
			require.NoFileExists(t, file)
		})
	}
	db, err := dbpool.Open(t.Context(), database, 1)
	require.NoError(t, err)
	defer db.Close()
	var tables int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select count(*) from information_schema.tables where table_schema = 'public'").Scan(&tables))
	require.Zero(t, tables, "the database is left alone")
}

func TestInitKeepsTheFileWhenTheDatabaseFails(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	file, _, err := runInitIn(t, t.TempDir(), b.URL, "--issuer", newSkewedIssuer(t, 0), "--rail", "simulator", "--partner", "acme", "--partner-name", "Another", "--set", "PARAPET_REHEARSAL=true")
	require.ErrorContains(t, err, "choose another one")
	require.ErrorContains(t, err, "parapet.env stays")
	require.FileExists(t, file, "its keys may have sealed something")
}

func TestInitWriteOnlyNeedsNoServer(t *testing.T) {
	t.Parallel()
	file, out, err := runInitIn(t, t.TempDir(), "postgres://me@127.0.0.1:1/x?application_name=a&sslmode=disable", "--issuer", "http://127.0.0.1:1", "--rail", "http", "--write-only")
	require.NoError(t, err)
	require.NotContains(t, out, "Next:")
	require.Equal(t, "postgres://me@127.0.0.1:1/x?application_name=a&sslmode=disable", readWithShell(t, file)["DATABASE_URL"])
}

func TestInitAsksOnlyForWhatIsMissing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := initOptions{values: map[string]string{"OIDC_ISSUER": "https://id.example.com"}}
	answers := "\npostgres://db\n\n\nacme\n\n"
	environment := map[string]string{"PARAPET_LISTEN": ":9000", "OIDC_ISSUER": "https://other", "HOME": "/root", "PARAPET_FINGERPRINT_KEY": "kept"}
	require.NoError(t, o.complete(environment, bufio.NewReader(strings.NewReader(answers)), &out))
	require.Equal(t, "postgres://db", o.values["DATABASE_URL"], "asked again until there is an answer")
	require.Equal(t, "https://id.example.com", o.values["OIDC_ISSUER"], "a flag comes before the environment")
	require.Equal(t, "simulator", o.values["PARAPET_RAIL"])
	require.Empty(t, o.values["PARAPET_BASE_URL"])
	require.Equal(t, ":9000", o.values["PARAPET_LISTEN"])
	require.NotContains(t, o.values, "HOME")
	require.Equal(t, "kept", o.values["PARAPET_FINGERPRINT_KEY"])
	require.Equal(t, []string{"acme", "acme"}, []string{o.slug, o.name})
	require.NotContains(t, out.String(), "OpenID")
	require.Contains(t, out.String(), "[simulator]: ")
	_, err := askQuestion(initQuestions[0], bufio.NewReader(strings.NewReader("")), &out)
	require.ErrorContains(t, err, "no answer")
}

func TestOriginIsTheOneToCall(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]settings{
		"https://api.example.com": {BaseURL: "https://api.example.com", Listen: ":8080"},
		"http://127.0.0.1:8080":   {Listen: ":8080"},
		"https://127.0.0.1:8443":  {Listen: "0.0.0.0:8443", TLSCertificate: "chain.pem"},
		"http://10.0.0.1:80":      {Listen: "10.0.0.1:80"},
		"http://api:80":           {Listen: "api:80"},
		"http://socket":           {Listen: "socket"},
	} {
		require.Equal(t, want, s.origin())
	}
}
