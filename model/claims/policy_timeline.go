package claims

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// policyTimelineRow is an entry of a claim's timeline, or an event of the policy
// itself. An event has no claim; its sequence is the policy's version and its data the
// event's data.
type policyTimelineRow struct {
	timelineRow `bun:",extend"`

	PolicyID uuid.UUID `bun:"type:uuid"`
}

var policyTimelines = &store.ChildCollection[policyTimelineRow, wire.TimelineEntry]{
	Collection: &store.Collection[policyTimelineRow, wire.TimelineEntry]{
		Resource: store.ResourceTimelineEntry, Plural: "timeline entries", RequiredScope: store.FixedScope(actor.ScopePoliciesRead), ToRecord: (*policyTimelineRow).toRecord,
	},
	CursorName: "policy_timeline", Parent: store.ResourcePolicy, ParentTable: "policies", Order: store.SortOldestFirst,
	CursorKey: func(r *policyTimelineRow) string { return r.At.UTC().Format(time.RFC3339Nano) + "/" + r.ID.String() },
	ParentID:  func(r *policyTimelineRow) uuid.UUID { return r.PolicyID },
	Union: &store.UnionStatements{
		PageStatement: newPolicyTimelineQuery,
		CountExpression: `((select count(*) from events e where e.subject_id = w.id and e.partner = w.partner)
			+ (select coalesce(sum(c.timeline_sequence), 0) from claims c where c.policy_id = w.id and c.partner = w.partner))::bigint`,
	},
}

// GetPolicyTimeline lists the history of a policy, oldest first: its own changes and
// the timelines of its claims, ordered by time and, within one transaction, cause
// before effect. Errors: not_found, cursor_invalid.
func (s *Service) GetPolicyTimeline(ctx context.Context, actor actor.Actor, policy string, in store.PageRequest) (*store.Page[wire.TimelineEntry], error) {
	return policyTimelines.GetPage(ctx, s.Store, actor, policy, in)
}

// TimelinesByPolicy lists the histories of several policies.
func (s *Service) TimelinesByPolicy(ctx context.Context, actor actor.Actor, policies []string, in store.PageRequest) (map[string]*store.Page[wire.TimelineEntry], error) {
	return policyTimelines.GetPages(ctx, s.Store, actor, policies, in)
}

// policyTimelineQuery reads one page. It reads claims whose timeline continues after
// the cursor. Of the claims that begin after it, it reads as many as the page has
// entries: that is enough, because each has an entry at its creation. So the cost of a
// page does not depend on its depth.
const policyTimelineQuery = `select r.* from policies as w cross join lateral (
	select w.id as policy_id, found.* from (
		(select e.id, e.partner, '00000000-0000-0000-0000-000000000000'::uuid as claim_id, e.subject_version as sequence, e.type as kind, e.occurred_at as at,
				case when e.type = 'policy.activated' then 'partner' when e.type <> 'policy.cancelled' then 'system'
					when exists (select from operator_actions a where a.policy_id = w.id and a.partner = w.partner and a.operation = 'cancel_policy') then 'operator'
					else 'partner' end as actor_kind,
				w.partner as actor_name, '' as summary, e.data, e.id as event_id
			from events e where e.subject_id = w.id and e.partner = w.partner and (e.occurred_at, e.id) {beyond} ({at}, {id})
			order by e.occurred_at {order}, e.id {order} limit {limit})
		union all
		select entry.* from (
			(select c.id, c.partner from claims c where c.policy_id = w.id and c.partner = w.partner and c.created_at <= {at} and coalesce(c.timeline_updated_at, c.created_at) >= {at})
			union all
			(select c.id, c.partner from claims c where c.policy_id = w.id and c.partner = w.partner and {from}
				order by {begins} {order}, c.id {order} limit {limit})
		) as part cross join lateral (
			select tl.id, tl.partner, tl.claim_id, tl.sequence, tl.kind, tl.at, tl.actor_kind, tl.actor_name, tl.summary, convert_to(tl.data::text, 'UTF8') as data, tl.event_id
			from timeline_entries tl where tl.claim_id = part.id and tl.partner = part.partner and (tl.at, tl.id) {beyond} ({at}, {id})
			order by tl.sequence {order} limit {limit}) as entry
	) as found order by found.at {order}, found.id {order} limit {limit}
) as r{where} order by w.id, r.at {order}, r.id {order}`

// newPolicyTimelineQuery builds policyTimelineQuery for a page.
func newPolicyTimelineQuery(w *store.WhereClause, p store.PageSpec, along store.SortOrder) (string, error) {
	at, id := "-infinity", uuid.Nil.String()
	// Of the claims that begin after the cursor, the oldest; from the end, those with
	// the latest timeline entry.
	from, begins := "c.created_at > {at}", "c.created_at"
	if p.Last {
		at, id = "infinity", uuid.Max.String()
		from, begins = "c.created_at > '-infinity'", "coalesce(c.timeline_updated_at, c.created_at)"
	}
	if p.After != "" {
		var found bool
		if at, id, found = strings.Cut(p.After, "/"); !found {
			return "", fmt.Errorf("cursor of a policy's timeline: %q", p.After)
		}
	}
	text := strings.ReplaceAll(policyTimelineQuery, "{from}", from)
	return strings.NewReplacer(
		"{beyond}", along.Comparison, "{order}", along.Keyword, "{begins}", begins, "{where}", w.String(),
		"{at}", w.BindArg(at)+"::timestamptz", "{id}", w.BindArg(id)+"::uuid", "{limit}", w.BindArg(p.FetchLimit())+"::bigint",
	).Replace(text), nil
}

func (r *policyTimelineRow) toRecord() wire.TimelineEntry {
	entry := r.timelineRow.toRecord()
	if r.optionalClaimID() == nil {
		if r.ActorKind != actor.KindPartner {
			entry.Actor.Name = actor.System().Name
		}
		entry.Summary, entry.Data = describePolicyChange(r.Kind, r.Data)
	}
	return entry
}

// describePolicyChange returns the timeline summary of a policy's event and its
// machine-readable facts, from the event's data as they are stored.
func describePolicyChange(kind event.Type, stored []byte) (summary string, facts jsontext.Value) {
	var was struct {
		Object struct {
			Status         string      `json:"status"`
			Limit          money.Money `json:"limit"`
			LimitRemaining money.Money `json:"limit_remaining"`
			EffectiveAt    time.Time   `json:"effective_at"`
			ExpiresAt      time.Time   `json:"expires_at"`
			CancelledAt    *time.Time  `json:"cancelled_at"`
		} `json:"object"`
	}
	data, err := compress.Decompress(stored)
	if err != nil || json.Unmarshal(data, &was) != nil { // the data of an event is a record written by this program
		return "The policy changed.", jsontext.Value("{}")
	}
	p := was.Object
	facts, err = wire.Encode(map[string]any{"status": p.Status, "limit_remaining": p.LimitRemaining})
	if err != nil {
		facts = jsontext.Value("{}")
	}
	switch kind { //nolint:exhaustive // the other events of a policy change what remains
	case event.PolicyActivated:
		return fmt.Sprintf("The policy was bound: up to %s from %s to %s.", p.Limit, p.EffectiveAt.Format(time.RFC3339), p.ExpiresAt.Format(time.RFC3339)), facts
	case event.PolicyExhausted:
		return fmt.Sprintf("The limit of %s is used up.", p.Limit), facts
	case event.PolicyExpired:
		return fmt.Sprintf("Cover ended at %s.", p.ExpiresAt.Format(time.RFC3339)), facts
	case event.PolicyCancelled:
		return "The policy was cancelled.", facts
	case event.PolicyArchived:
		return "The policy was archived: it accepts no more claims.", facts
	default:
		return fmt.Sprintf("%s of the limit of %s remains.", p.LimitRemaining, p.Limit), facts
	}
}
