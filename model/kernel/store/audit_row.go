package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
)

// AuditRow is one line of the audit log. Insert-only. The lines have no hash chain:
// changes that operators make to a partner's records also appear in the events, which
// have one.
type AuditRow struct {
	bun.BaseModel `bun:"table:audit_entries,alias:au"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt time.Time
	Outcome   AuditOutcome
	Operation string
	ActorKind actor.Kind
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
	Partner, subject string
	Reason           *string
}

// Describe sets the audit fields: the partner and the record that an operator changes,
// and the reason.
func (tx *Tx) Describe(partner, subject string, reason *string) {
	tx.Audit = auditContext{partner, subject, reason}
}

// writeAudit writes the operator's action in the transaction of its effect.
func (tx *Tx) writeAudit(caller actor.Actor) {
	if caller.Kind != actor.KindOperator {
		return
	}
	tx.QueueInsert(&AuditRow{
		ID: NewID(), CreatedAt: tx.Now, Outcome: AuditDone, Operation: actor.BoundAuditText(caller.Operation, "unnamed"), ActorKind: caller.Kind, Actor: caller.SubjectOrName(),
		Issuer: optional.NonZero(caller.Issuer), Client: caller.Client, Partner: optional.NonZero(tx.Audit.Partner), Subject: optional.NonZero(tx.Audit.subject), Reason: tx.Audit.Reason,
		RequestID: optional.NonZero(caller.RequestID), Times: 1,
	})
}

const (
	// AuditDone means that the action was done, in the same transaction as its audit
	// line.
	AuditDone AuditOutcome = "done"
	// AuditRefused means that the actor lacked a permission.
	AuditRefused AuditOutcome = "refused"
)
