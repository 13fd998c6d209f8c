package node

import (
	"context"

	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// FollowEvents streams the feed of a partner.
func (r *Reader) FollowEvents(ctx context.Context, filter EventFilter) (<-chan *Event, error) {
	tail, err := r.Service.Events.Follow(ctx, r.Actor, filter.toModel())
	return streamNodes(ctx, r, tail, err, r.newEvents)
}

// FollowTimeline streams the entries of a claim's timeline.
func (r *Reader) FollowTimeline(ctx context.Context, claim string, after *int64) (<-chan *wire.TimelineEntry, error) {
	tail, err := r.Service.Claims.FollowTimeline(ctx, r.Actor, claim, optional.OrZero(after))
	return streamNodes(ctx, r, tail, err, asNodes[wire.TimelineEntry])
}

// FollowProgress streams the progress of an occurrence until it is settled.
func (r *Reader) FollowProgress(ctx context.Context, id string) (<-chan *wire.OccurrenceProgress, error) {
	tail, err := r.Service.Progress.Follow(ctx, r.Actor, id)
	return streamNodes(ctx, r, tail, err, asNodes[wire.OccurrenceProgress])
}

// streamNodes sends nodes to a subscription. It prefetches at most one read. A read of
// nothing ends the subscription, and a read error ends it with its reason.
func streamNodes[R, N any, C interface {
	Next(ctx context.Context) ([]R, error)
}](ctx context.Context, r *Reader, tail C, err error, together func([]*R) []*N) (<-chan *N, error) {
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
			if len(records) == 0 {
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
