package rest_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"go.yaml.in/yaml/v3"
)

// descriptionTexts are descriptions by schema and member; the member "" is the schema itself.
type descriptionTexts map[string]map[string]string

func readDescriptions(t *testing.T, file string) (says descriptionTexts) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &says))
	return says
}

// graphQLNames maps schemas of this document to GraphQL types with another name.
var graphQLNames = map[string]string{
	"Line": "PriceLine", "Subject": "EventSubject", "Attempt": "DeliveryAttempt", "Redaction": "EventRedaction",
	"IBAN": "IBANInput", "MobileMoney": "MobileMoneyInput", "USBankAccount": "USBankAccountInput", "PolicyholderFields": "PersonInput",
	"QuoteRequest": "CreateQuoteInput", "BindRequest": "BindPolicyInput", "ClaimRequest": "OpenClaimInput",
	"ChallengeRequest": "ChallengeClaimInput", "AttachmentRequest": "AddAttachmentInput", "MessageRequest": "AddMessageInput", "PayoutMethodRequest": "RecordPayoutMethodInput",
	"WebhookEndpointRequest": "CreateWebhookEndpointInput", "WebhookEndpointChange": "ChangeWebhookEndpointInput",
	"WhatIfFields": "WhatIfInput", "WhatIfEarthquakeFields": "WhatIfEarthquakeInput", "WhatIfStormFields": "WhatIfStormInput",
	"WhatIfFixFields": "WhatIfFixInput", "WhatIfRainFields": "WhatIfRainInput", "WhatIfDayFields": "WhatIfDayInput",
	"WhatIfTemperatureFields": "WhatIfTemperatureInput", "WhatIfTemperatureDayFields": "WhatIfTemperatureDayInput",
}

// graphQLTexts returns the descriptions of the GraphQL schema under the names of this
// document, and the names that only GraphQL has.
func graphQLTexts(t *testing.T, schemas map[string]schemaText) (says descriptionTexts, foreign map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("../graph/schema/*.graphqls")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, &ast.Source{Name: file, Input: string(text)})
	}
	document, err := parser.ParseSchemas(sources...)
	require.NoError(t, err)
	texts, foreign := descriptionTexts{}, map[string]bool{}
	for _, def := range append(document.Definitions, document.Extensions...) {
		if texts[def.Name] == nil {
			texts[def.Name] = map[string]string{"": oneLine(def.Description)}
		}
		for _, field := range def.Fields {
			name := snakeCase(field.Name)
			texts[def.Name][name] = oneLine(field.Description)
			foreign[field.Name] = name != field.Name
		}
		for _, word := range def.EnumValues {
			foreign[word.Name] = strings.Contains(word.Name, "_")
		}
	}
	says = descriptionTexts{}
	for name := range schemas {
		says[name] = texts[name]
		if other := graphQLNames[name]; other != "" {
			says[name] = texts[other]
		}
	}
	return says, foreign
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var word, capital = regexp.MustCompile(`\w+`), regexp.MustCompile(`[A-Z]`)

func snakeCase(name string) string { return strings.ToLower(capital.ReplaceAllString(name, "_$0")) }

// Every text that serves both APIs is written once, in the GraphQL schema, and copied for
// this document by make generate. descriptions.yaml has the others.
func TestEveryDescriptionIsWrittenOnce(t *testing.T) {
	t.Parallel()
	const file = "descriptions_graphql.yaml"
	var doc struct {
		Components struct{ Schemas map[string]schemaText }
	}
	require.NoError(t, yaml.Unmarshal(request{http.MethodGet, "/v1/openapi.yaml", "", nil}.sendTo(t, newHandler(t, nil)).Body, &doc))
	own, copied := readDescriptions(t, "descriptions.yaml"), readDescriptions(t, file)
	want := descriptionTexts{}
	schema, foreign := graphQLTexts(t, doc.Components.Schemas)
	for name, described := range doc.Components.Schemas {
		members := map[string]schemaText{"": described}
		maps.Copy(members, described.Properties)
		for member, property := range members {
			text := schema[name][member]
			if own["Every"][member] != "" || text == "" {
				continue
			}
			require.NotEqual(t, text, own[name][member], "%s.%s: graph/schema says the same; remove it from descriptions.yaml", name, member)
			if own[name][member] != "" || property.Description != "" && property.Description != copied[name][member] {
				continue // this document has a text of its own
			}
			for _, used := range word.FindAllString(text, -1) {
				require.False(t, foreign[used], "%s.%s speaks of %s, which has another name here: give it a text of its own in descriptions.yaml", name, member, used)
			}
			if want[name] == nil {
				want[name] = map[string]string{}
			}
			want[name][member] = text
		}
	}
	text, err := yaml.Marshal(want)
	require.NoError(t, err)
	requireGolden(t, file, "# Copied from graph/schema by make generate. Edit the texts there.\n"+string(text))
}
