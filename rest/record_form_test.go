package rest_test

import (
	"encoding/json" //nolint:depguard // the schema validator reads numbers so
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixes are those of the ids of each kind of record.
var prefixes = map[string]string{
	"quote": "quo", "policy": "pol", "claim": "clm", "timeline_entry": "tle", "attachment": "att", "message": "msg",
	"payout_method": "pmt", "payout": "pay", "observation": "obs", "occurrence": "occ",
	"event": "evt", "webhook_endpoint": "whe", "delivery": "dlv",
}

// ownerless records are nobody's in particular.
var ownerless = map[string]bool{"product": true, "occurrence": true, "observation": true}

// foreign are the members in which others speak: partners, products.
var foreign = map[string]bool{"context": true, "context_schema": true, "metadata": true, "examples": true}

var (
	micros = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
	typeID = regexp.MustCompile(`^([a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
)

// shaped holds every record inside an answer against the contract's common shape,
// as far as a schema cannot say it.
func shaped(t *testing.T, what string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			shaped(t, what, element)
		}
	case map[string]any:
		if kind, is := value["object"].(string); is && kind != "list" {
			headed(t, what, kind, value)
		}
		if amount, is := value["amount"].(json.Number); is {
			require.Regexp(t, `^-?\d+$`, amount.String(), "%s: money is whole", what)
		}
		for name, member := range value {
			if text, is := member.(string); is && strings.HasSuffix(name, "_at") {
				require.Regexp(t, micros, text, "%s: %s", what, name)
			}
			if !foreign[name] {
				shaped(t, what, member)
			}
		}
	}
}

// headed checks what every record begins with.
func headed(t *testing.T, what, kind string, record map[string]any) {
	t.Helper()
	for _, name := range []string{"id", "partner", "created_at", "updated_at", "version"} {
		require.Contains(t, record, name, "%s: %s", what, kind)
	}
	require.Equal(t, ownerless[kind], record["partner"] == nil, "%s: %s", what, kind)
	if kind == "product" { // its id is its key
		return
	}
	found := typeID.FindStringSubmatch(record["id"].(string))
	require.NotNil(t, found, "%s: %v", what, record["id"])
	require.Equal(t, prefixes[kind], found[1], what)
}
