package receipts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// inputs are the members that nothing else in a receipt gives: names, times, parameters of
// the product, and the records of sources. Their change is not a difference or shows in
// the members that are computed from them.
var inputs = regexp.MustCompile(`^/(partner|quote_id|quoted_at|product|product_version|cover/.*|claim_id|policy_id|occurrence_id|origin|effective_at|` +
	`basis/(dataset|dataset_digest|first_year|last_year|uncertainty_factor|risk_factor|expense_share|commission_share|minimum_premium/amount|maximum_rate_on_line|smoothing_km|formula|notes/\d+)|` +
	`readings/\d+/(facts|records)/.*|(parts/\d+/)?events/\d+/(id|type|occurred_at|sequence|previous_hash|data_hash)|` +
	`parts/\d+/(decided_by|decided_at|paid_before/.*|payouts/\d+/id|payouts/\d+/amount/currency)|` +
	`parts/\d+/determination/hashed/(occurred_at|cover_to|recipe|trigger_version|readings_digest|determination/measurement/(evaluated_at|sources/\d+/counted_at)))$`)

// mutation is a payload with one changed value.
type mutation struct {
	pointer string
	payload jsontext.Value
}

// mutateValues returns the payload once for each of its values, changed.
func mutateValues(t *testing.T, payload jsontext.Value) []mutation {
	t.Helper()
	var pointers []string
	var tree any
	require.NoError(t, json.Unmarshal(payload, &tree))
	walkValues(tree, "", func(pointer string, _ any) any { pointers = append(pointers, pointer); return nil })
	var all []mutation
	for _, at := range pointers {
		var changed any
		require.NoError(t, json.Unmarshal(payload, &changed))
		changed = walkValues(changed, "", func(pointer string, value any) any {
			if pointer == at {
				return mutateValue(value)
			}
			return nil
		})
		text, err := receipt.Canonical(changed)
		require.NoError(t, err)
		all = append(all, mutation{at, text})
	}
	return all
}

// walkValues visits all values below a pointer; a result that is not nil replaces one.
func walkValues(value any, at string, visit func(pointer string, value any) any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = walkValues(member, at+"/"+name, visit)
		}
	case []any:
		for i, element := range v {
			v[i] = walkValues(element, at+"/"+strconv.Itoa(i), visit)
		}
	default:
		if other := visit(at, v); other != nil {
			return other
		}
	}
	return value
}

func mutateValue(value any) any {
	switch v := value.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case string:
		if v == "" {
			return "x"
		}
		if strings.HasSuffix(v, "Z") && strings.Contains(v, "T") { // another instant
			return strings.Replace(v, v[:1], map[bool]string{true: "1", false: "2"}[v[0] == '2'], 1)
		}
		if last := v[len(v)-1:]; last >= "0" && last <= "8" {
			return v[:len(v)-1] + string(last[0]+1)
		}
		return v[:len(v)-1] + map[bool]string{true: "8", false: "9"}[v[len(v)-1] == '9']
	}
	return "5" // for null
}

// Every computed value that is changed and signed again is named by its own pointer, or
// makes the receipt unreadable.
func TestEveryChangedValueIsNamed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	storm := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	quake := modeltest.NewApprovedClaim(b)
	b.Relay()
	for _, claim := range []string{b.OnlyClaim(storm).ID, quake.ID} {
		signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim, nil)
		require.NoError(t, err)
		requireMutationsNamed(t, signed)
	}
	signed, err := b.Service.Receipts.Quote(t.Context(), b.Acme, storm.QuoteID)
	require.NoError(t, err)
	requireMutationsNamed(t, signed)
}

func requireMutationsNamed(t *testing.T, signed *wire.Receipt) {
	t.Helper()
	named, free := 0, 0
	var missed []string
	for _, m := range mutateValues(t, signed.Payload) {
		again, err := modeltest.ReceiptKeys().Sign(m.payload)
		require.NoError(t, err)
		text, err := wire.Encode(again)
		require.NoError(t, err)
		report, err := receipt.Verify(text, receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}, receipt.Data{History: hazard.Shipped()})
		switch isNamed := err == nil && slices.ContainsFunc(report.Differences, func(d receipt.Difference) bool {
			return d.Pointer == m.pointer || strings.HasPrefix(m.pointer, d.Pointer+"/")
		}); {
		case isNamed, err != nil:
			named++
		case inputs.MatchString(m.pointer):
			free++
		default:
			missed = append(missed, fmt.Sprint(m.pointer, report.Differences))
		}
	}
	require.Empty(t, missed)
	require.Greater(t, named, free/4)
	t.Logf("%d changed values are named, %d are inputs", named, free)
}

func TestUnsignedChangesProveNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	trust := receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}
	for _, m := range mutateValues(t, signed.Payload) {
		changed := *signed
		changed.Payload = m.payload
		_, err := receipt.CheckSignature(&changed, trust)
		require.ErrorContains(t, err, "does not belong to this payload", m.pointer)
	}
	text, err := wire.Encode(signed)
	require.NoError(t, err)
	for end := 0; end < len(text); end += 97 {
		_, err := receipt.Verify(text[:end], trust, receipt.Data{})
		require.Error(t, err, "cut off after %d bytes", end)
	}
	other := receipt.NewKeys([]byte("another-receipt-key-0123456789ab"))
	_, err = receipt.CheckSignature(signed, receipt.Trust{Keys: other.Public()})
	require.ErrorContains(t, err, "not in the file of keys")
}
