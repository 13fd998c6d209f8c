package privacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/underwriting"
)

// erasedText replaces a text that must not be empty.
const erasedText = "erased"

// ErasureRequest identifies a policyholder: by one policy, or by the e-mail address in a
// partner's policies and quotes.
type ErasureRequest struct {
	Partner  string
	PolicyID string // or Email
	Email    string
	Reason   string // operators only
}

// Erasure counts the records that were found and erased.
type Erasure struct {
	Quotes, Policies, Claims, Attachments, Messages, PayoutMethods int
	Events                                                         int // with personal data removed
}

// erasureRun is an erasure in progress: the ids of the records that hold the person's
// data.
type erasureRun struct {
	*store.Tx
	Erasure

	partner                                                  string
	quotes, policies, claims, attachments, messages, methods []uuid.UUID
	files                                                    []string
}

// ErasePolicyholder removes a policyholder's personal data from records and events.
// Amounts, terms, places, decisions, fingerprints and hashes stay, so the hash chain
// still verifies. Operators' reasons stay because the audit log is insert-only. The
// operation is idempotent. Policies in force and open claims prevent it.
func (s *Service) ErasePolicyholder(ctx context.Context, caller actor.Actor, in ErasureRequest) (*Erasure, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	v.Require(partners.SlugPattern.MatchString(in.Partner), "/partner", "required", "Name the partner by its slug.")
	v.Require((in.PolicyID == "") != (in.Email == ""), "/policy_id", "value", "Name a policy, or the policyholder's e-mail address.")
	v.Require(audit.IsStorableText(in.Email), "/email", "format", "Use an e-mail address.")
	audit.RequireNote(&v, &in.Reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var e *erasureRun
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		e = &erasureRun{Tx: tx, partner: in.Partner}
		if err := e.findPolicies(ctx, in); err != nil {
			return err
		}
		// The audit line does not identify the person, because it would be the only
		// remaining personal data.
		tx.Describe(in.Partner, fmt.Sprintf("%d policies, %d quotes", len(e.policies), len(e.quotes)), &in.Reason)
		if len(e.files) > 0 {
			tx.EnqueueJob(store.DeleteFiles{Keys: e.files})
		}
		return cmp.Or(e.redactEvents(ctx), e.redactQuotes(ctx), e.redactRows(ctx))
	})
	if err != nil {
		return nil, err
	}
	if err := s.DeleteFiles(context.WithoutCancel(ctx), e.files); err != nil {
		return &e.Erasure, fmt.Errorf("documents are left, which the workers try to delete again: %w", err)
	}
	return &e.Erasure, nil
}

// DeleteFiles deletes documents without records. A missing file is no error.
func (s *Service) DeleteFiles(ctx context.Context, keys []string) error {
	var left []error
	for _, key := range keys {
		left = append(left, s.Files.Delete(ctx, key))
	}
	return errors.Join(left...)
}

// findPolicies locks the quotes and policies and finds the records that belong to them. The
// quotes come first: a bind locks its quote, and its policy is found when it has ended.
func (e *erasureRun) findPolicies(ctx context.Context, in ErasureRequest) error {
	quote, policy, key := "lower(context->'policyholder'->>'email') = lower(?)", "lower(p.policyholder->>'email') = lower(?)", any(in.Email)
	if in.PolicyID != "" {
		id, err := store.ResourcePolicy.ParseID(in.PolicyID)
		if err != nil {
			return err
		}
		quote, policy, key = "id = (select quote_id from policies where id = ?)", "p.id = ?", id
	}
	if err := e.NewRaw("select id from quotes where partner = ? and "+quote+" order by id for no key update", e.partner, key).Scan(ctx, &e.quotes); err != nil {
		return fmt.Errorf("lock quotes: %w", err)
	}
	var rows []underwriting.PolicyRow
	err := e.NewSelect().Model(&rows).Column("id", "quote_id", "status").Where("p.partner = ?", e.partner).Where(policy, key).OrderExpr("p.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return fmt.Errorf("lock policies: %w", err)
	}
	for _, row := range rows {
		if row.Status == underwriting.PolicyActive {
			return apperr.Fail(apperr.CodeStateConflict, "The policy %s is in force; its holder can be erased when it has ended.", store.ResourcePolicy.FormatID(row.ID))
		}
		e.policies = append(e.policies, row.ID)
		if !slices.Contains(e.quotes, row.QuoteID) {
			e.quotes = append(e.quotes, row.QuoteID)
		}
	}
	if len(e.policies)+len(e.quotes) == 0 {
		return apperr.Fail(apperr.CodeNotFound, "This partner has no policy and no quote with this policyholder.")
	}
	return e.findClaims(ctx)
}

func (e *erasureRun) findClaims(ctx context.Context) error {
	of := func(into *[]uuid.UUID, query string, args ...any) error {
		return e.NewRaw(query, args...).Scan(ctx, into)
	}
	var open []uuid.UUID
	err := cmp.Or(
		of(&open, "select id from claims where partner = ? and policy_id in (?) and (status in ('opened', 'deferred', 'approved'))", e.partner, sqlList(e.policies)),
		of(&e.claims, "select id from claims where partner = ? and policy_id in (?)", e.partner, sqlList(e.policies)),
	)
	if err == nil {
		err = cmp.Or(
			of(&e.attachments, "select id from attachments where partner = ? and claim_id in (?)", e.partner, sqlList(e.claims)),
			of(&e.messages, "select id from messages where partner = ? and claim_id in (?)", e.partner, sqlList(e.claims)),
			of(&e.methods, "select id from payout_methods where partner = ? and policy_id in (?)", e.partner, sqlList(e.policies)),
			e.NewRaw("select storage_key from attachments where partner = ? and claim_id in (?) and storage_key <> ''", e.partner, sqlList(e.claims)).Scan(ctx, &e.files),
		)
	}
	if err != nil {
		return fmt.Errorf("find what belongs to the policies: %w", err)
	}
	if len(open) > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "The claim %s is not closed; its policyholder can be erased when all is paid.", store.ResourceClaim.FormatID(open[0]))
	}
	return nil
}

// sqlList returns a list that is never empty, because SQL does not allow an empty one.
func sqlList(ids []uuid.UUID) any { return bun.List(append([]uuid.UUID{uuid.Nil}, ids...)) }

// personalMembers are the members of public records that hold personal data, and the
// values that replace them. A null member stays null.
var personalMembers = map[string]map[string]string{
	store.ResourceQuote.Name:        {"/context/policyholder": "null", "/metadata": "{}"},
	store.ResourcePolicy.Name:       {"/policyholder": "null", "/metadata": "{}"},
	store.ResourceClaim.Name:        {"/description": "null", "/metadata": "{}"},
	store.ResourceAttachment.Name:   {"/file_name": `"` + erasedText + `"`, "/description": "null", "/purpose": "null"},
	store.ResourceMessage.Name:      {"/body": `"` + erasedText + `"`},
	store.ResourcePayoutMethod.Name: {"/beneficiary/name": `"` + erasedText + `"`, "/display/last4": `""`, "/metadata": "{}"},
}

func (e *erasureRun) redactRows(ctx context.Context) error {
	e.Erasure = Erasure{len(e.quotes), len(e.policies), len(e.claims), len(e.attachments), len(e.messages), len(e.methods), e.Events}
	var ids []string
	for kind, of := range map[store.ResourceType][]uuid.UUID{
		store.ResourceQuote: e.quotes, store.ResourcePolicy: e.policies, store.ResourceClaim: e.claims, store.ResourceAttachment: e.attachments, store.ResourceMessage: e.messages, store.ResourcePayoutMethod: e.methods,
	} {
		for _, id := range of {
			ids = append(ids, kind.FormatID(id))
		}
	}
	for _, statement := range []struct {
		text string
		of   any
	}{
		{"update policies set policyholder = null, metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", sqlList(e.policies)},
		{"update claims set description = null, metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", sqlList(e.claims)},
		{"update attachments set file_name = '" + erasedText + "', description = null, purpose = null, storage_key = '' where partner = ? and id in (?)", sqlList(e.attachments)},
		{"update messages set body = '" + erasedText + "' where partner = ? and id in (?)", sqlList(e.messages)},
		{"update payout_methods set beneficiary_name = '" + erasedText + "', last4 = '', sealed = '', metadata = case when metadata is not null then '{}'::json end where partner = ? and id in (?)", sqlList(e.methods)},
		{`update timeline_entries set summary = regexp_replace(regexp_replace(summary, 'ending in \S+', 'that was erased'), '^The document .* was added', 'A document was added'),
			data = case when data->>'file_name' is not null then (data::jsonb - 'file_name')::json else data end
			where partner = ? and claim_id in (?) and (kind like 'payout_method.%' or kind = 'claim.attachment_added')`, sqlList(e.claims)},
		{"update rail_report_lines set account = '' where payout_id in (select po.id from payouts as po where po.partner = ? and po.claim_id in (?)) and account <> ''", sqlList(e.claims)},
		// Responses to operators are stored under their clients.
		{"delete from idempotency_keys where (owner = 'partner/' || ? or owner not like 'partner/%') and resource_id in (?)", bun.List(ids)},
	} {
		if _, err := e.NewRaw(statement.text, e.partner, statement.of).Exec(ctx); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
	}
	return nil
}

func (e *erasureRun) redactQuotes(ctx context.Context) error {
	var rows []struct {
		ID      uuid.UUID `bun:"type:uuid"`
		Context string
		Ignored []string `bun:",array"`
	}
	if err := e.NewRaw("select id, context::text as context, ignored_context as ignored from quotes where partner = ? and id in (?) for no key update", e.partner, sqlList(e.quotes)).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("read quotes: %w", err)
	}
	for _, row := range rows {
		redacted, err := redactJSON([]byte(`{"context":`+row.Context+`}`), "", newRedactionRule(store.ResourceQuote.Name, row.Ignored))
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
