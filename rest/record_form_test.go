package rest_test

import (
	"encoding/json" //nolint:depguard // the schema validator reads numbers so
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// idPrefixes are the prefixes of the ids of each type of record.
var idPrefixes = map[string]string{
	"quote": "quo", "policy": "pol", "claim": "clm", "timeline_entry": "tle", "attachment": "att", "message": "msg",
	"payout_method": "pmt", "payout": "pay", "observation": "obs", "observation_revision": "obs", "occurrence": "occ",
	"event": "evt", "webhook_endpoint": "whe", "delivery": "dlv", "sandbox_run": "run",
}

// withoutPartner lists records that belong to no partner.
var withoutPartner = map[string]bool{"product": true, "source": true, "occurrence": true, "observation": true, "observation_revision": true}

// freeformMembers are the members whose content partners or products define.
var freeformMembers = map[string]bool{"context": true, "context_schema": true, "metadata": true, "examples": true}

var (
	timePattern   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
	typeIDPattern = regexp.MustCompile(`^([a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
)

// requireRecordForm compares every record inside a response with the contract's common
// form, as far as a schema cannot express it.
func requireRecordForm(t *testing.T, what string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			requireRecordForm(t, what, element)
		}
	case map[string]any:
		if kind, is := value["object"].(string); is && kind != "list" {
			requireRecordHeader(t, what, kind, value)
		}
		if amount, is := value["amount"].(json.Number); is {
			require.Regexp(t, `^-?\d+$`, amount.String(), "%s: money is whole", what)
		}
		for name, member := range value {
			if text, is := member.(string); is && strings.HasSuffix(name, "_at") {
				require.Regexp(t, timePattern, text, "%s: %s", what, name)
			}
			if !freeformMembers[name] {
				requireRecordForm(t, what, member)
			}
		}
	}
}

// requireRecordHeader checks the common members of every record.
func requireRecordHeader(t *testing.T, what, kind string, record map[string]any) {
	t.Helper()
	for _, name := range []string{"id", "partner", "created_at", "updated_at", "version"} {
		require.Contains(t, record, name, "%s: %s", what, kind)
	}
	require.Equal(t, withoutPartner[kind], record["partner"] == nil, "%s: %s", what, kind)
	if kind == "product" || kind == "source" { // its id is its key or name
		return
	}
	found := typeIDPattern.FindStringSubmatch(record["id"].(string))
	require.NotNil(t, found, "%s: %v", what, record["id"])
	require.Equal(t, idPrefixes[kind], found[1], what)
}
