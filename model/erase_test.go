package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// everywhere counts the rows of the database that hold a text.
func everywhere(t *testing.T, b *modeltest.Bundle, text string) (found []string) {
	t.Helper()
	for table := range b.Rows() {
		var n int
		require.NoError(t, b.DB.Bun.NewRaw("select count(*) from "+table+" as x where x::text ilike ? or x::text ilike ?",
			"%"+text+"%", "%"+strings.ToLower(strings.ReplaceAll(hexed(text), " ", ""))+"%").Scan(t.Context(), &n))
		if n > 0 {
			found = append(found, table)
		}
	}
	return found
}

// hexed is how Postgres shows bytes that are a text.
func hexed(text string) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for i := range len(text) {
		out.WriteByte(digits[text[i]>>4])
		out.WriteByte(digits[text[i]&15])
	}
	return out.String()
}

func TestAPolicyholderIsErasedAndTheHistoryProved(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	name, email := "Wilhelmina Testperson", "wilhelmina@example.com"
	policy := b.Cover("quake-circle", modeltest.Context{"policyholder": map[string]any{"name": name, "email": email, "country": "TW"}})
	b.Observe(modeltest.Quake("us1", b.Now(), epicentre, "6.4"))
	b.Work()
	claim := b.OnlyClaim(policy)
	method := modeltest.IBAN(claim.ID)
	method.Beneficiary.Name = name
	_, err := b.Service.RecordPayoutMethod(t.Context(), b.Acme, method)
	require.NoError(t, err)
	_, err = b.Service.AddMessage(t.Context(), b.Acme, claim.ID, name+" asks when.")
	require.NoError(t, err)
	document, err := b.Service.AddAttachment(t.Context(), b.Acme, claim.ID, model.AttachmentRequest{
		FileName: name + ".txt", ContentType: "text/plain", Content: []byte("I am " + name),
	})
	require.NoError(t, err)
	b.Work()
	require.NoError(t, b.Service.KeepRefusals(t.Context()))
	b.Relay()
	kept := func() []any {
		return []any{b.Policy(policy.ID).Premium, b.Policy(policy.ID).TermsHash, b.Claim(claim.ID).Amount}
	}
	before := kept()
	erase := func() (*model.Erasure, error) {
		return b.Service.EraseHolder(t.Context(), b.Operator, model.ErasureRequest{Partner: "acme", Email: strings.ToUpper(email), Reason: "They asked for it."})
	}
	_, err = erase()
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "they are covered")
	b.After(500 * 24 * time.Hour)
	b.Sweep()
	_, err = erase()
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "the payout is not reconciled")
	payout := only(t, b, claim)
	one := 1
	_, err = b.Service.Reconcile(t.Context(), b.Operator, model.Report{
		Rail: modeltest.RailName, Name: "day", Lines: &one, Sums: map[string]int64{payout.Amount.Currency: payout.Amount.Amount},
	}, func(each func(model.ReportLine) error) error {
		return each(model.ReportLine{Key: payout.ID + ".1", Reference: *payout.ProviderReference, Amount: payout.Amount, Status: "settled", At: b.Now()})
	})
	require.NoError(t, err)
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
	b.Sweep()
	b.Relay()
	proof := func() *wire.HistoryProof {
		proof, err := b.Service.ProveHistory(t.Context(), b.Operator, "acme")
		require.NoError(t, err)
		return proof
	}
	whole := proof()
	require.True(t, whole.Intact)
	require.Contains(t, everywhere(t, b, name), "events")

	done, err := erase()
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, []int{done.Quotes, done.Policies, done.Claims, done.Attachments, done.Messages, done.PayoutMethods})
	require.Greater(t, done.Events, 5)
	require.Empty(t, everywhere(t, b, name))
	require.Empty(t, everywhere(t, b, email))
	require.Empty(t, everywhere(t, b, "DE89"))
	_, _, err = b.Service.OpenAttachment(t.Context(), b.Acme, claim.ID, document.ID)
	require.Equal(t, model.CodeNotFound, failure(t, err).Code)
	require.Nil(t, b.Policy(policy.ID).Policyholder)
	require.Equal(t, before, kept())
	after := proof()
	require.Equal(t, int64(done.Events), after.Redacted)
	require.Equal(t, []any{true, whole.Hash, whole.Last}, []any{after.Intact, after.Hash, after.Last}, after.Faults)
	lines := audit(t, b, model.AuditFilter{})
	require.Equal(t, "They asked for it.", *lines[0].Reason)
	_, err = erase()
	require.Equal(t, model.CodeNotFound, failure(t, err).Code, "nobody knows them any more")

	_, err = b.DB.Pool.Exec(t.Context(), `update events set data = convert_to(replace(convert_from(data, 'UTF8'), 'erased', 'erazed'), 'UTF8') where type = 'payout_method.recorded'`)
	require.NoError(t, err)
	require.False(t, proof().Intact, "what is redacted is still guarded")
	_, err = b.DB.Pool.Exec(t.Context(), `update events set data = convert_to(replace(convert_from(data, 'UTF8'), 'erazed', 'erased'), 'UTF8') where type = 'payout_method.recorded'`)
	require.NoError(t, err)
}
