package graph_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model"
	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

// schema is what callers see.
func schema(t *testing.T) *ast.Schema {
	t.Helper()
	entries, err := os.ReadDir("schema")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, entry := range entries {
		text, err := os.ReadFile("schema/" + entry.Name())
		require.NoError(t, err)
		sources = append(sources, &ast.Source{Name: entry.Name(), Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	require.NoError(t, err)
	return schema
}

func states[S ~string](arrows []model.Arrow[S]) []string {
	var all []string
	for _, a := range arrows {
		all = append(all, string(a.From), string(a.To))
	}
	return all
}

func words[W ~string](of ...W) []string {
	var all []string
	for _, word := range of {
		all = append(all, string(word))
	}
	return all
}

// enums are the words of the domain, by the enum that spells them in capitals.
var enums = map[string][]string{
	"ActorKind":          words(model.ActorSystem, model.ActorPartner, model.ActorOperator, model.ActorRail, model.ActorSource),
	"Order":              words(model.NewestFirst, model.OldestFirst),
	"QuoteStatus":        states(model.QuoteArrows),
	"PolicyStatus":       states(model.PolicyArrows),
	"ClaimStatus":        states(model.ClaimArrows),
	"PayoutStatus":       states(model.PayoutArrows),
	"PayoutMethodStatus": states(model.PayoutMethodArrows),
	"CoverPhase":         words(model.CoverScheduled, model.CoverWaiting, model.CoverInForce, model.CoverEnded),
	"ClaimOrigin":        words(model.OriginTrigger, model.OriginApproval),
	"DecisionOutcome":    words(model.ClaimApproved, model.ClaimDeferred, model.ClaimDeclined),
	"BlockedReason": words(model.BlockedMethodMissing, model.BlockedMethodUnverified, model.BlockedApproval, model.BlockedRailRejected,
		model.BlockedRailMismatch, model.BlockedCompliance, model.BlockedOperator),
	"EventType":             words(model.EventTypes()...),
	"WebhookEndpointStatus": states(model.EndpointArrows),
	"DeliveryStatus":        words(model.DeliveryPending, model.DeliveryDelivered, model.DeliveryParked),
	"TimelineKind":          append(words(model.EventTypes()...), "trigger.observed"),
	"ObservationKind":       words(hazard.Kinds()...), "ObservationStage": words(trigger.Preliminary, trigger.Final),
	"PlaceKind": words(trigger.Circle, trigger.AtStation), "Direction": words(trigger.AtLeast, trigger.AtMost),
	"WindRule":        words(trigger.LargerOfEnds, trigger.Interpolated),
	"PayoutShapeKind": words(trigger.Lump, trigger.Step, trigger.Linear, trigger.Tick),
	"PriceLineKind": words(pricing.ExpectedLoss, pricing.UncertaintyLoad, pricing.RiskLoad, pricing.Expense, pricing.Commission,
		pricing.MinimumPremium),
	"AccountType":   words(account.TypeIBAN, account.TypeUSBankAccount, account.TypeMobileMoney),
	"USAccountType": words(account.Checking, account.Savings),
}

func TestEnumsAreTheDomainsWords(t *testing.T) {
	t.Parallel()
	types := schema(t).Types
	for name, words := range enums {
		var want, have []string
		for _, word := range words {
			want = append(want, strings.ToUpper(strings.ReplaceAll(word, ".", "_")))
		}
		require.NotNil(t, types[name], name)
		for _, value := range types[name].EnumValues {
			have = append(have, value.Name)
		}
		slices.Sort(want)
		slices.Sort(have)
		require.Equal(t, slices.Compact(want), have, name)
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	for name, def := range schema(t).Types {
		if def.BuiltIn || strings.HasPrefix(name, "__") {
			continue
		}
		require.NotEmpty(t, def.Description, name)
		for _, field := range def.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			require.NotEmpty(t, field.Description, name+"."+field.Name)
			for _, argument := range field.Arguments {
				require.NotEmpty(t, argument.Description, name+"."+field.Name+"."+argument.Name)
			}
		}
		for _, value := range def.EnumValues {
			require.NotEmpty(t, value.Description, name+"."+value.Name)
		}
	}
}
