package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/modeltest"
)

// ownText returns the text of a field with everything that its record holds itself; empty
// for lists of other records.
func ownText(s *ast.Schema, field *ast.FieldDefinition) string {
	of := s.Types[field.Type.Name()]
	switch {
	case strings.HasPrefix(field.Name, "__") || requiredArguments(field) || strings.HasSuffix(of.Name, "Connection"):
		return ""
	case !of.IsCompositeType():
		return field.Name
	case of.Kind != ast.Object:
		return field.Name + " { __typename }"
	case slices.Contains(s.PossibleTypes["Node"], of):
		return field.Name + " { id }"
	}
	return field.Name + " { " + strings.Join(ownTexts(s, of), " ") + " }"
}

func ownTexts(s *ast.Schema, of *ast.Definition) (all []string) {
	for _, field := range of.Fields {
		if text := ownText(s, field); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// findRecords returns the records below a document's lists.
func findRecords(value any) (all []any) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			all = append(all, findRecords(each)...)
		}
	case map[string]any:
		if value["__typename"] != nil {
			return []any{value}
		}
		for _, each := range value {
			all = append(all, findRecords(each)...)
		}
	}
	return all
}

// A list reads only the columns that the selected members need: each member has the same
// value alone as among all.
func TestMembersEqualAloneAndTogether(t *testing.T) {
	t.Parallel()
	d, s := newFixture(t, modeltest.WithoutChecks()), loadCommittedSchema(t)
	d.createOneOfEach(t, "acme", d.Acme)
	d.AdvanceClock(time.Hour)
	for _, text := range []string{
		`update policies set metadata = '{"of": "policy"}', policyholder = '{"name": "Lin"}', partner_reference = 'P-1', cancelled_at = expires_at`,
		`update payouts set attempts = 2, provider = 'file', provider_reference = 'R-1', next_attempt_at = created_at, reconciled_at = created_at, replaces_payout_id = id`,
		`update claims set metadata = '{"of": "claim"}', description = 'Cracks.', partner_reference = 'C-1'`,
	} {
		_, err := d.DB.Pool.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	filled := map[string][]string{
		"Policy":        {"version", "metadata", "policyholder", "cover", "termsHash", "coverPhase", "claimsCount", "cancelledAt"},
		"Claim":         {"version", "metadata", "occurrence", "determination", "decision", "payouts", "payoutsCount"},
		"Payout":        {"version", "payoutMethodId", "payoutMethod", "attempts", "nextAttemptAt", "provider", "providerReference", "reconciledAt", "replacesPayoutId"},
		"TimelineEntry": {"id", "eventId", "actor", "data"},
	}
	for way, of := range map[string]string{
		"{ policies(first: 1) { nodes { %s } } }": "Policy", "{ claims(first: 1) { nodes { %s } } }": "Claim",
		"{ claims(first: 1) { nodes { policy { %s } } } }":                           "Policy",
		"{ policies(first: 1) { nodes { claims(first: 1) { nodes { %s } } } } }":     "Claim",
		"{ payouts(first: 1) { nodes { claim { %s } } } }":                           "Claim",
		"{ claims(first: 1) { nodes { timeline(last: 1) { nodes { %s } } } } }":      "TimelineEntry",
		"{ policies(first: 1) { nodes { timeline(first: 100) { nodes { %s } } } } }": "TimelineEntry",
		"{ payouts(first: 1) { nodes { %s } } }":                                     "Payout",
		"{ claims(first: 1) { nodes { payouts { %s } } } }":                          "Payout",
	} {
		texts := ownTexts(s, s.Types[of])
		together := findRecords(d.queryDataAs(t, "operator", fmt.Sprintf(way, "__typename "+strings.Join(texts, " ")), nil))
		require.NotEmpty(t, together, way)
		for _, name := range filled[of] {
			require.NotEmpty(t, together[0].(map[string]any)[name], name)
		}
		for _, text := range texts {
			name, _, _ := strings.Cut(text, " ")
			alone := findRecords(d.queryDataAs(t, "operator", fmt.Sprintf(way, "... on "+of+" { __typename } ...one")+" fragment one on "+of+" { "+text+" }", nil))
			require.Len(t, alone, len(together))
			for i := range alone {
				require.Equal(t, together[i].(map[string]any)[name], alone[i].(map[string]any)[name], "%s %s", way, name)
			}
		}
	}
}
