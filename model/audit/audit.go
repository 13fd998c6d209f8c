package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
)

// Entry records an action of an operator, or a request that any actor had no
// permission for.
type Entry struct {
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

func toRecord(r *store.AuditRow) Entry {
	return Entry{
		ID: store.ResourceAuditEntry.FormatID(r.ID), At: r.CreatedAt, Outcome: string(r.Outcome), Operation: r.Operation, ActorKind: optional.NonZero(string(r.ActorKind)), Actor: r.Actor,
		Issuer: r.Issuer, Client: r.Client, Partner: r.Partner, Subject: r.Subject, Reason: r.Reason, Code: r.Code, RequestID: r.RequestID, Times: r.Times,
	}
}

// RecordAction records an operator's action outside the domain's records, such as in the job
// console. Call it before the effect: an audited action that then fails is visible, but
// an action without its line is not. Operators only.
func RecordAction(ctx context.Context, s *store.Store, caller actor.Actor, action string) error {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return err
	}
	return s.InTx(ctx, caller, func(_ context.Context, tx *store.Tx) error {
		action := strings.ReplaceAll(strings.ToValidUTF8(action, ""), "\x00", "")
		tx.Describe("", "", optional.NonZero(action))
		return nil
	})
}

// Filter filters the audit log. Empty fields do not filter.
type Filter struct {
	Outcome   string // an AuditOutcome
	Operation string
	Actor     string
	Partner   string
	Subject   string
	From, To  *time.Time // From is inclusive, To exclusive
}

// applyFilter applies the filter.
func (f Filter) applyFilter(q *bun.SelectQuery) *bun.SelectQuery {
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

// List returns the audit log, newest first. Operators only. Errors: cursor_invalid,
// parameter_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, f Filter, in store.PageRequest) (*store.Page[Entry], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []store.AuditRow
	name := fmt.Sprintf("audit?%q", []any{f.Outcome, f.Operation, f.Actor, f.Partner, f.Subject, f.From, f.To})
	p, err := s.FetchPage(ctx, caller, f.applyFilter(s.DB.NewSelect().Model(&rows)), in, name, store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, func(r *store.AuditRow) string { return r.ID.String() }, toRecord)
}
