package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// runOps runs an operation of the running server as an operator.
func (w *testStack) runOps(t *testing.T, args ...string) (string, error) {
	t.Helper()
	client := w.seedClients()[2]
	require.Equal(t, "operator", client.ID)
	var out bytes.Buffer
	err := runCommand(t.Context(), append([]string{"ops"}, append(args, "--server", w.info.BaseURL, "--client-id", client.ID, "--client-secret", client.Secret)...), &out)
	return out.String(), err
}

func TestOpsCallsOperatorMutations(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	do := func(args ...string) map[string]any {
		text, err := w.runOps(t, args...)
		require.NoError(t, err, args)
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
		return answer
	}
	partner := do("register-partner", "--slug", "initech", "--name", "Initech", "--client-mutation-id", "m1")
	require.Equal(t, "ENABLED", partner["partner"].(map[string]any)["status"])
	require.Equal(t, partner, do("register-partner", "--slug", "initech", "--name", "Initech", "--client-mutation-id", "m1"))

	payout := do("claim", "--id", w.claim, "--select", "{ payouts { id } }")["payouts"].([]any)[0].(map[string]any)["id"].(string)
	held := do("block-payout", "--payout-id", payout, "--reason", "compliance-hold", "--note", "A name on a list.")
	require.Equal(t, "COMPLIANCE_HOLD", held["payout"].(map[string]any)["blockedReason"])
	lines := do("audit-log", "--filter", `{"subject": "`+payout+`"}`)["nodes"].([]any)
	require.Len(t, lines, 1)
	require.Equal(t, "A name on a list.", lines[0].(map[string]any)["reason"])
	require.EqualValues(t, 1, do("claims", "--first", "1", "--filter", `{"status": "APPROVED"}`)["totalCount"])
	counted := do("retry-jobs", "--filter", `{"kind": "sweep"}`, "--dry-run", "true", "--reason", "looking")
	require.Zero(t, counted["changed"])
	require.NotNil(t, do("policies", "--filter", `{"partner": "acme"}`)["pageInfo"])

	_, err := w.runOps(t, "decide-claim", "--claim-id", w.claim, "--outcome", "declined", "--reason-codes", "goodwill,operator-decision", "--note", "n")
	require.ErrorContains(t, err, "validation_failed: ")
	require.ErrorContains(t, err, "\n  /input/reasonCodes/0: Use ", "each member that is wrong is named")
	_, err = w.runOps(t, "decide-claim", "--claim-id", w.claim, "--outcome", "declined", "--note", "n")
	require.ErrorContains(t, err, "state_conflict: ")
	text, err := w.runOps(t, "claims", "--select", "{ nodes { id messages(first: 0) { totalCount } } }")
	require.ErrorContains(t, err, "parameter_invalid: ")
	require.Contains(t, text, w.claim, "what was read is printed together with the error")
	for _, wrong := range [][]string{{"fire-everybody"}, {"claim", "--id"}, {"claim", "--nonsense", "x"}, {"claims", "--first", "many"}, {"claims", "stray"}} {
		_, err = w.runOps(t, wrong...)
		require.Error(t, err, wrong)
	}
	for missing, args := range map[string][]string{
		"--server":                    {"partners", "--token", "x"},
		"name the server by --server": {"partners", "--token", "x", "--server", "127.0.0.1:8080"},
		"--token":                     {"partners", "--server", w.info.BaseURL},
		"is it the server's origin":   {"stop-releases", "--reason", "r", "--token", "x", "--server", w.info.BaseURL + "/v1"},
		"404 Not Found":               {"stop-releases", "--reason", "r", "--token", "x", "--server", w.info.Issuer},
		"needs --id, --reason;":       {"close-reconciliation-exception", "--token", "x", "--server", w.info.BaseURL},
		"name=value":                  {"partners", "--token-param", "resource", "--token", "x", "--server", w.info.BaseURL},
		"get a token: 401 ":           {"partners", "--server", w.info.BaseURL, "--client-id", "operator", "--client-secret", "wrong"},
	} {
		require.ErrorContains(t, runCommand(t.Context(), append([]string{"ops"}, args...), &bytes.Buffer{}), missing)
	}
	w.runEveryQuery(t)
}

// runEveryQuery runs every query that has no required argument: the default selection of
// an answer never exceeds the limits.
func (w *testStack) runEveryQuery(t *testing.T) {
	t.Helper()
	asked := 0
	for name, v := range operatorVerbs() {
		if v.keyword != "query" || len(v.missingFlags(nil)) > 0 {
			continue
		}
		asked++
		_, err := w.runOps(t, name)
		if err != nil {
			require.Contains(t, err.Error(), "parameter_invalid", name) // an operator must name the partner of the feed
		}
	}
	require.Greater(t, asked, 15)
}

func TestOpsHelpDescribesFlags(t *testing.T) {
	t.Parallel()
	for verb, words := range map[string]string{
		"decide-claim": "DecisionOutcome!: approved, deferred, declined",
		"retry-jobs":   `JobFilter!, as JSON: {"ids": [ID!], "queue": String, "kind": String, "state": JobState}`,
		"claim":        "ID!",
	} {
		var helpTexts []string
		for _, member := range operatorVerbs()[verb].inputMembers() {
			helpTexts = append(helpTexts, operatorVerbs()[verb].typeHelp(member.Type))
		}
		require.Contains(t, helpTexts, words)
	}
}

func TestEveryVerbIsListed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, runCommand(t.Context(), []string{"ops", "help"}, &out))
	for name, v := range operatorVerbs() {
		require.Contains(t, out.String(), "  "+name+" ")
		require.NotEmpty(t, firstSentence(v.field.Description))
	}
	for _, name := range []string{"decide-claim", "approve-payout", "close-reconciliation-exception", "register-partner", "audit-log", "cancel-jobs"} {
		require.Contains(t, operatorVerbs(), name)
	}
	require.NotContains(t, out.String(), "  open-claim ", "that is the partner's")
}
