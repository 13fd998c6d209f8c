package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestDatabaseErrorsBecomeDomainErrors(t *testing.T) {
	t.Parallel()
	for constraint, want := range map[string]apperr.Code{
		"quotes_partner_reference_key": apperr.CodeReferenceTaken, "policies_partner_reference_key": apperr.CodeReferenceTaken,
		"claims_partner_reference_key": apperr.CodeReferenceTaken, "payout_methods_partner_reference_key": apperr.CodeReferenceTaken,
		"webhook_endpoints_partner_reference_key": apperr.CodeReferenceTaken, "policies_quote_id_key": apperr.CodeQuoteAlreadyBound,
		"release_stops_active_key": apperr.CodeStateConflict, "quotes_partner_fkey": apperr.CodePartnerDisabled, "webhook_endpoints_partner_fkey": apperr.CodePartnerDisabled,
	} {
		cause := &pgconn.PgError{Code: "23505", ConstraintName: constraint}
		err := store.TranslateError(fmt.Errorf("insert: %w", cause))
		require.Equal(t, want, modeltest.DomainError(t, err).Code, constraint)
		require.ErrorIs(t, err, cause, "the log names the cause")
	}
	require.Len(t, store.Constraints(), 9, "add each constraint here")
	conflict := store.TranslateError(&pgconn.PgError{Code: "PA001"})
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(conflict))
}

func TestUnavailableDatabaseIsTriedAgainInTwoSeconds(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"shut down": &pgconn.PgError{Code: "57P01"}, "too many connections": &pgconn.PgError{Code: "53300"}, "connection lost": &pgconn.PgError{Code: "08006"},
		"deadlock": &pgconn.PgError{Code: "40P01"}, "serialization": &pgconn.PgError{Code: "40001"}, "closed": errors.New("write: conn closed"),
		"no server": &pgconn.ConnectError{},
	} {
		if name == "no server" {
			_, cause = pgx.Connect(t.Context(), "postgres://unknown@127.0.0.1:1/none?sslmode=disable")
		}
		refusal := modeltest.DomainError(t, store.TranslateError(fmt.Errorf("read: %w", cause)))
		require.Equal(t, apperr.CodeUnavailable, refusal.Code, name)
		require.Equal(t, 2*time.Second, refusal.RetryAfter, name)
		require.ErrorIs(t, refusal, cause, name)
	}
}

func TestOtherErrorsAreLeftUnchanged(t *testing.T) {
	t.Parallel()
	require.NoError(t, store.TranslateError(nil))
	for _, err := range []error{
		errors.New("bug"), context.Canceled, &pgconn.PgError{Code: "23505", ConstraintName: "unknown_key"}, &pgconn.PgError{Code: "42601"}, &pgconn.PgError{},
		fmt.Errorf("wrapped: %w", apperr.Fail(apperr.CodeNotFound, "None.")),
		errors.Join(apperr.Fail(apperr.CodeNotFound, "None."), &pgconn.PgError{Code: "57P01"}),
	} {
		require.Equal(t, err, store.TranslateError(err))
	}
}

func TestTakenReferenceNamesTheCallersRecord(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	rows := []noteRow{newNote("acme"), newNote("globex")}
	for i := range rows {
		rows[i].PartnerReference = new("ref-1")
	}
	insertNotes(t, s, rows...)
	acme := modeltest.Partner("acme")
	taken := func() error {
		return store.TranslateError(&pgconn.PgError{Code: "23505", ConstraintName: "payout_methods_partner_reference_key"})
	}
	holder := func(err error, reference *string) string {
		return modeltest.DomainError(t, s.AddReferenceHolder(t.Context(), acme, err, store.ResourceMessage, new(noteRow), reference)).ResourceID
	}
	require.Equal(t, store.ResourceMessage.FormatID(rows[0].ID), holder(taken(), new("ref-1")))
	require.Empty(t, holder(taken(), new("ref-2")))
	require.Empty(t, holder(taken(), nil))
	require.Empty(t, holder(store.VersionConflict(), new("ref-1")), "another error")
	refusal := modeltest.DomainError(t, taken())
	require.Equal(t, "Another payout method of yours already has this partner_reference, see resource_id; use a new one.", refusal.Detail)
	require.Equal(t, []apperr.FieldError{{Pointer: "/partner_reference", Code: "taken", Detail: "Use a reference that no other payout method has."}}, refusal.Fields)
}

// failingQuerier fails as often as its errors say and then asks the pool.
type failingQuerier struct {
	store.Querier

	errs  []error
	calls int
}

func (q *failingQuerier) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	if q.calls++; q.calls <= len(q.errs) {
		return nil, q.errs[q.calls-1]
	}
	return q.Querier.Query(ctx, text, args...)
}

// unsentError is the error of a statement that did not reach the server.
type unsentError struct{ sent bool }

func (e unsentError) Error() string     { return "connection lost" }
func (e unsentError) SafeToRetry() bool { return !e.sent }

func TestStatementThatNeverReachedTheServerIsSentOnceMore(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	insertNotes(t, s, newNote("acme"))
	for _, tc := range []struct {
		errs  []error
		calls int
		good  bool
	}{
		{nil, 1, true},
		{[]error{unsentError{}}, 2, true},
		{[]error{unsentError{}, unsentError{}}, 2, false},
		{[]error{unsentError{sent: true}}, 1, false},
	} {
		on := &failingQuerier{Querier: db.Pool, errs: tc.errs}
		var row noteRow
		err := s.QueryPreparedRow(t.Context(), on, &row, s.SelectStatement(new(noteRow)))
		require.Equal(t, tc.good, err == nil)
		require.Equal(t, tc.calls, on.calls)
		on.calls = 0
		var rows []noteRow
		require.Equal(t, tc.good, s.QueryPreparedRows(t.Context(), on, &rows, s.SelectStatement(new(noteRow))) == nil)
	}
}
