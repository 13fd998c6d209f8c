package model

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// constraintErrors maps the name of a violated constraint to the partner's error. A name
// without an entry is a bug and gives an internal error.
var constraintErrors = map[string]func() *Error{
	"quotes_partner_reference_key":            func() *Error { return referenceTakenError(resourceQuote) },
	"policies_partner_reference_key":          func() *Error { return referenceTakenError(resourcePolicy) },
	"claims_partner_reference_key":            func() *Error { return referenceTakenError(resourceClaim) },
	"payout_methods_partner_reference_key":    func() *Error { return referenceTakenError(resourcePayoutMethod) },
	"webhook_endpoints_partner_reference_key": func() *Error { return referenceTakenError(resourceEndpoint) },
	"policies_quote_id_key": func() *Error {
		return Fail(CodeQuoteAlreadyBound, "This quote is already bound.")
	},
	"release_stops_active_key": func() *Error {
		return Fail(CodeStateConflict, "Releases are stopped already.")
	},
	"quotes_partner_fkey":            unregisteredPartnerError,
	"webhook_endpoints_partner_fkey": unregisteredPartnerError,
}

func unregisteredPartnerError() *Error {
	return Fail(CodePartnerDisabled, "This partner is not registered.")
}

func referenceTakenError(kind ResourceType) *Error {
	e := Fail(CodeReferenceTaken, "Another %s of yours already has this partner_reference, see resource_id; use a new one.", kind.displayName())
	e.Fields = []FieldError{{Pointer: "/partner_reference", Code: "taken", Detail: "Use a reference that no other " + kind.displayName() + " has."}}
	return e
}

// addReferenceHolder adds to a reference_taken error the id of the caller's own record
// that has the reference, a row of row's table. It reads outside of the transaction,
// because the constraint violation aborted it.
func (s *Store) addReferenceHolder(ctx context.Context, actor Actor, err error, kind ResourceType, row any, reference *string) error {
	var taken *Error
	if reference == nil || !errors.As(err, &taken) || taken.Code != CodeReferenceTaken {
		return err
	}
	var id uuid.UUID
	q := s.db.NewSelect().Model(row).Column("id").Where("partner = ?", actor.Partner).Where("partner_reference = ?", *reference)
	if q.Scan(ctx, &id) == nil { // without the id the error is still correct
		taken.ResourceID = kind.formatID(id)
	}
	return err
}

// translateError maps a database error to a domain error; other errors are returned
// unchanged.
func translateError(err error) error {
	var pg *pgconn.PgError
	var ours *Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	if errors.As(err, &pg) {
		if pg.Code == versionConflictState {
			return versionConflict().WithCause(err)
		}
		if say, ok := constraintErrors[pg.ConstraintName]; ok {
			return say().WithCause(err)
		}
		if class := pg.Code[:min(2, len(pg.Code))]; class != "57" && class != "53" && class != "08" && !isRetryable(err) {
			return err
		}
		return unavailableError(err)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || strings.Contains(err.Error(), "conn closed") {
		return unavailableError(err)
	}
	return err
}

// unavailableRetryAfter is when a client should try again after CodeUnavailable.
const unavailableRetryAfter = 2 * time.Second

func unavailableError(cause error) error {
	e := Fail(CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.").WithCause(cause)
	e.RetryAfter = unavailableRetryAfter
	return e
}
