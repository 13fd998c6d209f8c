package sandbox

import (
	"context"
	"fmt"
	"sync"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Item is something that a partner's client shows before it goes live.
type Item string

// The items of the checklist.
const (
	IdempotencyReplayed Item = "idempotency_replayed"
	ListReadToEnd       Item = "list_read_to_end"
	SignatureVerified   Item = "signature_verified"
	RetryAfterHonoured  Item = "retry_after_honoured"
	FeedReadAgain       Item = "feed_read_again"
)

// checklist has the items in order, with what a client does to show them.
var checklist = []struct {
	item        Item
	description string
}{
	{IdempotencyReplayed, "Send a POST again with its Idempotency-Key: the answer is the first one, with Idempotent-Replayed: true."},
	{ListReadToEnd, "Read a list of several pages with next_cursor until has_more is false."},
	{SignatureVerified, "Your webhook receiver refuses an event with a wrong signature (POST /v1/sandbox/webhook_endpoints/{endpoint_id}/bad_signature) with a status of 400 to 499, and accepts events with a right one."},
	{RetryAfterHonoured, "After an answer with Retry-After, wait for that long before the next request."},
	{FeedReadAgain, "After a delivery to your webhook endpoint failed, read the feed (GET /v1/events)."},
}

// Items lists the items of the checklist.
func Items() []Item {
	items := make([]Item, len(checklist))
	for i, each := range checklist {
		items[i] = each.item
	}
	return items
}

// shownItems remembers what is stored, so that most requests write nothing.
type shownItems struct{ sync.Map }

// Show stores the first evidence that a partner's client shows an item; later ones change
// nothing. FeedReadAgain counts only after a delivery to the partner failed.
func (s *Service) Show(ctx context.Context, caller actor.Actor, item Item, evidence string) error {
	if !s.Development || caller.Kind != actor.KindPartner {
		return nil
	}
	shown := store.Local[shownItems](s.Store)
	if _, known := shown.Load(caller.Partner + "/" + string(item)); known {
		return nil
	}
	done, err := s.DB.NewRaw(`insert into sandbox_checks (partner, item, shown_at, request_id, evidence)
		select ?0, ?1, clock_timestamp(), nullif(?2, ''), ?3 where ?1 <> ?4 or exists (
			select from deliveries d, json_array_elements(d.attempts) a where d.partner = ?0 and coalesce((a->>'status_code')::int, 0) not between 200 and 299)
		on conflict (partner, item) do update set item = excluded.item`, caller.Partner, item, caller.RequestID, evidence, FeedReadAgain).Exec(ctx)
	if err != nil {
		return store.TranslateError(fmt.Errorf("insert evidence: %w", err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	shown.Store(caller.Partner+"/"+string(item), true)
	return nil
}

// GetChecklist returns what the partner's client has shown until now.
func (s *Service) GetChecklist(ctx context.Context, caller actor.Actor) (*wire.SandboxChecklist, error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []wire.SandboxCheck
	err := s.DB.NewRaw(`select item, shown_at, request_id, evidence from sandbox_checks where partner = ?`, caller.Partner).Scan(ctx, &rows)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read checklist: %w", err))
	}
	list := &wire.SandboxChecklist{Shown: len(rows)}
	for _, each := range checklist {
		check := wire.SandboxCheck{Item: string(each.item), Description: each.description}
		for _, row := range rows {
			if row.Item == check.Item {
				check.ShownAt, check.RequestID, check.Evidence = row.ShownAt, row.RequestID, row.Evidence
			}
		}
		list.Items = append(list.Items, check)
	}
	return list, nil
}
