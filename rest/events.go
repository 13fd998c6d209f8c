package rest

import (
	"context"
	"math"
	"time"

	"parapet/model/events"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// eventFilters are the query parameters of the feed.
var eventFilters = []string{"after_sequence", "generation", "types", "subject", "wait", "partner"}

func (s *server) getEvents(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Event], error) {
	filter := c.query.eventFilter()
	if err := c.query.err(); err != nil {
		return nil, err
	}
	if filter.Wait > 0 {
		release, err := s.Waiters.Acquire(c.actor)
		if err != nil {
			return nil, err
		}
		defer release()
		filter.OnWait = c.setWaiting
	}
	return s.Service.Events.List(ctx, c.actor, filter, page)
}

func (s *server) getEvent(ctx context.Context, c *requestContext) (*wire.Event, error) {
	return s.Service.Events.Get(ctx, c.actor, c.pathParam("event_id"))
}

// eventFilter reads the filters of the feed.
func (q *query) eventFilter() events.Filter {
	filter := events.Filter{
		Partner: q.textParam("partner"), Subject: q.textParam("subject"), After: q.integerParam("after_sequence"), Generation: int(min(q.integerParam("generation"), math.MaxInt32)),
		Wait: time.Duration(min(q.integerParam("wait"), 1<<20)) * time.Second,
	}
	for _, kind := range q.listParam("types") {
		filter.Types = append(filter.Types, event.Type(kind))
	}
	return filter
}
