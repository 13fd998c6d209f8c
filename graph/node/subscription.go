package node

import (
	"context"

	"parapet/model/events"
	"parapet/model/wire"
)

// FollowEvents streams the feed of a partner.
func (r *Reader) FollowEvents(ctx context.Context, filter EventFilter) (<-chan *Event, error) {
	tail, err := r.Service.Events.Follow(ctx, r.Actor, filter.toModel())
	return streamNodes(ctx, r, tail, err, r.newEvents)
}

// FollowTimeline streams the entries of a claim's timeline.
func (r *Reader) FollowTimeline(ctx context.Context, claim string, after *int64) (<-chan *wire.TimelineEntry, error) {
	tail, err := r.Service.Claims.FollowTimeline(ctx, r.Actor, claim, orEmpty(after))
	return streamNodes(ctx, r, tail, err, asNodes[wire.TimelineEntry])
}

// streamNodes sends nodes to a subscription. It prefetches at most one read. A read error
// ends the subscription with its reason.
func streamNodes[R, N any](ctx context.Context, r *Reader, tail *events.Cursor[R], err error, together func([]*R) []*N) (<-chan *N, error) {
	if err != nil {
		return nil, err
	}
	nodes := make(chan *N)
	go func() {
		defer close(nodes)
		for {
			records, err := tail.Next(ctx)
			if err != nil {
				r.End(err)
				return
			}
			for _, node := range together(pointersTo(records)) {
				select {
				case nodes <- node:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return nodes, nil
}
