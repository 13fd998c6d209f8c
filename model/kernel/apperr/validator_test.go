package apperr_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// A request with a field that the API could not parse changes nothing: no transaction, no
// row, no file.
func TestUnparsedRequestChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	quote := b.Quote("quake-circle", nil)
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
	require.NoError(t, err)
	quake := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	before := b.CountRows()
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/other", Code: "type", Detail: "Give a string."})
	for name, act := range map[string]func(context.Context) error{
		"quote": func(ctx context.Context) error {
			_, err := b.Service.Quotes.Create(ctx, b.Acme, b.QuoteRequest("quake-circle", nil))
			return err
		},
		"policy": func(ctx context.Context) error {
			_, err := b.Service.Policies.Bind(ctx, b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
			return err
		},
		"claim": func(ctx context.Context) error {
			_, _, err := b.Service.Adjudication.Open(ctx, b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
			return err
		},
		"message": func(ctx context.Context) error {
			_, err := b.Service.Claims.AddMessage(ctx, b.Acme, claim.ID, "hello")
			return err
		},
		"attachment": func(ctx context.Context) error {
			_, err := b.Service.Claims.AddAttachment(ctx, b.Acme, claim.ID, claims.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader("hello")})
			return err
		},
		"payout method": func(ctx context.Context) error {
			_, err := b.Service.Payouts.RecordMethod(ctx, b.Acme, modeltest.IBANMethod(claim.ID))
			return err
		},
		"observation": func(ctx context.Context) error {
			_, _, err := b.Service.Occurrences.RecordObservation(ctx, b.Source, quake, false)
			return err
		},
		"observations": func(ctx context.Context) error {
			_, err := b.Service.Occurrences.RecordObservations(ctx, b.Source, []wire.ObservationInput{quake}, false)
			return err
		},
		"an operation that does not look": func(ctx context.Context) error {
			_, err := b.Service.Products.PublishShipped(ctx)
			return err
		},
	} {
		refusal := new(apperr.Error)
		require.ErrorAs(t, act(ctx), &refusal, name)
		require.Equal(t, apperr.CodeValidationFailed, refusal.Code, name)
		require.Equal(t, "/other", refusal.Fields[0].Pointer, name)
		require.Len(t, refusal.Fields, 1, name)
	}
	require.Equal(t, before, b.CountRows())
	stored, err := os.ReadDir(b.Files)
	require.NoError(t, err)
	require.Empty(t, stored)
}

func TestParseErrorRejectsOneObservationOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quake := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/observations/1/revision", Code: "type", Detail: "Give a whole number."})
	results, err := b.Service.Occurrences.RecordObservations(ctx, b.Source, []wire.ObservationInput{quake, modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "6.4")}, false)
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultCreated, results[0].Result)
	require.Equal(t, occurrence.ResultRejected, results[1].Result)
	require.Equal(t, []apperr.FieldError{{Pointer: "/revision", Code: "type", Detail: "Give a whole number."}}, results[1].Errors)
}

func TestFieldErrorsAreSortedByPointer(t *testing.T) {
	t.Parallel()
	var fields []apperr.FieldError
	for _, pointer := range []string{"/b", "/a/10/x", "/a/9", "/a/1a", "/a", "/a/10", "/b", "/a-b", ""} {
		fields = append(fields, apperr.FieldError{Pointer: pointer, Code: "type"})
	}
	var order []string
	for _, field := range apperr.Invalid(fields...).Fields {
		order = append(order, field.Pointer)
	}
	require.Equal(t, []string{"", "/a", "/a/9", "/a/10", "/a/10/x", "/a/1a", "/a-b", "/b"}, order)
}
