package events

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// MaxEventWait is the longest time that a request for the feed may wait for its first
// event.
const MaxEventWait = 30 * time.Second

// Filter filters the feed. Empty fields do not filter.
type Filter struct {
	Partner string // required for operators; partners read their own
	After   int64  // events with a greater sequence
	// Generation is the generation of the event whose sequence is After; 0 means the
	// first. It matters only after a restore.
	Generation int
	Types      []event.Type  // any of these
	Subject    string        // id of the record that the events are about
	Wait       time.Duration // how long to wait for the first event when there is none; at most MaxEventWait
	// OnWait is called when a read with Wait begins to wait (true) and before it reads
	// again (false); nil is allowed. A waiting read does not need the database.
	OnWait func(waiting bool)
}

// SequencedEvent is an event that the relay has numbered.
type SequencedEvent struct {
	store.EventRow `bun:",extend"`

	Sequence   int64
	Hash       []byte
	Generation int

	// These are set for a redacted event.
	RedactedAt *time.Time
	WasHash    []byte
	Signature  []byte
}

// JoinSequence reads events with their sequences; it excludes events that have none yet.
func JoinSequence(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("e.*, n.sequence, n.hash, n.generation, x.redacted_at, x.data_hash as was_hash, x.signature").
		Join("join event_sequence n on n.event_id = e.id and n.partner = e.partner").
		Join("left join event_redactions x on x.event_id = e.id and x.partner = e.partner")
}

// ToRecord returns the v1 record of an event.
func (r *SequencedEvent) ToRecord() wire.Event {
	about := store.FindEventSubject(r.SubjectType)
	event := wire.Event{
		Header: wire.Header{
			ID: store.ResourceEvent.FormatID(r.ID), Object: store.ResourceEvent.Name, Partner: &r.Partner,
			CreatedAt: r.OccurredAt, UpdatedAt: r.OccurredAt, Version: 1,
		},
		Type: string(r.Type), Sequence: r.Sequence, Generation: r.Generation, OccurredAt: r.OccurredAt,
		Subject: wire.Subject{Type: about.Name, ID: about.FormatID(r.SubjectID), Version: r.SubjectVersion},
		Data:    jsontext.Value(r.Data), Hash: hex.EncodeToString(r.Hash),
	}
	if r.RedactedAt != nil {
		event.UpdatedAt = *r.RedactedAt
		event.Redaction = &wire.Redaction{
			RedactedAt: *r.RedactedAt, DataHash: hex.EncodeToString(r.WasHash), Signature: base64.StdEncoding.EncodeToString(r.Signature),
		}
	}
	return event
}

// List returns the feed of one partner, ordered by sequence. With Wait it returns
// as soon as there is an event, or nothing when the time is over. Errors:
// parameter_invalid, cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, f Filter, in store.PageRequest) (*store.Page[wire.Event], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
		return nil, err
	}
	subject, err := f.validate(caller)
	if err != nil {
		return nil, err
	}
	p, err := s.openFeedPage(ctx, caller, &f, in)
	if err != nil {
		return nil, err
	}
	p.Count = s.NewCounter(f.applyFilter(s.DB.NewSelect().Model((*SequencedEvent)(nil)), caller, subject, f.After, store.MaxTotal+1))
	rows, err := s.readPage(ctx, caller, &f, subject, &p)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read feed: %w", err))
	}
	return store.NewPage(p, rows, func(r *SequencedEvent) string { return fmt.Sprint(r.Sequence) }, (*SequencedEvent).ToRecord)
}

// ListLatest returns the numbered events of all partners, newest first. Operators only.
// Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListLatest(ctx context.Context, caller actor.Actor, in store.PageRequest) (*store.Page[wire.Event], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []SequencedEvent
	p, err := s.FetchPage(ctx, caller, JoinSequence(s.DB.NewSelect().Model(&rows)), in, "latest_events", store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, func(r *SequencedEvent) string { return r.ID.String() }, (*SequencedEvent).ToRecord)
}

// readPage reads the rows of a page. With f.Wait it waits until there are some, and shares
// its reads with all who wait at the same position; it moves p.After past the events that
// it excluded. It reads these from the primary, which woke it: a replica may not have
// replayed them yet.
func (s *Service) readPage(ctx context.Context, caller actor.Actor, f *Filter, subject *uuid.UUID, p *store.PageSpec) (rows []SequencedEvent, err error) {
	if f.Wait <= 0 {
		err = s.ScanReplica(ctx, f.applyFilter(s.DB.NewSelect().Model(&rows), caller, subject, p.After, p.FetchLimit()).OrderExpr("n.sequence").Limit(p.FetchLimit()))
		return rows, err
	}
	after, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("position in the feed: %w", err)
	}
	onWait := f.OnWait
	if onWait == nil {
		onWait = func(bool) {}
	}
	defer onWait(false)
	err = store.Local[Notifier](s.Store).WaitUntil(ctx, s.Store, f.Partner, f.Wait, func(head int64) (bool, error) {
		onWait(false)
		defer func() { onWait(len(rows) == 0) }()
		var err error
		if head, err = s.knownHead(ctx, f.Partner, head); err != nil || head <= after {
			return false, err
		}
		if rows, err = s.readShared(ctx, caller, f, subject, after, head, p.FetchLimit()); len(rows) == 0 && err == nil {
			after, p.After = head, strconv.FormatInt(head, 10) // do not scan the excluded events again at each notification
		}
		return len(rows) > 0, err
	})
	return rows, err
}

// readShared reads the events after a sequence, up to head, once for all who wait for the
// same ones. Callers must not change the rows.
func (s *Service) readShared(ctx context.Context, caller actor.Actor, f *Filter, subject *uuid.UUID, after, head, limit int64) ([]SequencedEvent, error) {
	key := fmt.Sprintf("%s %s %d %d %d %q %s", caller.Kind, f.Partner, after, head, limit, f.Types, f.Subject)
	return store.Local[Notifier](s.Store).reads.get(ctx, s.Store, key, func() (rows []SequencedEvent, err error) {
		err = f.applyFilter(s.DB.NewSelect().Model(&rows), caller, subject, after, limit).
			Where("n.sequence <= ?", head).OrderExpr("n.sequence").Limit(limit).Scan(ctx)
		return rows, err
	})
}

// Get returns one numbered event. Errors: not_found.
func (s *Service) Get(ctx context.Context, actor actor.Actor, id string) (*wire.Event, error) {
	return store.OneOrNotFound[wire.Event](store.ResourceEvent, id)(s.ByID(ctx, actor, []string{id}))
}

// ByID returns, by id, the numbered events that the actor may see.
func (s *Service) ByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.Event, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeEventsRead); err != nil {
		return nil, err
	}
	mine := func(q *bun.SelectQuery) *bun.SelectQuery { return store.RestrictToTenant(caller, JoinSequence(q)) }
	return store.GetManyByID(ctx, s.Store, store.ResourceEvent, ids, mine, func(r *SequencedEvent) (string, *wire.Event) {
		return store.ResourceEvent.FormatID(r.ID), new(r.ToRecord())
	})
}

// validate validates the filter, removes repeated types and parses the subject's id; nil
// without one.
func (f *Filter) validate(caller actor.Actor) (subject *uuid.UUID, err error) {
	switch {
	case caller.Kind == actor.KindPartner:
		if f.Partner != "" && f.Partner != caller.Partner {
			return nil, apperr.InvalidParameter("partner", "Leave it out: a partner reads its own feed.")
		}
		f.Partner = caller.Partner
	case f.Partner == "":
		return nil, apperr.InvalidParameter("partner", "Name the partner whose feed to read; each has its own sequence.")
	}
	for _, kind := range f.Types {
		if !slices.Contains(event.Types(), kind) {
			return nil, apperr.InvalidParameter("types", fmt.Sprintf("There is no event type %q; see the catalogue.", kind))
		}
	}
	// A repeated type would be probed twice, and its events would fill the page twice.
	f.Types = slices.Compact(slices.Sorted(slices.Values(f.Types)))
	if f.After < 0 {
		return nil, InvalidSequence("event")
	}
	if f.Generation < 0 {
		return nil, apperr.InvalidParameter("generation", "Use the generation of the last event you have.")
	}
	if f.Wait < 0 || f.Wait > MaxEventWait {
		return nil, apperr.InvalidParameter("wait", fmt.Sprintf("Use 0 to %d seconds.", int(MaxEventWait.Seconds())))
	}
	return f.parseSubject()
}

// parseSubject parses the subject's id; nil without one.
func (f *Filter) parseSubject() (*uuid.UUID, error) {
	if f.Subject == "" {
		return nil, nil //nolint:nilnil // a missing subject is no error
	}
	prefix, _, _ := strings.Cut(f.Subject, "_")
	id, err := store.FindEventSubject(prefix).ParseID(f.Subject)
	if err != nil {
		return nil, apperr.InvalidParameter("subject", "Use the id of a record that events are about, such as clm_ and 26 characters.")
	}
	return &id, nil
}

// applyFilter restricts a query over numbered events to those after a sequence; the
// caller reads no more than limit of them. With types it probes the index once per type
// with that limit, because a scan in the order of the sequence would read all events of
// other types.
func (f *Filter) applyFilter(q *bun.SelectQuery, actor actor.Actor, subject *uuid.UUID, after any, limit int64) *bun.SelectQuery {
	q = store.RestrictToTenant(actor, JoinSequence(q)).Where("n.partner = ?", f.Partner).Where("n.sequence > ?", after)
	switch {
	case subject != nil:
		if q = q.Where("e.subject_id = ?", *subject); len(f.Types) > 0 {
			q = q.Where("e.type in (?)", bun.List(f.Types))
		}
	case len(f.Types) > 0:
		q = q.Where(`n.sequence = any(array(select found.sequence from unnest(array[?]::text[]) as of_type (type)
			cross join lateral (select sequence from event_sequence where partner = ? and type = of_type.type and sequence > ? order by sequence limit ?) as found
			order by found.sequence limit ?))`, bun.List(f.Types), f.Partner, after, limit, limit)
	}
	return q
}
