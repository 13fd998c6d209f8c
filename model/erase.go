package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// erased stands where a text was that must be there.
const erased = "erased"

// ErasureRequest names a policyholder: by one policy, or by the address that a
// partner's policies and quotes have.
type ErasureRequest struct {
	Partner  string
	PolicyID string // or Email
	Email    string
	Reason   string // private
}

// Erasure is what was found and erased.
type Erasure struct {
	Quotes, Policies, Claims, Attachments, Messages, PayoutMethods int
	Events                                                         int // whose data lost what was personal
}

// erasure is one on its way: the ids of what holds the person's data.
type erasure struct {
	*unit
	Erasure

	partner                                               string
	quotes, policies, claims, attached, messages, methods []uuid.UUID
	files                                                 []string
}

// EraseHolder removes a policyholder's personal data: names, addresses, account
// numbers, documents, messages and what partners noted beside them, in the records
// and in the events that told of them. Amounts, terms, places, decisions and
// fingerprints stay, and so does every hash: the history is proved as before, and
// counts what was redacted. What operators gave as their reasons stays too, because the
// audit log cannot be changed. Documents go when the records have; where that fails the
// workers try again. A second time changes nothing. Who is still covered, or has
// a claim open, cannot be erased yet. Operators only. Errors: validation_failed,
// not_found, state_conflict.
func (s *Service) EraseHolder(ctx context.Context, actor Actor, in ErasureRequest) (*Erasure, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := fieldCheck{}
	c.that(slug.MatchString(in.Partner), "/partner", "required", "Name the partner by its slug.")
	c.that((in.PolicyID == "") != (in.Email == ""), "/policy_id", "value", "Name a policy, or the policyholder's e-mail address.")
	c.that(storable(in.Email), "/email", "format", "Use an e-mail address.")
	c.note(&in.Reason, "/reason")
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	var e *erasure
	err := s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		e = &erasure{unit: u, partner: in.Partner}
		if err := e.find(ctx, in); err != nil {
			return err
		}
		// Who was erased is not said: that would be the one place left that names them.
		u.about(in.Partner, fmt.Sprintf("%d policies, %d quotes", len(e.policies), len(e.quotes)), &in.Reason)
		if len(e.files) > 0 {
			u.enqueue(DeleteFiles{Keys: e.files})
		}
		return firstOf(e.redactEvents(ctx), e.redactQuotes(ctx), e.redactRows(ctx))
	})
	if err != nil {
		return nil, err
	}
	if err := s.DeleteFiles(context.WithoutCancel(ctx), e.files); err != nil {
		return &e.Erasure, fmt.Errorf("documents are left, which the workers try to delete again: %w", err)
	}
	return &e.Erasure, nil
}

// DeleteFiles removes documents that have no records. One that is gone is no error.
func (s *Service) DeleteFiles(ctx context.Context, keys []string) error {
	var left []error
	for _, key := range keys {
		left = append(left, s.files.Delete(ctx, key))
	}
	return errors.Join(left...)
}

// find locks the policies and lists what belongs to them.
func (e *erasure) find(ctx context.Context, in ErasureRequest) error {
	q := e.NewSelect().Model((*policyRow)(nil)).Column("id", "quote_id", "status").Where("p.partner = ?", e.partner).For("NO KEY UPDATE")
	if in.PolicyID != "" {
		id, err := nounPolicy.parse(in.PolicyID)
		if err != nil {
			return err
		}
		q = q.Where("p.id = ?", id)
	} else {
		q = q.Where("lower(p.policyholder->>'email') = lower(?)", in.Email)
		err := e.NewRaw("select id from quotes where partner = ? and lower(context->'policyholder'->>'email') = lower(?)", e.partner, in.Email).Scan(ctx, &e.quotes)
		if err != nil {
			return fmt.Errorf("find quotes: %w", err)
		}
	}
	var rows []policyRow
	if err := q.Scan(ctx, &rows); err != nil {
		return fmt.Errorf("find policies: %w", err)
	}
	for _, row := range rows {
		if row.Status == PolicyActive {
			return Fail(CodeStateConflict, "The policy %s is in force; its holder can be erased when it has ended.", nounPolicy.id(row.ID))
		}
		e.policies = append(e.policies, row.ID)
		if !slices.Contains(e.quotes, row.QuoteID) {
			e.quotes = append(e.quotes, row.QuoteID)
		}
	}
	if len(e.policies)+len(e.quotes) == 0 {
		return Fail(CodeNotFound, "This partner has no policy and no quote of such a policyholder.")
	}
	return e.findClaims(ctx)
}

func (e *erasure) findClaims(ctx context.Context) error {
	of := func(into *[]uuid.UUID, query string, args ...any) error {
		return e.NewRaw(query, args...).Scan(ctx, into)
	}
	var open []uuid.UUID
	err := firstOf(
		of(&open, "select id from claims where partner = ? and policy_id in (?) and (status in ('opened', 'deferred', 'approved'))", e.partner, list(e.policies)),
		of(&e.claims, "select id from claims where partner = ? and policy_id in (?)", e.partner, list(e.policies)),
	)
	if err == nil {
		err = firstOf(
			of(&e.attached, "select id from attachments where partner = ? and claim_id in (?)", e.partner, list(e.claims)),
			of(&e.messages, "select id from messages where partner = ? and claim_id in (?)", e.partner, list(e.claims)),
			of(&e.methods, "select id from payout_methods where partner = ? and policy_id in (?)", e.partner, list(e.policies)),
			e.NewRaw("select storage_key from attachments where partner = ? and claim_id in (?) and storage_key <> ''", e.partner, list(e.claims)).Scan(ctx, &e.files),
		)
	}
	if err != nil {
		return fmt.Errorf("find what belongs to the policies: %w", err)
	}
	if len(open) > 0 {
		return Fail(CodeStateConflict, "The claim %s is not closed; its policyholder can be erased when all is paid.", nounClaim.id(open[0]))
	}
	return nil
}

// list is never empty, which SQL could not read.
func list(ids []uuid.UUID) any { return bun.List(append([]uuid.UUID{uuid.Nil}, ids...)) }

// personal are the members of public records that hold what is personal, and what
// stands there afterwards. A member that is null stays so.
var personal = map[string]map[string]string{
	nounQuote.name:        {"/context/policyholder": "null", "/metadata": "{}"},
	nounPolicy.name:       {"/policyholder": "null", "/metadata": "{}"},
	nounClaim.name:        {"/description": "null", "/metadata": "{}"},
	nounAttachment.name:   {"/file_name": `"` + erased + `"`, "/description": "null", "/purpose": "null"},
	nounMessage.name:      {"/body": `"` + erased + `"`},
	nounPayoutMethod.name: {"/beneficiary/name": `"` + erased + `"`, "/display/last4": `""`, "/metadata": "{}"},
}

func (e *erasure) redactRows(ctx context.Context) error {
	e.Erasure = Erasure{len(e.quotes), len(e.policies), len(e.claims), len(e.attached), len(e.messages), len(e.methods), e.Events}
	var ids []string
	for kind, of := range map[noun][]uuid.UUID{
		nounQuote: e.quotes, nounPolicy: e.policies, nounClaim: e.claims, nounAttachment: e.attached, nounMessage: e.messages, nounPayoutMethod: e.methods,
	} {
		for _, id := range of {
			ids = append(ids, kind.id(id))
		}
	}
	for _, statement := range []struct {
		text string
		of   any
	}{
		{"update policies set policyholder = null, metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", list(e.policies)},
		{"update claims set description = null, metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", list(e.claims)},
		{"update attachments set file_name = '" + erased + "', description = null, purpose = null, storage_key = '' where partner = ? and id in (?)", list(e.attached)},
		{"update messages set body = '" + erased + "' where partner = ? and id in (?)", list(e.messages)},
		{"update payout_methods set beneficiary_name = '" + erased + "', last4 = '', sealed = '', metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", list(e.methods)},
		{`update timeline_entries set summary = regexp_replace(regexp_replace(summary, 'ending in \S+', 'that was erased'), '^The document .* was added', 'A document was added'),
			data = case when data->>'file_name' is not null then (data::jsonb - 'file_name')::json else data end
			where partner = ? and claim_id in (?) and (kind like 'payout_method.%' or kind = 'claim.attachment_added')`, list(e.claims)},
		{"update rail_report_lines set account = '' where payout_id in (select po.id from payouts as po where po.partner = ? and po.claim_id in (?)) and account <> ''", list(e.claims)},
		// Answers to operators are kept under their clients.
		{"delete from idempotency_keys where (owner = 'partner/' || ? or owner not like 'partner/%') and resource_id in (?)", bun.List(ids)},
	} {
		if _, err := e.NewRaw(statement.text, e.partner, statement.of).Exec(ctx); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
	}
	return nil
}

func (e *erasure) redactQuotes(ctx context.Context) error {
	var rows []struct {
		ID      uuid.UUID `bun:"type:uuid"`
		Context string
		Ignored []string `bun:",array"`
	}
	if err := e.NewRaw("select id, context::text as context, ignored_context as ignored from quotes where partner = ? and id in (?) for no key update", e.partner, list(e.quotes)).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("read quotes: %w", err)
	}
	for _, row := range rows {
		redacted, err := redact([]byte(`{"context":`+row.Context+`}`), "", redactingOf(nounQuote.name, row.Ignored))
		if err != nil {
			return err
		}
		_, err = e.NewRaw("update quotes set context = ?::json->'context', metadata = case when metadata is not null then '{}'::json end where id = ? and partner = ?",
			string(redacted), row.ID, e.partner).Exec(ctx)
		if err != nil {
			return fmt.Errorf("erase from quote: %w", err)
		}
	}
	return nil
}
