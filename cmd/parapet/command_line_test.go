package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// commandOutput runs a command and returns what it prints.
func commandOutput(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := runCommand(t.Context(), append([]string{}, args...), &out) // not nil: cobra would read the arguments of the test
	return out.String(), err
}

func TestUnknownCommandsAreExplained(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, says string }{
		{"serv", `there is no command "serv"; did you mean dev or serve?`},
		{"xyzzyxyzzy", `there is no command "xyzzyxyzzy"; parapet --help lists them`},
		{"ops decide-clam", `there is no verb "decide-clam"; did you mean decide-claim?`},
		{"keys", "parapet keys needs a verb"},
		{"restore statsu", `there is no verb "statsu"; did you mean status?`},
		{"serve now", `parapet serve takes no argument "now"`},
		{"serve --lissten", "unknown flag: --lissten; parapet serve --help lists the flags"},
		{"config --output xml", "use table or json"},
		{"observe", "name one file or address"},
		{"help nope", `there is no command "nope"; did you mean ops?`},
		{"help ops decide-clam", `there is no command "decide-clam"; did you mean decide-claim?`},
		{"erase --partner acme", "erase needs --policyholder or --policy, --reason; parapet erase --help describes them"},
		{"erase --policy pol_1 --reason x", "erase needs --partner;"},
		{"restore begin", "begin needs --reason; parapet restore begin --help describes them"},
		{"restore finish --without-reports", "finish needs --reason;"},
		{"rail unseal --reason x", "unseal needs --batch;"},
		{"completion basch", `there is no verb "basch"; did you mean bash?`},
		{"listen", "--forward: name an address"},
		{"listen --forward localhost:3000", "--forward: name an address"},
		{"listen --forward http://localhost:3000 --token x --secret whsec_AAAA", "--secret: use whsec_"},
	} {
		_, err := commandOutput(t, strings.Fields(tc.args)...)
		require.ErrorContains(t, err, tc.says)
		require.Equal(t, exitUsage, exitCode(err), tc.args)
	}
}

func TestHelpListsEveryCommandInAGroup(t *testing.T) {
	t.Parallel()
	help, err := commandOutput(t)
	require.NoError(t, err)
	require.Contains(t, help, "Exit codes: 0 done")
	for _, command := range newRootCommand(&bytes.Buffer{}).Commands() {
		require.Contains(t, help, "\n  "+command.Name()+" ")
		require.NotEmpty(t, command.GroupID, command.Name())
		require.True(t, command.HasExample() || command.HasSubCommands() || command.Name() == "help", "%s shows no example", command.Name())
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := commandOutput(t, "completion", shell)
		require.NoError(t, err)
		require.Contains(t, script, "parapet")
	}
	words, err := commandOutput(t, "__complete", "ops", "decide-")
	require.NoError(t, err)
	require.Contains(t, words, "decide-claim\t")
}

func TestCountsHaveTheirPlural(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 row was", countOf(1, "row was", "rows were"))
	require.Equal(t, "0 rows were", countOf(0, "row was", "rows were"))
	require.Equal(t, "2 rows were", countOf(2, "row was", "rows were"))
}

func TestHelpDescribesACommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "restore", "begin"}, {"restore", "begin", "--help"}} {
		text, err := commandOutput(t, args...)
		require.NoError(t, err)
		require.Contains(t, text, "--reason")
		require.Contains(t, text, "--help", "it lists its flag for help")
	}
	text, err := commandOutput(t, "help")
	require.NoError(t, err)
	require.Contains(t, text, "Run the service:")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	text, err := commandOutput(t, "version")
	require.NoError(t, err)
	require.Regexp(t, `^parapet development\ncommit  .+\ngo      go1\..+\nschema  [0-9]{4}_[a-z_]+\n$`, text)
	text, err = commandOutput(t, "version", "--output", "json")
	require.NoError(t, err)
	var info map[string]string
	require.NoError(t, json.Unmarshal([]byte(text), &info))
	require.Equal(t, "development", info["version"])
}

func TestExitCodesTellWhoMustAct(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, unreachable := commandOutput(t, "ops", "partners", "--server", closed.URL, "--token", "x")
	for want, err := range map[int]error{
		exitUnreachable: unreachable,
		exitNotChecked:  fmt.Errorf("a receipt: %w", errNotChecked),
		exitRefused:     operationError{errors.New("state_conflict: it is closed")},
		exitFailed:      errors.New("something else"),
	} {
		require.Equal(t, want, exitCode(err), err)
	}
	require.Equal(t, exitUnreachable, exitCode(apperr.Fail(apperr.CodeUnavailable, "Try again.")))
	require.Equal(t, exitRefused, exitCode(apperr.Fail(apperr.CodeNotFound, "There is none.")))
	require.Equal(t, exitFailed, exitCode(apperr.Fail(apperr.CodeInternal, "It broke.")))
	require.Equal(t, exitRefused, exitCode(&statusError{http.StatusUnauthorized, ""}))
	require.Equal(t, exitUnreachable, exitCode(&statusError{http.StatusBadGateway, ""}))
}

func TestValuesAreReadFromFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "note")
	require.NoError(t, os.WriteFile(file, []byte("A long note."), 0o600))
	for given, want := range map[string]string{"plain": "plain", "@" + file: "A long note.", "@@home": "@home", "a@b": "a@b"} {
		text, err := readArgument(given)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	require.NoError(t, os.WriteFile(file, []byte(closed.URL+"\n"), 0o600))
	_, err := commandOutput(t, "login", "--server", "@"+file)
	require.ErrorContains(t, err, closed.URL+"/.well-known", "every text flag reads files")
	_, err = commandOutput(t, "login", "--server", "@"+file+".missing")
	require.ErrorContains(t, err, "no such file")
	require.Equal(t, exitUsage, exitCode(err))
	_, err = commandOutput(t, "ops", "decide-claim", "--note", "@"+file+".missing")
	require.ErrorContains(t, err, "no such file")
}

func TestTablesForPeople(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ json, table string }{
		{
			`{"claim": {"id": "clm_1", "owed": {"amount": 1200, "currency": "USD"}, "codes": ["A", "B"], "messages": [{"id": "m"}], "note": null}}`,
			"claim.id        clm_1\nclaim.owed      1200 USD\nclaim.codes     A, B\nclaim.messages  1 records\nclaim.note      \n",
		},
		{
			`{"totalCount": 2, "nodes": [{"id": "a", "name": "x\u001b[2J"}, {"id": "b", "more": 1}], "pageInfo": {"endCursor": "c2", "hasNextPage": true}}`,
			"ID  NAME   MORE\na   x [2J  \nb          1\ntotalCount 2\npageInfo.endCursor c2\n",
		},
		{`[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}]`, "A  B  C  D  E  F  G  H\n1  2  3  4  5  6  7  8\n1 more columns: use --output json, or --select\n"},
		{`[]`, "\n"},
	} {
		var out bytes.Buffer
		require.NoError(t, printTable(&out, jsontext.Value(tc.json)))
		require.Equal(t, tc.table, out.String())
	}
}

// A flag of an operation must not hide one that all operations have.
func TestOperationsHaveNoFlagTwice(t *testing.T) {
	t.Parallel()
	for name, v := range operatorVerbs() {
		require.NotPanics(t, func() { newOperationCommand(name, v) }, name)
	}
}
