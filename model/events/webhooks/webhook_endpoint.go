package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"time"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// MaxWebhookEndpoints bounds a partner's endpoints.
const MaxWebhookEndpoints = 20

// formerSecretValidity is how long the old secret also signs after a rotation.
const formerSecretValidity = 24 * time.Hour

// AllEvents means every event type, including those of later releases.
const AllEvents = "*"

// EndpointRequest creates an endpoint, or changes one; nil members stay
// unchanged.
type EndpointRequest struct {
	URL              *string
	EventTypes       []string // nil: all at creation, unchanged in a change
	Ordered          *bool
	Status           *string
	PartnerReference *string
	ClearReference   bool // a change removes the reference
	Metadata         map[string]string
	MergeMetadata    map[string]*string // a change sets these keys, and removes those with nil
}

func (in *EndpointRequest) validate(v *apperr.Validator, s *Service) {
	v.RequireReferences(in.PartnerReference, in.Metadata)
	if in.URL != nil {
		problem := s.targetProblem(*in.URL)
		v.Require(problem == "", "/url", "value", problem)
	}
	for i, kind := range in.EventTypes {
		v.Require(kind == AllEvents || slices.Contains(event.Types(), event.Type(kind)), fmt.Sprintf("/event_types/%d", i), "enum", "Use an event type of the catalogue, or * for all.")
	}
	v.Require(in.EventTypes == nil || len(in.EventTypes) > 0, "/event_types", "length", "Name at least one event type.")
	v.Require(len(in.EventTypes) <= len(event.Types()), "/event_types", "length", "Name each event type once.")
	v.Require(in.Status == nil || *in.Status == string(EndpointEnabled) || *in.Status == string(EndpointDisabled), "/status", "enum", "Use enabled or disabled.")
}

// targetProblem returns what is wrong with an address; empty if nothing is. The
// resolved IP address is checked at connection time.
func (s *Service) targetProblem(raw string) string {
	parsed, err := url.Parse(raw)
	switch {
	case err != nil || parsed.Host == "" || parsed.Opaque != "" || len(raw) > 2048:
		return "Use an absolute address of at most 2048 characters, such as https://example.com/parapet."
	case parsed.User != nil || parsed.Fragment != "":
		return "Leave out user names, passwords and fragments."
	default:
		return s.config.TargetProblem(parsed)
	}
}

// CreateEndpoint registers an endpoint for events from now on. Only this
// response shows the secret. Errors: validation_failed, reference_taken, state_conflict
// beyond MaxWebhookEndpoints.
func (s *Service) CreateEndpoint(ctx context.Context, caller actor.Actor, in EndpointRequest) (*wire.WebhookEndpoint, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	v.Require(in.URL != nil, "/url", "required", "Give the address that events are sent to.")
	in.validate(v, s)
	if err := v.Err(); err != nil {
		return nil, err
	}
	var endpoint *wire.WebhookEndpoint
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := &EndpointRow{
			RowHeader: tx.NewHeader(caller.Partner), PartnerFields: store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata},
			URL: *in.URL, EventTypes: in.EventTypes, Ordered: in.Ordered != nil && *in.Ordered, Status: EndpointEnabled,
		}
		if row.EventTypes == nil {
			row.EventTypes = []string{AllEvents}
		}
		secret, err := newSecret(tx, row)
		if err != nil {
			return err
		}
		if err := insertEndpoint(ctx, tx, row); err != nil {
			return err
		}
		if _, err := tx.AppendEvent(event.WebhookEndpointOn, &row.RowHeader, store.ResourceEndpoint, row.ToRecord()); err != nil {
			return err
		}
		endpoint = row.ToRecord()
		endpoint.Secret = &secret
		return tx.StoreResponseSealed(store.StatusCreated, endpoint)
	})
	return endpoint, s.addReferenceHolder(ctx, caller, err, in)
}

// addReferenceHolder adds the endpoint that has the reference to the error reference_taken.
func (s *Service) addReferenceHolder(ctx context.Context, caller actor.Actor, err error, in EndpointRequest) error {
	return s.AddReferenceHolder(ctx, caller, err, store.ResourceEndpoint, (*EndpointRow)(nil), in.PartnerReference)
}

// newSecret sets a new sealed secret of an endpoint, and returns it in clear.
func newSecret(tx *store.Tx, row *EndpointRow) (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	sealed, err := tx.Store.Keys.SealBytes(secret, seal.ColumnContext(row.Partner, row.ID, "webhook_endpoints.secret"))
	if err != nil {
		return "", fmt.Errorf("seal secret: %w", err)
	}
	row.Secret = sealed
	return "whsec_" + base64.StdEncoding.EncodeToString(secret), nil
}

// insertEndpoint sets the cursor to the last numbered event. The first event sent is the
// endpoint's own, or an earlier one that is numbered after this transaction.
func insertEndpoint(ctx context.Context, tx *store.Tx, row *EndpointRow) error {
	// Locking the partner's row makes the count safe: two concurrent creations are both
	// counted.
	if _, err := tx.NewRaw("select from partners where slug = ? for no key update", row.Partner).Exec(ctx); err != nil {
		return fmt.Errorf("lock partner: %w", err)
	}
	have, err := tx.NewSelect().Model((*EndpointRow)(nil)).Where("partner = ?", row.Partner).Count(ctx)
	if err != nil {
		return fmt.Errorf("count endpoints: %w", err)
	}
	if have >= MaxWebhookEndpoints {
		return apperr.Fail(apperr.CodeStateConflict, "You have %d webhook endpoints, the most that are allowed; delete one first.", have)
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return fmt.Errorf("insert webhook endpoint: %w", err)
	}
	_, err = tx.NewRaw(`insert into webhook_progress (endpoint_id, partner, active, cursor, batch_limit)
		select ?0, ?1, true, coalesce(`+events.LastSequenceSQL("sequence", "?1")+`, 0), ?2`,
		row.ID, row.Partner, maxBatchEvents).Exec(ctx)
	return err
}

// ChangeEndpoint changes the given members. An enabled endpoint continues where
// sending stopped. Errors: not_found, validation_failed, reference_taken.
func (s *Service) ChangeEndpoint(ctx context.Context, caller actor.Actor, id string, in EndpointRequest) (*wire.WebhookEndpoint, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.validate(v, s)
	if err := v.Err(); err != nil {
		return nil, err
	}
	endpoint, err := s.changeEndpoint(ctx, caller, id, func(ctx context.Context, tx *store.Tx, row *EndpointRow) (*wire.WebhookEndpoint, error) {
		former := row.URL
		columns := row.applyRequest(in)
		whole := apperr.NewValidator(ctx)
		whole.RequireReferences(row.PartnerReference, row.Metadata)
		if err := whole.Err(); err != nil {
			return nil, err
		}
		if in.URL != nil {
			if err := resetEndpointProgress(ctx, tx, row, former); err != nil {
				return nil, err
			}
		}
		status := row.Status
		if in.Status != nil {
			status = EndpointStatus(*in.Status)
		}
		if status != row.Status {
			err := setEndpointStatus(ctx, tx, row, status, nil, columns...)
			return row.ToRecord(), err
		}
		if len(columns) == 0 {
			return row.ToRecord(), nil
		}
		err := tx.SaveColumns(ctx, row, columns...)
		return row.ToRecord(), err
	})
	return endpoint, s.addReferenceHolder(ctx, caller, err, in)
}

// resetEndpointProgress clears failures and probe of the former address and invalidates
// a running delivery lease.
func resetEndpointProgress(ctx context.Context, tx *store.Tx, row *EndpointRow, former string) error {
	_, err := tx.NewRaw(`update webhook_progress set due_at = ?0, lease_id = case when ?4 then lease_id end,
		failures = 0, failing_since = null, next_probe_at = null, batch_limit = ?1
		where endpoint_id = ?2 and partner = ?3 and active`, tx.Now, maxBatchEvents, row.ID, row.Partner, row.URL == former).Exec(ctx)
	if err != nil {
		return fmt.Errorf("try another address: %w", err)
	}
	return nil
}

// setEndpointStatus enables or disables an endpoint; note is the reason if Parapet does
// it.
func setEndpointStatus(ctx context.Context, tx *store.Tx, row *EndpointRow, to EndpointStatus, note *string, columns ...string) error {
	row.DisabledReason = note
	event, err := store.ChangeStatus(ctx, tx, row, EndpointTransitions, &row.Status, to, append(columns, "disabled_reason")...)
	if err != nil {
		return err
	}
	// Earlier failures no longer count, and a running delivery run ends.
	_, err = tx.NewRaw(`update webhook_progress set active = ?0, due_at = case when ?0 then ?1::timestamptz end, lease_id = null,
		failures = 0, failing_since = null, next_probe_at = null, batch_limit = ?2 where endpoint_id = ?3 and partner = ?4`,
		to == EndpointEnabled, tx.Now, maxBatchEvents, row.ID, row.Partner).Exec(ctx)
	if err != nil {
		return fmt.Errorf("turn endpoint: %w", err)
	}
	_, err = tx.AppendEvent(event, &row.RowHeader, store.ResourceEndpoint, row.ToRecord())
	return err
}

// RotateSecret sets a new secret, which only this response shows; the old one
// also signs for 24 hours. Errors: not_found, state_conflict while a former secret
// signs, because a third one would end the one that receivers still know.
func (s *Service) RotateSecret(ctx context.Context, caller actor.Actor, id string) (*wire.WebhookEndpoint, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return nil, err
	}
	return s.changeEndpoint(ctx, caller, id, func(ctx context.Context, tx *store.Tx, row *EndpointRow) (*wire.WebhookEndpoint, error) {
		if row.FormerUntil != nil && tx.Now.Before(*row.FormerUntil) {
			return nil, apperr.Fail(apperr.CodeStateConflict, "The previous secret signs until %s; rotate again after that, or create another endpoint now and delete this one.",
				row.FormerUntil.UTC().Format(time.RFC3339))
		}
		// Both are sealed for the same place, so the sealed text can be copied.
		row.FormerSecret, row.FormerUntil = row.Secret, new(tx.Now.Add(formerSecretValidity))
		secret, err := newSecret(tx, row)
		if err != nil {
			return nil, err
		}
		if err := tx.SaveColumns(ctx, row, "secret", "former_secret", "former_until"); err != nil {
			return nil, err
		}
		endpoint := row.ToRecord()
		endpoint.Secret = &secret
		return endpoint, nil
	})
}

// DeleteEndpoint deletes an endpoint; its undelivered events are not sent, and
// stay in the feed. Errors: not_found.
func (s *Service) DeleteEndpoint(ctx context.Context, caller actor.Actor, id string) error {
	if err := s.Authorize(ctx, caller, actor.ScopeWebhooksWrite); err != nil {
		return err
	}
	_, err := s.changeEndpoint(ctx, caller, id, func(ctx context.Context, tx *store.Tx, row *EndpointRow) (*wire.WebhookEndpoint, error) {
		if row.Status == EndpointEnabled {
			if err := setEndpointStatus(ctx, tx, row, EndpointDisabled, nil); err != nil {
				return nil, err
			}
		}
		_, err := tx.NewDelete().Model(row).WherePK().Exec(ctx)
		return row.ToRecord(), err
	})
	return err
}

// changeEndpoint locks one endpoint, runs do and stores the response.
func (s *Service) changeEndpoint(ctx context.Context, actor actor.Actor, id string, do func(context.Context, *store.Tx, *EndpointRow) (*wire.WebhookEndpoint, error)) (*wire.WebhookEndpoint, error) {
	var endpoint *wire.WebhookEndpoint
	err := s.withLockedEndpoint(ctx, actor, id, func(ctx context.Context, tx *store.Tx, row *EndpointRow) (err error) {
		if endpoint, err = do(ctx, tx, row); err != nil {
			return err
		}
		return tx.StoreResponseSealed(store.StatusOK, endpoint)
	})
	return endpoint, err
}

// withLockedEndpoint locks one endpoint and runs do.
func (s *Service) withLockedEndpoint(ctx context.Context, actor actor.Actor, id string, do func(context.Context, *store.Tx, *EndpointRow) error) error {
	key, err := store.ResourceEndpoint.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		row := new(EndpointRow)
		if err := tx.LockRow(ctx, row, key, store.ResourceEndpoint); err != nil {
			return err
		}
		return do(ctx, tx, row)
	})
}
