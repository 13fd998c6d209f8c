package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// deliveryRetention is how long deliveries can be listed.
const deliveryRetention = 30 * 24 * time.Hour

// ListDeliveries returns the deliveries of an endpoint in the last 30 days, newest first;
// status filters them. Errors: not_found, parameter_invalid, cursor_invalid.
func (s *Service) ListDeliveries(ctx context.Context, caller actor.Actor, endpoint, status string, in store.PageRequest) (*store.Page[wire.Delivery], error) {
	row := new(EndpointRow)
	if err := s.LoadRecord(ctx, caller, actor.ScopeWebhooksRead, store.ResourceEndpoint, endpoint, row); err != nil {
		return nil, err
	}
	f := store.Filter{Status: status}
	if err := f.RequireStatus(deliveryStatuses); err != nil {
		return nil, err
	}
	var rows []deliveryRow
	q := s.DB.NewSelect().Model(&rows).Where("d.endpoint_id = ?", row.ID).Where("d.partner = ?", row.Partner)
	if status != "" {
		q = q.Where("d.status = ?", status)
	}
	p, err := s.FetchPage(ctx, caller, q, in, f.CursorName("deliveries/"+endpoint), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, store.RowKey[deliveryRow], func(r *deliveryRow) wire.Delivery { return *r.toRecord() })
}

// deliveryStatuses are the statuses that filter deliveries.
var deliveryStatuses = []string{string(DeliveryPending), string(DeliveryDelivered), string(DeliveryFailed)}

var deliveries = &store.Collection[deliveryRow, wire.Delivery]{
	Resource: store.ResourceDelivery, Plural: "deliveries", RequiredScope: store.FixedScope(actor.ScopeWebhooksRead), Statuses: deliveryStatuses,
	ToRecord: func(r *deliveryRow) wire.Delivery { return *r.toRecord() },
}

// deliveriesByStatus has a collection of an endpoint's deliveries for each status, and
// for all under "".
var deliveriesByStatus = func() map[string]*store.ChildCollection[deliveryRow, wire.Delivery] {
	all := map[string]*store.ChildCollection[deliveryRow, wire.Delivery]{}
	for _, status := range append(deliveryStatuses, "") {
		on := "!.endpoint_id = w.id and !.partner = w.partner"
		if status != "" {
			on += " and !.status = '" + status + "'"
		}
		all[status] = &store.ChildCollection[deliveryRow, wire.Delivery]{
			Collection: deliveries, CursorName: "deliveries?" + status, Parent: store.ResourceEndpoint, ParentTable: "webhook_endpoints", JoinCondition: on,
			Order: store.SortNewestFirst, CursorKey: store.RowKey[deliveryRow], ParentID: func(r *deliveryRow) uuid.UUID { return r.EndpointID },
		}
	}
	return all
}()

// DeliveriesByID returns the deliveries that the actor may see, by id.
func (s *Service) DeliveriesByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Delivery, error) {
	return deliveries.GetMany(ctx, s.Store, actor, ids)
}

// DeliveriesOf returns a reader of the deliveries of several endpoints, filtered by
// status if one is given. Errors: parameter_invalid, cursor_invalid.
func (s *Service) DeliveriesOf(status string) func(ctx context.Context, actor actor.Actor, endpoints []string, in store.PageRequest) (map[string]*store.Page[wire.Delivery], error) {
	return func(ctx context.Context, actor actor.Actor, endpoints []string, in store.PageRequest) (map[string]*store.Page[wire.Delivery], error) {
		if err := (store.Filter{Status: status}).RequireStatus(deliveryStatuses); err != nil {
			return nil, err
		}
		return deliveriesByStatus[status].GetPages(ctx, s.Store, actor, endpoints, in)
	}
}

// RetryDelivery sends an event again, now, and follows the whole schedule again if that
// fails. Errors: not_found, state_conflict when the endpoint is disabled.
func (s *Service) RetryDelivery(ctx context.Context, caller actor.Actor, id string) (*wire.Delivery, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	key, err := store.ResourceDelivery.ParseID(id)
	if err != nil {
		return nil, err
	}
	var delivery *wire.Delivery
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(deliveryRow)
		err := store.RestrictToTenant(tx.Actor, tx.NewSelect().Model(row)).Where("d.id = ?", key).Scan(ctx)
		if store.IsNoRows(err) {
			return store.ResourceDelivery.NotFoundError()
		}
		if err != nil {
			return fmt.Errorf("read delivery: %w", err)
		}
		// Lock the endpoint's progress before its deliveries, as its run does.
		if err := makeEndpointDue(ctx, tx, row.Partner, row.EndpointID); err != nil {
			return err
		}
		if err := tx.LockRow(ctx, row, key, store.ResourceDelivery); err != nil {
			return err
		}
		row.Status, row.AttemptsInRound, row.NextAttemptAt = DeliveryPending, 0, &tx.Now
		if err := tx.SaveColumns(ctx, row, "status", "attempts_in_round", "next_attempt_at"); err != nil {
			return err
		}
		delivery = row.toRecord()
		return tx.StoreResponse(store.StatusAccepted, delivery.ID, delivery)
	})
	return delivery, err
}

// RetryFailed sends an endpoint's failed deliveries again, in the order of their events:
// all of them, or those of the sequences from first to last. Errors: not_found,
// state_conflict when the endpoint is disabled.
func (s *Service) RetryFailed(ctx context.Context, caller actor.Actor, endpoint string, first, last *int64) (*wire.Retried, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	retried := new(wire.Retried)
	err := s.withLockedEndpoint(ctx, caller, endpoint, func(ctx context.Context, tx *store.Tx, row *EndpointRow) error {
		if err := makeEndpointDue(ctx, tx, row.Partner, row.ID); err != nil {
			return err
		}
		res, err := tx.NewUpdate().Model((*deliveryRow)(nil)).Set("status = ?", DeliveryPending).Set("attempts_in_round = 0").Set("next_attempt_at = ?", tx.Now).
			Set("version = version + 1").Set("updated_at = ?", tx.Now).
			Where("endpoint_id = ?", row.ID).Where("partner = ?", row.Partner).Where("status = ?", DeliveryFailed).
			Where("sequence between coalesce(?, 0) and coalesce(?, 9223372036854775807)", first, last).Exec(ctx)
		if err != nil {
			return fmt.Errorf("retry failed deliveries: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		retried.Count = int(n)
		return tx.StoreResponse(store.StatusAccepted, endpoint, retried)
	})
	return retried, err
}

// TestEndpoint sends the endpoint its latest event webhook_endpoint.enabled, even
// without a subscription to that type. The receiver can compare it with the feed. Errors:
// not_found, state_conflict when the endpoint is disabled.
func (s *Service) TestEndpoint(ctx context.Context, caller actor.Actor, id string) (*wire.Delivery, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	var delivery *wire.Delivery
	err := s.withLockedEndpoint(ctx, caller, id, func(ctx context.Context, tx *store.Tx, row *EndpointRow) error {
		if err := makeEndpointDue(ctx, tx, row.Partner, row.ID); err != nil {
			return err
		}
		d := &deliveryRow{RowHeader: tx.NewHeader(row.Partner), EndpointID: row.ID, SubjectID: row.ID, Status: DeliveryPending, Attempts: []wire.Attempt{}, NextAttemptAt: &tx.Now}
		err := tx.NewRaw(`select e.id, n.sequence from events e join event_sequence n on n.event_id = e.id and n.partner = e.partner
			where e.subject_id = ? and e.partner = ? and e.type = ? order by n.sequence desc limit 1`, row.ID, row.Partner, event.WebhookEndpointOn).Scan(ctx, &d.EventID, &d.Sequence)
		if store.IsNoRows(err) {
			e := apperr.Fail(apperr.CodeStateConflict, "The endpoint was enabled a moment ago and its event has no number yet; try again in a second.")
			e.RetryAfter = time.Second
			return e
		}
		if err != nil {
			return fmt.Errorf("find test event: %w", err)
		}
		tx.QueueInsert(d)
		delivery = d.toRecord()
		return tx.StoreResponse(store.StatusAccepted, delivery.ID, delivery)
	})
	return delivery, err
}

// makeEndpointDue makes an enabled endpoint due and starts a run if there is none.
func makeEndpointDue(ctx context.Context, tx *store.Tx, partner string, endpoint uuid.UUID) error {
	progress := new(progressRow)
	err := tx.NewSelect().Model(progress).Where("endpoint_id = ?", endpoint).Where("partner = ?", partner).For("NO KEY UPDATE").Scan(ctx)
	switch {
	case store.IsNoRows(err):
		return store.ResourceEndpoint.NotFoundError()
	case err != nil:
		return fmt.Errorf("lock progress: %w", err)
	case !progress.Active:
		e := apperr.Fail(apperr.CodeStateConflict, "The endpoint is disabled; enable it first.")
		e.ResourceID = store.ResourceEndpoint.FormatID(endpoint)
		return e
	}
	progress.DueAt = &tx.Now
	if progress.LeaseID == nil {
		startRun(tx, progress)
	}
	_, err = tx.NewUpdate().Model(progress).Column("due_at", "lease_id", "lease_expires_at").WherePK().Exec(ctx)
	return err
}

// PurgeDeliveries deletes deliveries older than deliveryRetention and those of deleted
// endpoints. It keeps pending ones.
func PurgeDeliveries(ctx context.Context, tx *store.Tx) (int, error) {
	if err := dbconn.OrderByIndex(ctx, tx); err != nil {
		return 0, err
	}
	// An id has the time of its delivery or, when the business clock was moved forward, an
	// earlier one: no delivery from before the limit has a later id.
	res, err := tx.NewRaw(`delete from deliveries where ctid = any (array(
			(select d.ctid from deliveries d where d.id < lowest_uuid(?0) and d.created_at < ?0 and d.status <> ?1 order by d.id limit ?2)
			union all
			(select d.ctid from webhook_endpoints e cross join lateral (
				select ctid from deliveries d where d.endpoint_id = e.id and d.partner = e.partner order by d.id desc limit ?2) as d
			where e.deleted_at is not null limit ?2)))`,
		tx.Now.Add(-deliveryRetention), DeliveryPending, store.SweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget deliveries: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil || n > 0 {
		return int(n), err
	}
	_, err = tx.NewRaw(`delete from webhook_endpoints e where deleted_at is not null
		and (select d.id from deliveries d where d.endpoint_id = e.id and d.partner = e.partner order by d.id desc limit 1) is null`).Exec(ctx)
	return 0, err
}

func (r *deliveryRow) toRecord() *wire.Delivery {
	return &wire.Delivery{
		Header: r.ToHeader(store.ResourceDelivery), EventID: store.ResourceEvent.FormatID(r.EventID), EndpointID: store.ResourceEndpoint.FormatID(r.EndpointID),
		Status: string(r.Status), Attempts: r.Attempts, NextAttemptAt: r.NextAttemptAt,
	}
}
