package model

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// auditRow is one line of the audit log. Insert-only. The lines have no hash chain:
// changes that operators make to a partner's records also appear in the events, which
// have one.
type auditRow struct {
	bun.BaseModel `bun:"table:audit_entries,alias:au"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Outcome   AuditOutcome
	Operation string
	ActorKind ActorKind
	Actor     string
	Issuer    *string
	Client    string
	Partner   *string
	Subject   *string
	Reason    *string
	Code      *string
	RequestID *string
	Times     int64
}

// AuditOutcome is the outcome of an audited request.
type AuditOutcome string

// auditContext holds the audit fields of a transaction.
type auditContext struct {
	partner, subject string
	reason           *string
}

// describe sets the audit fields: the partner and the record that an operator changes,
// and the reason.
func (tx *Tx) describe(partner, subject string, reason *string) {
	tx.audit = auditContext{partner, subject, reason}
}

// writeAudit writes the operator's action in the transaction of its effect.
func (tx *Tx) writeAudit(actor Actor) {
	if actor.Kind != ActorOperator {
		return
	}
	tx.queueInsert(&auditRow{
		ID: newID(), CreatedAt: tx.now, Outcome: AuditDone, Operation: boundAuditText(actor.Operation, "unnamed"), ActorKind: actor.Kind, Actor: actor.subjectOrName(),
		Issuer: stringOrNil(actor.Issuer), Client: actor.Client, Partner: stringOrNil(tx.audit.partner), Subject: stringOrNil(tx.audit.subject), Reason: tx.audit.reason,
		RequestID: stringOrNil(actor.RequestID), Times: 1,
	})
}

// maxAuditText is the maximum length of a caller's text, in bytes.
const maxAuditText = 255

// boundAuditText returns a text that Postgres can store, or otherwise when the text is
// empty.
func boundAuditText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text[:min(len(text), maxAuditText)], ""), "\x00", "")
}

const (
	// AuditDone means that the action was done, in the same transaction as its audit
	// line.
	AuditDone AuditOutcome = "done"
	// AuditRefused means that the actor lacked a permission.
	AuditRefused AuditOutcome = "refused"
)
