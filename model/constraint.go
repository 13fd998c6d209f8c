package model

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// constraints turns the name of a violated constraint into the partner's
// sentence. A name that is not here is a bug and stays internal.
var constraints = map[string]func() *Error{
	"quotes_partner_reference_key":         func() *Error { return referenceTaken(nounQuote) },
	"policies_partner_reference_key":       func() *Error { return referenceTaken(nounPolicy) },
	"claims_partner_reference_key":         func() *Error { return referenceTaken(nounClaim) },
	"payout_methods_partner_reference_key": func() *Error { return referenceTaken(nounPayoutMethod) },
	"policies_quote_id_key": func() *Error {
		return Fail(CodeQuoteAlreadyBound, "This quote is already bound.")
	},
	"quotes_partner_fkey": func() *Error {
		return Fail(CodePartnerDisabled, "This partner is not registered.")
	},
}

func referenceTaken(kind noun) *Error {
	e := Fail(CodeReferenceTaken, "Another %s of yours already has this partner_reference; use a new one.", kind.words())
	e.Fields = []FieldError{{Pointer: "/partner_reference", Code: "taken", Detail: "Use a reference that no other " + kind.words() + " has."}}
	return e
}

// explain gives a database error the meaning it has for the caller, and leaves
// every other error as it is.
func explain(err error) error {
	var pg *pgconn.PgError
	var ours *Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	if errors.As(err, &pg) {
		if say, ok := constraints[pg.ConstraintName]; ok {
			return say().Because(err)
		}
		if class := pg.Code[:min(2, len(pg.Code))]; class != "57" && class != "53" && class != "08" && !retryable(err) {
			return err
		}
		return unavailable(err)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || strings.Contains(err.Error(), "conn closed") {
		return unavailable(err)
	}
	return err
}

func unavailable(cause error) error {
	e := Fail(CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.").Because(cause)
	e.RetryAfter = retrySoon
	return e
}
