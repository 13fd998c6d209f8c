package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// verifyReceipt runs parapet verify and returns what it prints.
func verifyReceipt(args ...string) (string, error) {
	var out bytes.Buffer
	err := runCommand(context.Background(), append([]string{"verify"}, args...), &out)
	return out.String(), err
}

func TestVerifyReceiptOffline(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	folder := t.TempDir()
	save := func(name string, record any) string {
		text, err := wire.Encode(record)
		require.NoError(t, err)
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	file, keys := save("receipt.json", signed), save("keys.json", modeltest.ReceiptKeys().Public())
	for _, trust := range [][]string{{"--keys", keys}, {"--pin", signed.Key.Kid}} {
		out, err := verifyReceipt(append([]string{file}, trust...)...)
		require.NoError(t, err, out)
		require.Contains(t, out, "receipt of the claim "+claim.ID)
	}
	out, err := verifyReceipt(file, "--keys", keys, "--output", "json")
	require.NoError(t, err)
	var report receipt.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, claim.ID, report.ID)
	require.Positive(t, report.Checked)

	require.NoError(t, os.WriteFile(keys+".list", []byte("[]"), 0o600))
	_, err = verifyReceipt(keys+".list", "--keys", keys)
	require.ErrorContains(t, err, "this is not a whole receipt: it is not a JSON object")
	require.NotContains(t, err.Error(), "wire.")
	changed := *signed
	changed.Payload = bytes.Replace(signed.Payload, []byte(`"decided_by":"system"`), []byte(`"decided_by":"operator"`), 1)
	_, err = verifyReceipt(save("changed.json", &changed), "--keys", keys)
	require.ErrorContains(t, err, "proves nothing")
	require.Equal(t, 1, exitCode(err))

	payload := strings.Replace(string(signed.Payload), `"factor":"0.2"`, `"factor":"0.3"`, 1)
	require.NotEqual(t, string(signed.Payload), payload)
	again, err := modeltest.ReceiptKeys().Sign(rawJSON(payload))
	require.NoError(t, err)
	out, err = verifyReceipt(save("again.json", again), "--keys", keys)
	require.ErrorContains(t, err, "values are not what the terms and the readings give")
	require.Contains(t, out, "DIFFERENT /parts/0/determination/hashed/determination/factor: it states \"0.3\", computed is \"0.2\"")

	older := strings.Replace(string(signed.Payload), `"dataset_digest":"sha256:`, `"dataset_digest":"sha256:00`, 1)
	again, err = modeltest.ReceiptKeys().Sign(rawJSON(older))
	require.NoError(t, err)
	out, err = verifyReceipt(save("older.json", again), "--keys", keys)
	require.ErrorIs(t, err, errNotChecked)
	require.Equal(t, exitNotChecked, exitCode(err))
	require.Contains(t, out, "NOT CHECKED /basis")
	require.ErrorContains(t, err, "data with the digest sha256:00")
	for want, all := range map[int][][]string{
		exitUsage:  {{}, {file}, {file, "--keys", keys, "--pin", "x"}},
		exitFailed: {{file, "--keys", file}, {keys, "--keys", keys}},
	} {
		for _, args := range all {
			_, err := verifyReceipt(args...)
			require.Error(t, err)
			require.Equal(t, want, exitCode(errors.Join(err)))
		}
	}
}

// A determination of a later release is not checked, and the message says so.
func TestVerifyReceiptOfAnUnknownTrigger(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	var payload receipt.ClaimPayload
	require.NoError(t, json.Unmarshal(signed.Payload, &payload))
	determination := payload.Parts[0].Determination
	determination.Hashed = bytes.Replace(determination.Hashed, fmt.Appendf(nil, `"trigger_version":%d`, receipt.TriggerVersion), []byte(`"trigger_version":99`), 1)
	determination.ReceiptHash = receipt.Digest(determination.Hashed)
	later, err := modeltest.ReceiptKeys().Sign(payload)
	require.NoError(t, err)
	text, err := wire.Encode(later)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "later.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := verifyReceipt(file, "--pin", signed.Key.Kid)
	require.EqualError(t, err, "right as far as it was checked; this release does not have version 99 of the trigger")
	require.Equal(t, exitNotChecked, exitCode(err))
	require.Contains(t, out, "NOT CHECKED /parts/0/determination:")
}

// rawJSON is JSON text that is signed as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
