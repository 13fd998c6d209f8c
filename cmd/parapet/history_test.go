package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestHistoryIsLoadedListedAndExported(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	client := w.seedClients()[2]
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := runCommand(t.Context(), append([]string{"history"}, append(args, "--server", w.info.BaseURL, "--client-id", client.ID, "--client-secret", client.Secret)...), &out)
		return out.String(), err
	}
	folder := t.TempDir()
	file, reason := filepath.Join(folder, "quakes.csv"), filepath.Join(folder, "reason")
	require.NoError(t, os.WriteFile(file, modeltest.QuakeHistory(2), 0o600))
	require.NoError(t, os.WriteFile(reason, []byte("New events.\n"), 0o600))
	trial, err := run("load", file, "--reason", "@"+reason, "--dry-run")
	require.NoError(t, err)
	table, err := run("load", file, "--reason", "@"+reason, "--dry-run", "--output", "table")
	require.NoError(t, err)
	require.Regexp(t, `(?s)name +Some earthquakes\n.*\nPRODUCT +BEFORE +AFTER\n.*quake-circle +[0-9]+ USD +[0-9]+ USD\n`, table)
	text, err := run("load", file, "--reason", "@"+reason, "--select", "{ priceHistory { digest version } }")
	require.NoError(t, err)
	var answer map[string]struct {
		Digest  string `json:"digest"`
		Version int    `json:"version"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	loaded := answer["priceHistory"]
	require.Equal(t, 1, loaded.Version)
	require.Contains(t, trial, loaded.Digest)
	list, err := run("list", "--output", "table")
	require.NoError(t, err)
	require.Regexp(t, `EARTHQUAKES +1 +Some earthquakes`, list)
	exported, err := run("export", loaded.Digest)
	require.NoError(t, err)
	require.Equal(t, string(modeltest.QuakeHistory(2)), exported)

	quote := w.callAs(t, "acme", "POST", "/v1/quotes", `{"product": "quake-circle", "context": {"partner": "acme"}}`, 201)
	require.Equal(t, loaded.Digest, quote["basis"].(map[string]any)["dataset_digest"])
	save := func(name, path string) string {
		_, record := w.sendRequest(t, w.tokenOf(t, "acme"), "GET", path, "")
		text, err := json.Marshal(record)
		require.NoError(t, err)
		path = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	receipt := save("receipt.json", "/v1/quotes/"+quote["id"].(string)+"/receipt")
	keys := save("keys.json", "/.well-known/parapet-receipt-keys.json")
	out, err := verifyReceipt(receipt, "--keys", keys)
	require.Equal(t, exitNotChecked, exitCode(err), out)
	out, err = verifyReceipt(receipt, "--keys", keys, "--history", file)
	require.NoError(t, err, out)
	_, err = verifyReceipt(receipt, "--keys", keys, "--history", reason)
	require.ErrorContains(t, err, `line 1: the line "# data_set: …" is missing`)

	require.NoError(t, os.WriteFile(file, append(modeltest.QuakeHistory(500), "today,1,2,6,,x\n"...), 0o600))
	_, err = run("load", file, "--reason", "r")
	require.ErrorContains(t, err, `"today" is not a time`)
	require.Equal(t, exitRefused, exitCode(err))
	require.NoError(t, os.WriteFile(file, []byte("# name: Quakes\n"), 0o600))
	_, err = run("load", file, "--reason", "r")
	require.ErrorContains(t, err, `the line "# data_set: …" is missing`, "the names of the file, not of the API")
	for _, wrong := range [][]string{{"load"}, {"load", file}, {"load", file + ".missing", "--reason", "r"}, {"list", "x"}, {"export"}} {
		_, err = run(wrong...)
		require.Equal(t, exitUsage, exitCode(err), wrong)
	}
}
