package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// keepHistory is how long it can be read what was sent.
const keepHistory = 30 * 24 * time.Hour

// ListDeliveries is what was sent to an endpoint in the last 30 days, newest first;
// status narrows it. Errors: not_found, parameter_invalid, cursor_invalid.
func (s *Service) ListDeliveries(ctx context.Context, actor Actor, endpoint, status string, in PageRequest) (*Page[wire.Delivery], error) {
	row := new(endpointRow)
	if err := s.read(ctx, actor, ScopeWebhooksRead, nounEndpoint, endpoint, row); err != nil {
		return nil, err
	}
	f := Filter{Status: status}
	if err := f.known(deliveryStatuses); err != nil {
		return nil, err
	}
	var rows []deliveryRow
	q := s.db.NewSelect().Model(&rows).Where("d.endpoint_id = ?", row.ID).Where("d.partner = ?", row.Partner)
	if status != "" {
		q = q.Where("d.status = ?", status)
	}
	p, err := s.fetch(ctx, actor, q, in, f.name("deliveries/"+endpoint), newestFirst)
	if err != nil {
		return nil, err
	}
	return paged(p, rows, keyOf[deliveryRow], func(r *deliveryRow) wire.Delivery { return *r.public() })
}

// deliveryStatuses are the words that narrow deliveries.
var deliveryStatuses = []string{string(DeliveryPending), string(DeliveryDelivered), string(DeliveryParked)}

var deliveries = &shelf[deliveryRow, wire.Delivery]{
	kind: nounDelivery, plural: "deliveries", scope: always(ScopeWebhooksRead), statuses: deliveryStatuses,
	public: func(r *deliveryRow) wire.Delivery { return *r.public() },
}

// sent are an endpoint's deliveries by their status, and under no status all.
var sent = func() map[string]*branch[deliveryRow, wire.Delivery] {
	all := map[string]*branch[deliveryRow, wire.Delivery]{}
	for _, status := range append(deliveryStatuses, "") {
		on := "!.endpoint_id = w.id and !.partner = w.partner"
		if status != "" {
			on += " and !.status = '" + status + "'"
		}
		all[status] = &branch[deliveryRow, wire.Delivery]{
			shelf: deliveries, name: "deliveries?" + status, trunk: nounEndpoint, from: "webhook_endpoints", on: on,
			along: newestFirst, key: keyOf[deliveryRow], owner: func(r *deliveryRow) uuid.UUID { return r.EndpointID },
		}
	}
	return all
}()

// DeliveriesByID are those of the deliveries that the actor may see, by id.
func (s *Service) DeliveriesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Delivery, error) {
	return deliveries.named(ctx, s, actor, ids)
}

// DeliveriesOf reads what was sent to several endpoints, of one status where one is
// given. Errors: parameter_invalid, cursor_invalid.
func (s *Service) DeliveriesOf(status string) func(ctx context.Context, actor Actor, endpoints []string, in PageRequest) (map[string]*Page[wire.Delivery], error) {
	return func(ctx context.Context, actor Actor, endpoints []string, in PageRequest) (map[string]*Page[wire.Delivery], error) {
		if err := (Filter{Status: status}).known(deliveryStatuses); err != nil {
			return nil, err
		}
		return sent[status].of(ctx, s, actor, endpoints, in)
	}
}

// RetryDelivery sends an event once more, now, and by the whole schedule if that
// fails. Errors: not_found, state_conflict when the endpoint is disabled.
func (s *Service) RetryDelivery(ctx context.Context, actor Actor, id string) (*wire.Delivery, error) {
	if err := s.authorize(ctx, actor, ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	key, err := nounDelivery.parse(id)
	if err != nil {
		return nil, err
	}
	var delivery *wire.Delivery
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row := new(deliveryRow)
		err := u.actor.tenancy(u.NewSelect().Model(row)).Where("d.id = ?", key).Scan(ctx)
		if absent(err) {
			return nounDelivery.notFound()
		}
		if err != nil {
			return fmt.Errorf("read delivery: %w", err)
		}
		// The endpoint's progress is locked before its deliveries, as its drain does.
		if err := u.dueNow(ctx, row.Partner, row.EndpointID); err != nil {
			return err
		}
		if err := u.locked(ctx, row, key, nounDelivery); err != nil {
			return err
		}
		row.Status, row.Tries, row.NextAttemptAt = DeliveryPending, 0, &u.now
		if err := u.save(ctx, row, "status", "tries", "next_attempt_at"); err != nil {
			return err
		}
		delivery = row.public()
		return u.answered(statusAccepted, delivery.ID, delivery)
	})
	return delivery, err
}

// RetryParked sends an endpoint's parked deliveries once more, in the order of
// their events: all of them, or those of the sequences from first to last. Errors:
// not_found, state_conflict when the endpoint is disabled.
func (s *Service) RetryParked(ctx context.Context, actor Actor, endpoint string, first, last *int64) (*wire.Retried, error) {
	if err := s.authorize(ctx, actor, ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	retried := new(wire.Retried)
	err := s.withEndpoint(ctx, actor, endpoint, func(ctx context.Context, u *unit, row *endpointRow) error {
		if err := u.dueNow(ctx, row.Partner, row.ID); err != nil {
			return err
		}
		res, err := u.NewUpdate().Model((*deliveryRow)(nil)).Set("status = ?", DeliveryPending).Set("tries = 0").Set("next_attempt_at = ?", u.now).
			Set("version = version + 1").Set("updated_at = ?", u.now).
			Where("endpoint_id = ?", row.ID).Where("partner = ?", row.Partner).Where("status = ?", DeliveryParked).
			Where("sequence between coalesce(?, 0) and coalesce(?, 9223372036854775807)", first, last).Exec(ctx)
		if err != nil {
			return fmt.Errorf("retry parked deliveries: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		retried.Count = int(n)
		return u.answered(statusAccepted, endpoint, retried)
	})
	return retried, err
}

// TestWebhookEndpoint sends the endpoint the event that told of its being enabled,
// whether it asked for that type or not, so that what arrives can be checked against
// the feed. Errors: not_found, state_conflict when the endpoint is disabled.
func (s *Service) TestWebhookEndpoint(ctx context.Context, actor Actor, id string) (*wire.Delivery, error) {
	if err := s.authorize(ctx, actor, ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	var delivery *wire.Delivery
	err := s.withEndpoint(ctx, actor, id, func(ctx context.Context, u *unit, row *endpointRow) error {
		if err := u.dueNow(ctx, row.Partner, row.ID); err != nil {
			return err
		}
		d := &deliveryRow{header: u.fresh(row.Partner), EndpointID: row.ID, SubjectID: row.ID, Status: DeliveryPending, Attempts: []wire.Attempt{}, NextAttemptAt: &u.now}
		err := u.NewRaw(`select e.id, n.sequence from events e join event_numbers n on n.event_id = e.id and n.partner = e.partner
			where e.subject_id = ? and e.partner = ? and e.type = ? order by n.sequence desc limit 1`, row.ID, row.Partner, EventWebhookEndpointOn).Scan(ctx, &d.EventID, &d.Sequence)
		if absent(err) {
			e := Fail(CodeStateConflict, "The endpoint was enabled a moment ago and its event has no number yet; try again in a second.")
			e.RetryAfter = time.Second
			return e
		}
		if err != nil {
			return fmt.Errorf("find test event: %w", err)
		}
		u.insert(d)
		delivery = d.public()
		return u.answered(statusAccepted, delivery.ID, delivery)
	})
	return delivery, err
}

// dueNow makes an enabled endpoint due and starts a drain if none runs.
func (u *unit) dueNow(ctx context.Context, partner string, endpoint uuid.UUID) error {
	progress := new(progressRow)
	err := u.NewSelect().Model(progress).Where("endpoint_id = ?", endpoint).Where("partner = ?", partner).For("NO KEY UPDATE").Scan(ctx)
	switch {
	case absent(err):
		return nounEndpoint.notFound()
	case err != nil:
		return fmt.Errorf("lock progress: %w", err)
	case !progress.Active:
		e := Fail(CodeStateConflict, "The endpoint is disabled; enable it first.")
		e.ResourceID = nounEndpoint.id(endpoint)
		return e
	}
	progress.DueAt = &u.now
	if progress.Drain == nil {
		u.startDrain(progress)
	}
	_, err = u.NewUpdate().Model(progress).Column("due_at", "drain", "drain_at").WherePK().Exec(ctx)
	return err
}

// forgetDeliveries removes what was sent longer ago than it is kept, and what was
// sent to endpoints that are deleted. What is still to be sent stays.
func (u *unit) forgetDeliveries(ctx context.Context) (int, error) {
	res, err := u.NewRaw(`delete from deliveries where (id, partner) in (
		select d.id, d.partner from deliveries d where d.created_at < ?0 and d.status <> ?1 limit ?2)
		or (id, partner) in (select d.id, d.partner from deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.partner = d.partner
			where e.deleted_at is not null limit ?2)`, u.now.Add(-keepHistory), DeliveryPending, sweepSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget deliveries: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil || n > 0 {
		return int(n), err
	}
	_, err = u.NewRaw(`delete from webhook_endpoints e where deleted_at is not null
		and not exists (select from deliveries d where d.endpoint_id = e.id and d.partner = e.partner)`).Exec(ctx)
	return 0, err
}

func (r *deliveryRow) public() *wire.Delivery {
	return &wire.Delivery{
		Header: r.header.public(nounDelivery), EventID: nounEvent.id(r.EventID), EndpointID: nounEndpoint.id(r.EndpointID),
		Status: string(r.Status), Attempts: r.Attempts, NextAttemptAt: r.NextAttemptAt,
	}
}
