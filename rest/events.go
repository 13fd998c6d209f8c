package rest

import (
	"context"
	"math"
	"time"

	"parapet/model"
	"parapet/model/wire"
)

// eventFilters are the query parameters of the feed.
var eventFilters = []string{"after_sequence", "generation", "types", "subject", "wait", "partner"}

func (d *door) getEvents(ctx context.Context, c *call, page model.PageRequest) (*model.Page[wire.Event], error) {
	filter := c.query.events()
	if err := c.query.refusal(); err != nil {
		return nil, err
	}
	return d.Service.ListEvents(ctx, c.actor, filter, page)
}

func (d *door) getEvent(ctx context.Context, c *call) (*wire.Event, error) {
	return d.Service.GetEvent(ctx, c.actor, c.path("event_id"))
}

// events reads what narrows the feed.
func (q *query) events() model.EventFilter {
	filter := model.EventFilter{
		Partner: q.word("partner"), Subject: q.word("subject"), After: q.whole("after_sequence"), Generation: int(min(q.whole("generation"), math.MaxInt32)),
		Wait: time.Duration(min(q.whole("wait"), 1<<20)) * time.Second,
	}
	for _, kind := range q.words("types") {
		filter.Types = append(filter.Types, model.EventType(kind))
	}
	return filter
}
