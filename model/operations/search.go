package operations

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// The limits of a search: the shortest prefix of an id and the longest text, in bytes, and
// the results of each kind of record.
const (
	minSearchPrefix  = 12
	maxSearchText    = 255
	maxSearchResults = 20
)

// MaxSearchResults bounds the results of a search.
const MaxSearchResults = 100

// SearchMatch is how a record matches a search.
type SearchMatch = string

// These are the ways to match: the whole id or its beginning, or exactly a reference.
const (
	MatchID               SearchMatch = "id"
	MatchPartnerReference SearchMatch = "partner_reference"
	MatchRailReference    SearchMatch = "rail_reference"
	MatchSourceReference  SearchMatch = "source_reference"
)

// SearchResult is a record that a search found.
type SearchResult struct {
	ID      string
	Object  string  // the record's type, as in the API
	Partner *string // nil for occurrences
	Match   SearchMatch
}

// searchable is a kind of record that a search finds.
type searchable struct {
	resource   store.ResourceType
	table      string
	scope      actor.Scope
	references string // table with the partner's references; empty: there are none
	live       string // condition of the records that exist
}

var searchables = []searchable{
	{store.ResourcePolicy, "policies", actor.ScopePoliciesRead, "policy_keys", ""},
	{store.ResourceClaim, "claims", actor.ScopeClaimsRead, "claims", ""},
	{store.ResourcePayout, "payouts", actor.ScopeClaimsRead, "", ""},
	{store.ResourceQuote, "quotes", actor.ScopeQuotesRead, "quotes", ""},
	{store.ResourcePayoutMethod, "payout_methods", actor.ScopeClaimsRead, "payout_methods", ""},
	{store.ResourceEvent, "events", actor.ScopeEventsRead, "", ""},
	{store.ResourceEndpoint, "webhook_endpoints", actor.ScopeWebhooksRead, "webhook_endpoints", " and deleted_at is null"},
	{store.ResourceDelivery, "deliveries", actor.ScopeWebhooksRead, "", ""},
}

// Search returns the records that a text names: by id or its first 12 characters or more,
// or exactly by the partner's, the rail's or the source's reference. Partners find their
// own records only. An operator's search is recorded in the audit log; its results are in
// order of partner. Errors: parameter_invalid.
func (s *Service) Search(ctx context.Context, caller actor.Actor, text string) ([]SearchResult, error) {
	if err := s.Authorize(ctx, caller, searchScope(caller)); err != nil {
		return nil, err
	}
	if text = strings.TrimSpace(text); text == "" || len(text) > maxSearchText || !audit.IsStorableText(text) {
		return nil, apperr.InvalidParameter("text", fmt.Sprintf("Use 1 to %d bytes: an id, its first %d characters or more, or a reference.", maxSearchText, minSearchPrefix))
	}
	if caller.Kind == actor.KindOperator {
		if err := audit.RecordAction(ctx, s.Store, caller, text); err != nil {
			return nil, err
		}
	}
	parts, args := searchParts(caller, text)
	if len(parts) == 0 {
		return []SearchResult{}, nil
	}
	var rows []struct {
		ID      uuid.UUID
		Partner *string
		Kind    int
		Match   string
	}
	query := fmt.Sprintf("select * from (%s) as found order by partner nulls first, kind, id desc limit %d", strings.Join(parts, " union all "), MaxSearchResults)
	if err := s.DB.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("search: %w", err))
	}
	results := make([]SearchResult, len(rows))
	for i, row := range rows {
		resource := store.ResourceOccurrence
		if row.Kind >= 0 {
			resource = searchables[row.Kind].resource
		}
		results[i] = SearchResult{resource.FormatID(row.ID), resource.Name, row.Partner, row.Match}
	}
	return results, nil
}

// searchScope returns the scope that a search needs: the operator's, or any that a partner
// has, because each kind of record has its own.
func searchScope(caller actor.Actor) actor.Scope {
	switch {
	case caller.Kind != actor.KindPartner:
		return actor.ScopeOperator
	case len(caller.Scopes) > 0:
		return caller.Scopes[0]
	}
	return actor.ScopePoliciesRead
}

// searchParts returns a query for each kind of record and way to match that the caller may
// see; every one has an index.
func searchParts(caller actor.Actor, text string) (parts []string, args []any) {
	tenant, partner := "true", any(nil)
	if caller.Kind == actor.KindPartner {
		tenant, partner = "partner = ?", caller.Partner
	}
	add := func(kind int, table string, match SearchMatch, condition string, values ...any) {
		part := fmt.Sprintf("(select id, partner, %d as kind, '%s' as match from %s where %s and %s%s order by id desc limit %d)", kind, match, table, condition, tenant, searchables[kind].live, maxSearchResults)
		parts, args = append(parts, part), append(args, values...)
		if partner != nil {
			args = append(args, partner)
		}
	}
	for kind, of := range searchables {
		if !caller.IsAllowed(of.scope) && (of.table != "payouts" || !caller.IsAllowed(actor.ScopePayoutsRead)) {
			continue
		}
		if low, high, ok := idRange(of.resource, text); ok {
			add(kind, of.table, MatchID, "id between ? and ?", low, high)
		}
		if of.references != "" { // unique per partner, so the index by partner finds it
			add(kind, of.references, MatchPartnerReference, "partner = any(array(select slug from partners)) and partner_reference = ?", text)
		}
		if of.table == "payouts" {
			add(kind, of.table, MatchRailReference, "provider_reference = ?", text)
		}
	}
	if caller.IsAllowed(actor.ScopeClaimsRead) {
		visible := "true"
		var scopes []any
		if partner != nil {
			visible, scopes = "scope in ('', ?)", []any{partner}
		}
		occurrence := func(match, condition string, values ...any) {
			parts = append(parts, fmt.Sprintf("(select id, null::text as partner, -1 as kind, '%s' as match from occurrences where %s and %s order by id desc limit %d)", match, condition, visible, maxSearchResults))
			args = append(append(args, values...), scopes...)
		}
		if low, high, ok := idRange(store.ResourceOccurrence, text); ok {
			occurrence(MatchID, "id between ? and ?", low, high)
		}
		occurrence(MatchSourceReference, "id in (select id from occurrences where source_event_id = ? union all select occurrence_id from occurrence_aliases where alias = ?)", text, text)
	}
	return parts, args
}

// idRange returns the lowest and the highest id that begins with a text; false when the
// text is too short, or begins no id of the type.
func idRange(resource store.ResourceType, text string) (low, high uuid.UUID, ok bool) {
	missing := len(resource.FormatID(uuid.Nil)) - len(text)
	if missing < 0 || len(text) < minSearchPrefix {
		return low, high, false
	}
	low, err := resource.ParseID(text + strings.Repeat("0", missing))
	if err != nil {
		return low, high, false
	}
	high, err = resource.ParseID(text + strings.Repeat("z", missing))
	return low, high, err == nil
}
