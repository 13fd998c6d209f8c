package model_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// Whatever a door could not read, no operation acts on the rest of it: no
// transaction, no row, no file.
func TestUnparsedRequestChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	quote := b.Quote("quake-circle", nil)
	claim, _, err := b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{PolicyID: policy.ID})
	require.NoError(t, err)
	quake := modeltest.Quake("us1", b.Now(), epicentre, "6.4")
	before := b.CountRows()
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/other", Code: "type", Detail: "Give a string."})
	for name, act := range map[string]func(context.Context) error{
		"quote": func(ctx context.Context) error {
			_, err := b.Service.CreateQuote(ctx, b.Acme, b.QuoteRequest("quake-circle", nil))
			return err
		},
		"policy": func(ctx context.Context) error {
			_, err := b.Service.BindPolicy(ctx, b.Acme, model.BindRequest{QuoteID: quote.ID})
			return err
		},
		"claim": func(ctx context.Context) error {
			_, _, err := b.Service.OpenClaim(ctx, b.Acme, model.ClaimRequest{PolicyID: policy.ID})
			return err
		},
		"message": func(ctx context.Context) error {
			_, err := b.Service.AddMessage(ctx, b.Acme, claim.ID, "hello")
			return err
		},
		"attachment": func(ctx context.Context) error {
			_, err := b.Service.AddAttachment(ctx, b.Acme, claim.ID, model.AttachmentRequest{FileName: "a.txt", ContentType: "text/plain", Content: strings.NewReader("hello")})
			return err
		},
		"payout method": func(ctx context.Context) error {
			_, err := b.Service.RecordPayoutMethod(ctx, b.Acme, modeltest.IBANMethod(claim.ID))
			return err
		},
		"observation": func(ctx context.Context) error {
			_, _, err := b.Service.RecordObservation(ctx, b.Source, quake, false)
			return err
		},
		"observations": func(ctx context.Context) error {
			_, err := b.Service.RecordObservations(ctx, b.Source, []wire.ObservationInput{quake}, false)
			return err
		},
		"an operation that does not look": func(ctx context.Context) error { return b.Service.PublishShipped(ctx) },
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
	quake := modeltest.Quake("us1", b.Now(), epicentre, "6.4")
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/observations/1/revision", Code: "type", Detail: "Give a whole number."})
	results, err := b.Service.RecordObservations(ctx, b.Source, []wire.ObservationInput{quake, modeltest.Quake("us2", b.Now(), epicentre, "6.4")}, false)
	require.NoError(t, err)
	require.Equal(t, model.ResultCreated, results[0].Result)
	require.Equal(t, model.ResultRejected, results[1].Result)
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
