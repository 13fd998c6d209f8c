package node

import (
	"context"

	"parapet/model/events"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// Event is one event of the feed.
type Event struct{ *wire.Event }

// IsNode implements Node.
func (*Event) IsNode() {}

func (r *Reader) newEvents(records []*wire.Event) []*Event {
	return wrapEach(records, func(e *wire.Event) *Event { return &Event{e} })
}

// Event returns an event. Errors: not_found.
func (r *Reader) Event(ctx context.Context, id string) (*Event, error) {
	return toNode(r.newEvents)(r.Service.Events.Get(ctx, r.Actor, id))
}

// EventFilter filters the feed.
type EventFilter struct {
	AfterSequence *int64
	Generation    *int
	Types         []string
	Subject       *string
	Partner       *string
}

func (f *EventFilter) toModel() (narrowed events.Filter) {
	if f == nil {
		return narrowed
	}
	narrowed.Subject, narrowed.Partner, narrowed.After = optional.OrZero(f.Subject), optional.OrZero(f.Partner), optional.OrZero(f.AfterSequence)
	narrowed.Generation = optional.OrZero(f.Generation)
	for _, kind := range f.Types {
		narrowed.Types = append(narrowed.Types, event.Type(kind))
	}
	return narrowed
}

// Events lists the feed of a partner.
func (r *Reader) Events(ctx context.Context, first *int, after *string, filter *EventFilter) (*EventConnection, error) {
	return toConnection(r.newEvents)(r.Service.Events.List(ctx, r.Actor, filter.toModel(), pageRequest(first, after)))
}

// LatestEvents lists the events of all partners, newest first.
func (r *Reader) LatestEvents(ctx context.Context, first *int, after, order *string) (*EventConnection, error) {
	return toConnection(r.newEvents)(r.Service.Events.ListLatest(ctx, r.Actor, orderedPage(first, after, order)))
}

// EventDescription is a row of the event catalogue.
type EventDescription struct{ events.EventDescription }

// Type returns the value of the enum.
func (d *EventDescription) Type() string { return d.Name() }

// EventTypes returns the event catalogue.
func (r *Reader) EventTypes(ctx context.Context) ([]*EventDescription, error) {
	described, err := r.Service.Events.Describe(ctx, r.Actor)
	all := make([]*EventDescription, len(described))
	for i := range described {
		all[i] = &EventDescription{described[i]}
	}
	return all, err
}

// HistoryProof verifies the hash chain of a partner's events.
func (r *Reader) HistoryProof(ctx context.Context, partner *string) (*wire.HistoryProof, error) {
	return r.Service.Events.VerifyChain(ctx, r.Actor, optional.OrZero(partner))
}
