package graph_test

import (
	goast "go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/claims"
	"parapet/model/claims/challenge"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/operations"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/quoting"
	"parapet/model/underwriting"
)

// loadCommittedSchema returns the schema that callers see.
func loadCommittedSchema(t *testing.T) *ast.Schema {
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

func states[S ~string](arrows []store.Transition[S]) []string {
	var all []string
	for _, a := range arrows {
		all = append(all, string(a.From), string(a.To))
	}
	return all
}

func toEnumWords[W ~string](of []W) []string {
	var all []string
	for _, word := range of {
		all = append(all, string(word))
	}
	return all
}

// declaredConstants returns the constants of a type from its package's source, so that a
// new constant must be added to the schema.
func declaredConstants(t *testing.T, folder, of string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			if general, ok := declaration.(*goast.GenDecl); ok && general.Tok == token.CONST {
				for _, spec := range general.Specs {
					all = append(all, toEnumWord(t, spec.(*goast.ValueSpec), of)...)
				}
			}
		}
	}
	return all
}

// toEnumWord returns the value of a constant if it is of the type.
func toEnumWord(t *testing.T, spec *goast.ValueSpec, of string) []string {
	t.Helper()
	if kind, ok := spec.Type.(*goast.Ident); !ok || kind.Name != of {
		return nil
	}
	text, err := strconv.Unquote(spec.Values[0].(*goast.BasicLit).Value)
	require.NoError(t, err)
	return []string{text}
}

// domainEnums are the lists of values of the domain, by the enum that has them in
// capitals.
func domainEnums(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"QuoteStatus": states(quoting.QuoteTransitions), "PolicyStatus": states(underwriting.PolicyTransitions), "ClaimStatus": states(claims.ClaimTransitions),
		"PayoutStatus": states(claims.PayoutTransitions), "PayoutMethodStatus": states(payouts.PayoutMethodTransitions), "WebhookEndpointStatus": states(webhooks.EndpointTransitions),
		"EventType": toEnumWords(event.Types()), "TimelineKind": append(toEnumWords(event.Types()), "trigger.observed"),
		"ObservationKind": toEnumWords(hazard.Kinds()), "Peril": toEnumWords(trigger.Perils()), "DecisionOutcome": toEnumWords(claims.DecisionOutcomes()), "ReconciliationExceptionKind": reconciliation.ReconciliationExceptionKinds(),
		"LedgerAccount": toEnumWords(ledger.Accounts()), "HoldReason": toEnumWords(payouts.HoldReasons()), "JobState": operations.JobStates(), "ResolutionOutcome": toEnumWords(payouts.ResolutionOutcomes()),
		"PriceDataSet":     toEnumWords(hazard.DataSets()),
		"ChallengeOutcome": toEnumWords([]challenge.Status{challenge.Accepted, challenge.Rejected}),
	}
	for name, of := range map[string]string{
		"ActorKind": "model/kernel/actor.Kind", "AttachmentStatus": "model/claims.AttachmentStatus", "AuditOutcome": "model/kernel/store.AuditOutcome", "BlockedReason": "model/claims.BlockedReason", "BookDimension": "model/insight/portfolio.Dimension",
		"ChallengeStatus": "model/claims/challenge.Status", "SourceReportState": "model/claims/measured.SourceStatus", "MeasurementResultState": "model/receipts/receipt.MeasuredState",
		"SearchMatch": "model/operations.SearchMatch", "SandboxItem": "model/sandbox.Item", "SandboxOutcome": "model/sandbox.Outcome", "SandboxRunKind": "model/sandbox.Kind", "SandboxRunStatus": "model/sandbox.Status",
		"ClaimOrigin": "model/claims.Origin", "CoverPhase": "model/underwriting.CoverPhase", "DeliveryStatus": "model/events/webhooks.DeliveryStatus", "DeterminationStage": "model/claims.DeterminationStage",
		"Operation": "model/audit.Operation", "Order": "model/kernel/store.Order", "PartnerStatus": "model/partners.Status", "ReasonCode": "model/claims.ReasonCode",
		"ProgressStatus": "model/insight/progress.Status", "RecordingResult": "model/hazard/occurrence.RecordingResult", "ReleaseResumptionState": "model/payouts/controls.ResumptionState", "ReportLineResult": "model/payouts.LineResult", "ReportLineStatus": "model/payouts/reconciliation.LineStatus", "SeriesInterval": "model/insight/portfolio.Interval",
		"AccountType": "model/account.Type", "USAccountType": "model/account.AccountType", "PriceLineKind": "model/quoting/pricing.LineKind",
		"Direction": "model/hazard/trigger.Direction", "ObservationStage": "model/hazard/trigger.Stage", "PayoutShapeKind": "model/hazard/trigger.Shape",
		"PlaceKind": "model/hazard/trigger.PlaceKind", "WindRule": "model/hazard/trigger.WindRule", "MeasurementRuleKind": "model/hazard/trigger.MeasurementRuleKind", "MeasurementFallback": "model/hazard/trigger.MeasurementFallback", "CalendarPeriod": "model/hazard/trigger.Calendar",
	} {
		folder, kind, _ := strings.Cut(of, ".")
		all[name] = declaredConstants(t, folder, kind)
	}
	return all
}

func TestEnumsMatchDomainValues(t *testing.T) {
	t.Parallel()
	lists := domainEnums(t)
	for name, def := range loadCommittedSchema(t).Types {
		if def.Kind != ast.Enum || def.BuiltIn {
			continue
		}
		require.NotEmpty(t, lists[name], "say in enums which list of the domain %s spells in capitals", name)
		var want, have []string
		for _, word := range lists[name] {
			want = append(want, strings.ToUpper(strings.ReplaceAll(word, ".", "_")))
		}
		for _, value := range def.EnumValues {
			have = append(have, value.Name)
		}
		slices.Sort(want)
		slices.Sort(have)
		require.Equal(t, slices.Compact(want), have, name)
		delete(lists, name)
	}
	require.Empty(t, lists, "there is no such enum")
}

func TestSchemaHasDescriptions(t *testing.T) {
	t.Parallel()
	for name, def := range loadCommittedSchema(t).Types {
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
