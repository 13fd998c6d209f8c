package model

import (
	"context"
	"fmt"
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

const (
	// AuditDone means that the action was done, in the same transaction as its audit
	// line.
	AuditDone AuditOutcome = "done"
	// AuditRefused means that the actor lacked a permission.
	AuditRefused AuditOutcome = "refused"
)

// AuditEntry records an action of an operator, or a request that any actor had no
// permission for.
type AuditEntry struct {
	ID        string
	At        time.Time
	Outcome   string // an AuditOutcome
	Operation string // the mutation's name, or the route
	ActorKind *string
	Actor     string
	Issuer    *string // of the token; Actor is unique only within one issuer
	Client    string
	Partner   *string // the owner of the record, or the actor that was refused
	Subject   *string // id of the record
	Reason    *string // the operator's reason, the argument of Audit, or the message of the refusal
	Code      *string // of the refusal
	RequestID *string
	Times     int64 // refusals repeated within a minute share one line
}

func (r *auditRow) toRecord() AuditEntry {
	return AuditEntry{
		ID: resourceAuditEntry.formatID(r.ID), At: r.CreatedAt, Outcome: string(r.Outcome), Operation: r.Operation, ActorKind: stringOrNil(string(r.ActorKind)), Actor: r.Actor,
		Issuer: r.Issuer, Client: r.Client, Partner: r.Partner, Subject: r.Subject, Reason: r.Reason, Code: r.Code, RequestID: r.RequestID, Times: r.Times,
	}
}

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

// Audit records an operator's action outside the domain's records, such as in the job
// console. Call it before the effect: an audited action that then fails is visible, but
// an action without its line is not. Operators only.
func (s *Service) Audit(ctx context.Context, actor Actor, action string) error {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return err
	}
	return s.InTx(ctx, actor, func(_ context.Context, tx *Tx) error {
		action := strings.ReplaceAll(strings.ToValidUTF8(action, ""), "\x00", "")
		tx.describe("", "", stringOrNil(action))
		return nil
	})
}

// AuditFilter filters the audit log. Empty fields do not filter.
type AuditFilter struct {
	Outcome   string // an AuditOutcome
	Operation string
	Actor     string
	Partner   string
	Subject   string
	From, To  *time.Time // From is inclusive, To exclusive
}

// applyFilter applies the filter.
func (f AuditFilter) applyFilter(q *bun.SelectQuery) *bun.SelectQuery {
	for column, value := range map[string]string{
		"outcome": f.Outcome, "operation": f.Operation, "actor": f.Actor, "partner": f.Partner, "subject": f.Subject,
	} {
		if value != "" {
			q = q.Where("au."+column+" = ?", value)
		}
	}
	if f.From != nil {
		q = q.Where("au.created_at >= ?", *f.From)
	}
	if f.To != nil {
		q = q.Where("au.created_at < ?", *f.To)
	}
	return q
}

// ListAudit returns the audit log, newest first. Operators only. Errors: cursor_invalid,
// parameter_invalid.
func (s *Service) ListAudit(ctx context.Context, actor Actor, f AuditFilter, in PageRequest) (*Page[AuditEntry], error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	var rows []auditRow
	name := fmt.Sprintf("audit?%q", []any{f.Outcome, f.Operation, f.Actor, f.Partner, f.Subject, f.From, f.To})
	p, err := s.fetchPage(ctx, actor, f.applyFilter(s.db.NewSelect().Model(&rows)), in, name, newestFirst)
	if err != nil {
		return nil, err
	}
	return newPage(p, rows, func(r *auditRow) string { return r.ID.String() }, (*auditRow).toRecord)
}
