package privacy_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// findTextInDatabase lists the tables with rows that contain a text.
func findTextInDatabase(t *testing.T, b *modeltest.Bundle, text string) (found []string) {
	t.Helper()
	for table := range b.CountRows() {
		var n int
		require.NoError(t, b.DB.Bun.NewRaw("select count(*) from "+table+" as x where x::text ilike ? or x::text ilike ?",
			"%"+text+"%", "%"+strings.ToLower(strings.ReplaceAll(hexOfText(text), " ", ""))+"%").Scan(t.Context(), &n))
		if n > 0 {
			found = append(found, table)
		}
	}
	return append(found, findCompressedText(t, b, text)...)
}

// findCompressedText returns the tables whose compressed texts have the text.
func findCompressedText(t *testing.T, b *modeltest.Bundle, text string) (found []string) {
	t.Helper()
	for _, query := range []string{"select 'events', data from events", "select 'idempotency_keys', body from idempotency_keys where sealed_until is null"} {
		rows, err := b.DB.Pool.Query(t.Context(), query)
		require.NoError(t, err)
		var table string
		var data compress.JSON
		_, err = pgx.ForEachRow(rows, []any{&table, &data}, func() error {
			if strings.Contains(strings.ToLower(string(data)), strings.ToLower(text)) && !slices.Contains(found, table) {
				found = append(found, table)
			}
			return nil
		})
		require.NoError(t, err)
	}
	return found
}

// hexOfText returns the text of a bytea column with that content.
func hexOfText(text string) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for i := range len(text) {
		out.WriteByte(digits[text[i]>>4])
		out.WriteByte(digits[text[i]&15])
	}
	return out.String()
}

// person returns a name that is unique for each place.
func person(place string) string { return "Wilhelmina " + place + " Zzyzx" }

// withIdempotencyKey adds an idempotency key, so that the response is stored.
func withIdempotencyKey(caller actor.Actor, operation string) actor.Actor {
	caller.IdempotencyKey = &actor.IdempotencyKey{Operation: operation, Key: "k", Request: []byte("r")}
	return caller
}

// newPersonWithFullHistory creates every record that can contain personal data, as
// partner and as operator, and pays all that is owed.
func newPersonWithFullHistory(t *testing.T, b *modeltest.Bundle, email string) (*wire.Policy, *wire.Claim, wire.Payout) {
	t.Helper()
	ctx, noted := t.Context(), func(place string) map[string]string { return map[string]string{"who": person(place)} }
	ask := b.QuoteRequest("quake-circle", modeltest.Context{
		"policyholder": map[string]any{"name": person("Quote"), "email": email},
		"phone":        person("Context"), "location": map[string]any{"latitude": 24.17, "longitude": 121.65, "street": person("Street")},
	})
	ask.Metadata = noted("Priced")
	quote := modeltest.Must(b.Service.Quotes.Create(ctx, withIdempotencyKey(b.Acme, "quote"), ask))
	unbound := ask
	unbound.Metadata = noted("Unbound")
	modeltest.Must(b.Service.Quotes.Create(ctx, b.Acme, unbound))
	bind := underwriting.BindRequest{QuoteID: quote.ID, Metadata: noted("Bound")}
	policy := modeltest.Must(b.Service.Policies.Bind(ctx, withIdempotencyKey(b.Acme, "bind"), bind))
	open := adjudication.ClaimRequest{PolicyID: policy.ID, Description: new(person("Loss")), RequestedAmount: modeltest.NewUSD(125_000), Metadata: noted("Claimed")}
	claim, _, err := b.Service.Adjudication.Open(ctx, withIdempotencyKey(b.Acme, "claim"), open)
	require.NoError(t, err)
	modeltest.Must(b.Service.Claims.AddAttachment(ctx, withIdempotencyKey(b.Acme, "attach"), claim.ID, claims.AttachmentRequest{
		FileName: person("File") + ".txt", ContentType: "text/plain", Content: strings.NewReader(person("Content")), Purpose: new(person("Purpose")), Description: new(person("Scan")),
	}))
	modeltest.Must(b.Service.Claims.AddMessage(ctx, withIdempotencyKey(b.Acme, "message"), claim.ID, person("Message")))
	method := modeltest.IBANMethod(claim.ID)
	method.Beneficiary.Name, method.Metadata = person("Payee"), noted("Account")
	modeltest.Must(b.Service.Payouts.RecordMethod(ctx, withIdempotencyKey(b.Acme, "method"), method))
	modeltest.Must(b.Service.Adjudication.Decide(ctx, withIdempotencyKey(b.Operator, "decide"), adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved}))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	paid := modeltest.ReportLine(b, payout, "settled")
	paid.Account = "iban ····3000"
	modeltest.Reconcile(t, b, "day", paid)
	modeltest.Must(b.Service.Policies.Cancel(ctx, withIdempotencyKey(b.Operator, "cancel"), underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new("They asked for it.")}))
	b.Relay()
	return policy, claim, payout
}

func TestErasureRemovesAllPersonalData(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	const name, email = "Zzyzx", "zzyzx@example.com"
	_, claim, payout := newPersonWithFullHistory(t, b, email)
	for _, table := range []string{"quotes", "policies", "claims", "attachments", "messages", "payout_methods", "timeline_entries", "events", "idempotency_keys"} {
		require.Contains(t, findTextInDatabase(t, b, name), table)
	}
	require.Contains(t, findTextInDatabase(t, b, "ending in 3000"), "timeline_entries")
	require.Equal(t, []string{"rail_report_lines"}, findTextInDatabase(t, b, "····3000"))
	files := func() (n int) {
		require.NoError(t, filepath.WalkDir(b.Files, func(_ string, at fs.DirEntry, err error) error {
			if err == nil && !at.IsDir() {
				n++
			}
			return err
		}))
		return n
	}
	require.Equal(t, 1, files())

	request := privacy.ErasureRequest{Partner: "acme", Email: email, Reason: "They asked for it."}
	modeltest.Must(b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, request))
	require.Empty(t, findTextInDatabase(t, b, name))
	require.Empty(t, append(findTextInDatabase(t, b, "370400440532013000"), append(findTextInDatabase(t, b, "ending in 3000"), findTextInDatabase(t, b, "····3000")...)...))
	require.Zero(t, files())
	verifyHistoryManually(t, b)
	b.RunJobs()

	// Money that is returned later is owed as before, but there is no account to pay it
	// to.
	back := modeltest.ReportLine(b, payout, "returned")
	require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "later", back).Results)
	again := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "payout_method_missing", *again.BlockedReason)
	require.Empty(t, modeltest.Must(b.Service.Releases.SentOrders(t.Context(), modeltest.ScriptedRail, []string{b.RailKey(payout.ID, 1)})))
}

// verifyHistoryManually verifies a partner's history as the manual describes, from the
// events as partners read them.
func verifyHistoryManually(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	proof := modeltest.Must(b.Service.Events.VerifyChain(t.Context(), b.Acme, ""))
	require.True(t, proof.Intact)
	public := modeltest.Must(base64.StdEncoding.DecodeString(proof.PublicKey))
	digest := func(text []byte) string { sum := sha256.Sum256(text); return hex.EncodeToString(sum[:]) }
	before, redacted := strings.Repeat("0", 64), int64(0)
	events := modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{Limit: store.MaxPageSize}))
	require.False(t, events.HasMore)
	for _, e := range events.Data {
		was := digest(e.Data)
		if e.Redaction != nil {
			redacted++
			signed := strings.Join([]string{"parapet redaction", *e.Partner, e.ID, e.Redaction.DataHash, was}, "\n")
			require.True(t, ed25519.Verify(public, []byte(signed), modeltest.Must(base64.StdEncoding.DecodeString(e.Redaction.Signature))))
			require.Equal(t, e.Redaction.RedactedAt, e.UpdatedAt)
			was = e.Redaction.DataHash
		}
		lines := []string{before, strconv.FormatInt(e.Sequence, 10), e.ID, e.Type, wire.FormatTime(e.OccurredAt), was}
		before = digest([]byte(strings.Join(lines, "\n")))
		require.Equal(t, before, e.Hash, e.Type)
	}
	require.Equal(t, proof.Hash, before)
	require.Equal(t, proof.Redacted, redacted)
	require.Positive(t, redacted)
}

// After a crash during the erasure, workers delete the documents.
func TestErasedFilesAreDeletedAfterCrash(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _, _ := newPersonWithFullHistory(t, b, "zzyzx@example.com")
	folder := filepath.Join(b.Files, "acme")
	require.NoError(t, os.Rename(folder, folder+".away"))
	modeltest.Must(b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", PolicyID: policy.ID, Reason: "They asked for it."}))
	require.NoError(t, os.Rename(folder+".away", folder))
	documents := func() int { return len(modeltest.Must(os.ReadDir(folder))) }
	require.Equal(t, 1, documents())
	b.RunJobs()
	require.Zero(t, documents())
}

func TestHashChainVerifiesAfterErasure(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	name, email := "Wilhelmina Testperson", "wilhelmina@example.com"
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"policyholder": map[string]any{"name": name, "email": email, "country": "TW"}})
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	method := modeltest.IBANMethod(claim.ID)
	method.Beneficiary.Name = name
	_, err := b.Service.Payouts.RecordMethod(t.Context(), b.Acme, method)
	require.NoError(t, err)
	_, err = b.Service.Claims.AddMessage(t.Context(), b.Acme, claim.ID, name+" asks when.")
	require.NoError(t, err)
	document, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, claims.AttachmentRequest{
		FileName: name + ".txt", ContentType: "text/plain", Content: strings.NewReader("I am " + name),
	})
	require.NoError(t, err)
	b.RunJobs()
	require.NoError(t, b.Service.Audit.SaveRefusals(t.Context()))
	b.Relay()
	kept := func() []any {
		return []any{b.Policy(policy.ID).Premium, b.Policy(policy.ID).TermsHash, b.Claim(claim.ID).Amount}
	}
	before := kept()
	erase := func() (*privacy.Erasure, error) {
		return b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", Email: strings.ToUpper(email), Reason: "They asked for it."})
	}
	_, err = erase()
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "they are covered")
	b.AdvanceClock(500 * 24 * time.Hour)
	b.Sweep()
	_, err = erase()
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the payout is not reconciled")
	modeltest.Reconcile(t, b, "day", modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), "settled"))
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
	b.Sweep()
	b.Relay()
	proof := func() *wire.HistoryProof {
		proof, err := b.Service.Events.VerifyChain(t.Context(), b.Operator, "acme")
		require.NoError(t, err)
		return proof
	}
	whole := proof()
	require.True(t, whole.Intact)
	require.Contains(t, findTextInDatabase(t, b, name), "events")

	ours := b.Service
	keys := modeltest.Keys()
	keys.Fingerprint = bytes.Repeat([]byte{9}, 32)
	b.Service = modeltest.NewServiceWithKeys(t, b, keys)
	_, err = erase()
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "signatures of another key would not verify")
	b.Service = ours

	done, err := erase()
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, []int{done.Quotes, done.Policies, done.Claims, done.Attachments, done.Messages, done.PayoutMethods})
	require.Greater(t, done.Events, 5)
	require.Empty(t, findTextInDatabase(t, b, name))
	require.Empty(t, findTextInDatabase(t, b, email))
	require.Empty(t, append(findTextInDatabase(t, b, "370400440532013000"), findTextInDatabase(t, b, "ending in 3000")...))
	_, _, err = b.Service.Claims.OpenAttachment(t.Context(), b.Acme, claim.ID, document.ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	require.Nil(t, b.Policy(policy.ID).Policyholder)
	require.Equal(t, before, kept())
	after := proof()
	require.Equal(t, int64(done.Events), after.Redacted)
	require.Equal(t, []any{true, whole.Hash, whole.Last}, []any{after.Intact, after.Hash, after.Last}, after.Faults)
	lines := modeltest.ListAudit(t, b, audit.Filter{})
	require.Equal(t, "They asked for it.", *lines[0].Reason)
	_, err = erase()
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "no record of them is left")

	_, err = b.DB.Pool.Exec(t.Context(), `update events set data = convert_to(replace(convert_from(data, 'UTF8'), 'erased', 'erazed'), 'UTF8') where type = 'payout_method.recorded'`)
	require.NoError(t, err)
	require.False(t, proof().Intact, "redacted data is still verified")
	_, err = b.DB.Pool.Exec(t.Context(), `update events set data = convert_to(replace(convert_from(data, 'UTF8'), 'erazed', 'erased'), 'UTF8') where type = 'payout_method.recorded'`)
	require.NoError(t, err)
}
