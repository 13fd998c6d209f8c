package model_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// specialTexts are legal texts: none of them contains NUL.
var specialTexts = map[string]string{
	`\u0000`: `\\u0000`, `'; drop table quotes; --`: `it's "?" and $1 and ?0`, "\u2028\u202e": "\u0001\t\r\n", `\`: `\\\`, "😀": "é\u0301",
}

func TestTextsRoundTripUnchanged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ask := b.QuoteRequest("quake-circle", modeltest.Context{"awkward": specialTexts})
	ask.Metadata = specialTexts
	quote, err := b.Service.Quotes.Create(t.Context(), b.Acme, ask)
	require.NoError(t, err)
	read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
	require.NoError(t, err)
	require.Equal(t, specialTexts, read.Metadata)
	var context struct {
		Awkward map[string]string `json:"awkward"`
	}
	require.NoError(t, json.Unmarshal(read.Context, &context))
	require.Equal(t, specialTexts, context.Awkward)

	name := `\u0000 O'Neill "?"`
	policy, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID, Metadata: specialTexts, Policyholder: &wire.Person{Name: &name}})
	require.NoError(t, err)
	require.Equal(t, specialTexts, b.Policy(policy.ID).Metadata)
	require.Equal(t, name, *b.Policy(policy.ID).Policyholder.Name)

	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, Metadata: specialTexts, Description: &name})
	require.NoError(t, err)
	require.Equal(t, specialTexts, b.Claim(claim.ID).Metadata)
	require.Equal(t, name, *b.Claim(claim.ID).Description)

	account := modeltest.IBANMethod(claim.ID)
	account.Metadata = specialTexts
	b.RecordPayoutMethod(account)
	methods, err := b.Service.Payouts.GetMethods(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, specialTexts, methods.Data[0].Metadata)

	message, err := b.Service.Claims.AddMessage(t.Context(), b.Acme, claim.ID, name)
	require.NoError(t, err)
	require.Equal(t, name, message.Body)
}
