package node

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// Event tells what happened to a record.
type Event struct{ *wire.Event }

// IsNode makes it findable.
func (*Event) IsNode() {}

func (r *Reader) newEvents(records []*wire.Event) []*Event {
	return wrapEach(records, func(e *wire.Event) *Event { return &Event{e} })
}

// Event is one event. Errors: not_found.
func (r *Reader) Event(ctx context.Context, id string) (*Event, error) {
	return toNode(r.newEvents)(r.Service.GetEvent(ctx, r.Actor, id))
}

// EventFilter narrows the feed.
type EventFilter struct {
	AfterSequence *int64
	Generation    *int
	Types         []string
	Subject       *string
	Partner       *string
}

func (f *EventFilter) toModel() (narrowed model.EventFilter) {
	if f == nil {
		return narrowed
	}
	narrowed.Subject, narrowed.Partner, narrowed.After = orEmpty(f.Subject), orEmpty(f.Partner), orEmpty(f.AfterSequence)
	narrowed.Generation = orEmpty(f.Generation)
	for _, kind := range f.Types {
		narrowed.Types = append(narrowed.Types, model.EventType(kind))
	}
	return narrowed
}

// Events are the feed of a partner.
func (r *Reader) Events(ctx context.Context, first *int, after *string, filter *EventFilter) (*EventConnection, error) {
	return toConnection(r.newEvents)(r.Service.ListEvents(ctx, r.Actor, filter.toModel(), pageRequest(first, after)))
}

// EventDescription is a row of the catalogue of events.
type EventDescription struct{ model.EventDescription }

// Type is the word of the enum.
func (d *EventDescription) Type() string { return d.Name() }

// EventTypes are the catalogue of events.
func (r *Reader) EventTypes(ctx context.Context) ([]*EventDescription, error) {
	described, err := r.Service.DescribeEvents(ctx, r.Actor)
	all := make([]*EventDescription, len(described))
	for i := range described {
		all[i] = &EventDescription{described[i]}
	}
	return all, err
}

// HistoryProof checks a partner's history.
func (r *Reader) HistoryProof(ctx context.Context, partner *string) (*wire.HistoryProof, error) {
	return r.Service.VerifyChain(ctx, r.Actor, orEmpty(partner))
}
