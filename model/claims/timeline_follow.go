package claims

import (
	"context"
	"fmt"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// FollowTimeline returns a cursor on a claim's timeline after the entry with the given
// sequence. Errors: not_found, parameter_invalid.
func (s *Service) FollowTimeline(ctx context.Context, caller actor.Actor, claim string, after int64) (*events.Cursor[wire.TimelineEntry], error) {
	row := new(ClaimRow)
	if err := s.LoadRecord(ctx, caller, actor.ScopeClaimsRead, store.ResourceClaim, claim, row); err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, events.InvalidSequence("entry")
	}
	read := func(ctx context.Context, _ int64) ([]wire.TimelineEntry, error) {
		w := s.NewWhere(new(timelineRow))
		w.AddTerm("!.claim_id = ? and !.partner = ? and !.sequence > ?", row.ID, row.Partner, after)
		var rows []timelineRow
		err := events.LimitRead(ctx, s.Store, func() error {
			return s.QueryPreparedRows(ctx, s.Pool, &rows, fmt.Sprintf("%s%s order by %s.sequence limit %d", s.SelectStatement(new(timelineRow)), w, w.Alias, events.FollowBatchSize), w.Args...)
		})
		if len(rows) > 0 {
			after = rows[len(rows)-1].Sequence
		}
		return events.ToRecords(rows, (*timelineRow).toRecord), err
	}
	allowed := func(ctx context.Context) error { return s.Authorize(ctx, caller, actor.ScopeClaimsRead) }
	return &events.Cursor[wire.TimelineEntry]{Store: s.Store, Partner: row.Partner, CheckAllowed: allowed, ReadNext: read}, nil
}
