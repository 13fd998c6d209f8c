package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// constraintErrors maps the name of a violated constraint to the partner's error. A name
// without an entry is a bug and gives an internal error.
var constraintErrors = map[string]func() *apperr.Error{
	"quotes_partner_reference_key":            func() *apperr.Error { return referenceTakenError(ResourceQuote) },
	"policies_partner_reference_key":          func() *apperr.Error { return referenceTakenError(ResourcePolicy) },
	"claims_partner_reference_key":            func() *apperr.Error { return referenceTakenError(ResourceClaim) },
	"payout_methods_partner_reference_key":    func() *apperr.Error { return referenceTakenError(ResourcePayoutMethod) },
	"webhook_endpoints_partner_reference_key": func() *apperr.Error { return referenceTakenError(ResourceEndpoint) },
	"policies_quote_id_key": func() *apperr.Error {
		return apperr.Fail(apperr.CodeQuoteAlreadyBound, "This quote is already bound.")
	},
	"release_stops_active_key": func() *apperr.Error {
		return apperr.Fail(apperr.CodeStateConflict, "Releases are stopped already.")
	},
	"quotes_partner_fkey":            unregisteredPartnerError,
	"webhook_endpoints_partner_fkey": unregisteredPartnerError,
}

func unregisteredPartnerError() *apperr.Error {
	return apperr.Fail(apperr.CodePartnerDisabled, "This partner is not registered.")
}

func referenceTakenError(kind ResourceType) *apperr.Error {
	e := apperr.Fail(apperr.CodeReferenceTaken, "Another %s of yours already has this partner_reference, see resource_id; use a new one.", kind.displayName())
	e.Fields = []apperr.FieldError{{Pointer: "/partner_reference", Code: "taken", Detail: "Use a reference that no other " + kind.displayName() + " has."}}
	return e
}

// AddReferenceHolder adds to a reference_taken error the id of the caller's own record
// that has the reference, a row of row's table. It reads outside of the transaction,
// because the constraint violation aborted it.
func (s *Store) AddReferenceHolder(ctx context.Context, actor actor.Actor, err error, kind ResourceType, row any, reference *string) error {
	var taken *apperr.Error
	if reference == nil || !errors.As(err, &taken) || taken.Code != apperr.CodeReferenceTaken {
		return err
	}
	var id uuid.UUID
	q := s.DB.NewSelect().Model(row).Column("id").Where("partner = ?", actor.Partner).Where("partner_reference = ?", *reference)
	if q.Scan(ctx, &id) == nil { // without the id the error is still correct
		taken.ResourceID = kind.FormatID(id)
	}
	return err
}

// TranslateError maps a database error to a domain error; other errors are returned
// unchanged.
func TranslateError(err error) error {
	var pg *pgconn.PgError
	var ours *apperr.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	if errors.As(err, &pg) {
		if pg.Code == versionConflictState {
			return VersionConflict().WithCause(err)
		}
		if say, ok := constraintErrors[pg.ConstraintName]; ok {
			return say().WithCause(err)
		}
		if class := pg.Code[:min(2, len(pg.Code))]; class != "57" && class != "53" && class != "08" && !dbconn.IsRetryable(err) {
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
	e := apperr.Fail(apperr.CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.").WithCause(cause)
	e.RetryAfter = unavailableRetryAfter
	return e
}
