package receipt_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/receipts/receipt"
)

// foreignReceipt returns the payload of a committed receipt, of version 1 of the trigger, as
// if its storm had the id of another basin.
func foreignReceipt(t *testing.T, version string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/receipts/claim-cyclone-circle-3-approved.json")
	require.NoError(t, err)
	signed, err := receipt.ParseSigned(text)
	require.NoError(t, err)
	var p receipt.ClaimPayload
	require.NoError(t, json.Unmarshal(signed.Payload, &p))
	replace := func(in []byte, old, with string) []byte {
		require.Equal(t, 1, bytes.Count(in, []byte(old)), "%s in %s", old, in)
		return bytes.Replace(in, []byte(old), []byte(with), 1)
	}
	digests := make(map[string]string)
	for i := range p.Readings {
		r := &p.Readings[i]
		before := r.Digest
		r.Facts = replace(r.Facts, `"source_event_id":"AL01"`, `"source_event_id":"EP012027"`)
		r.Digest = receipt.Digest(r.Facts)
		digests[before] = r.Digest
	}
	for i := range p.Parts {
		d := p.Parts[i].Determination
		hashed, err := receipt.ParseHashed(d.Hashed)
		require.NoError(t, err)
		d.Hashed = replace(d.Hashed, `"source_event_id":"AL01"`, `"source_event_id":"EP012027"`)
		d.Hashed = replace(d.Hashed, `"trigger_version":1`, `"trigger_version":`+version)
		d.Hashed = bytes.ReplaceAll(d.Hashed, []byte(hashed.ReadingsDigest), []byte(digests[hashed.ReadingsDigest]))
		d.ReceiptHash = receipt.Digest(d.Hashed)
	}
	payload, err := receipt.Canonical(p)
	require.NoError(t, err)
	return payload
}

func TestEachVersionOfTheTriggerRecomputesItsReceipts(t *testing.T) {
	t.Parallel()
	old, err := receipt.VerifyPayload(foreignReceipt(t, "1"), receipt.Data{})
	require.NoError(t, err)
	require.Empty(t, old.Differences, "version 1 pays for storms of any basin")

	now, err := receipt.VerifyPayload(foreignReceipt(t, "2"), receipt.Data{})
	require.NoError(t, err)
	computed := make(map[string]string)
	for _, d := range now.Differences {
		computed[d.Pointer] = d.Computed
	}
	require.Equal(t, "0", computed["/parts/0/determination/hashed/determination/amount/amount"])
	require.Equal(t, `"declined"`, computed["/parts/0/outcome"])
	require.Equal(t, `"outside_place"`, computed["/parts/0/reason_codes/0"])
}

// A server of the release before signs no steps for determinations of a newer server.
func TestStepsThatTheSignerCouldNotComputeAreNotChecked(t *testing.T) {
	t.Parallel()
	var p receipt.ClaimPayload
	require.NoError(t, json.Unmarshal(foreignReceipt(t, "2"), &p))
	for i := range p.Parts {
		p.Parts[i].Determination.Steps = nil
	}
	payload, err := receipt.Canonical(p)
	require.NoError(t, err)
	found, err := receipt.VerifyPayload(payload, receipt.Data{})
	require.NoError(t, err)
	require.Empty(t, found.Differences)
	require.NotEmpty(t, found.NotChecked)
}
