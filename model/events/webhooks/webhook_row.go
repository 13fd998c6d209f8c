package webhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// EndpointRow is a partner's webhook endpoint.
type EndpointRow struct {
	bun.BaseModel `bun:"table:webhook_endpoints,alias:we"`
	store.RowHeader
	store.PartnerFields

	URL            string   `bun:"url"`
	EventTypes     []string `bun:",array"`
	Ordered        bool
	Status         EndpointStatus
	DisabledReason *string
	Secret         []byte
	FormerSecret   []byte
	FormerUntil    *time.Time
	DeletedAt      *time.Time `bun:",soft_delete"`
}

// progressRow is the delivery progress of an endpoint. Position is the sequence up to
// which every event was tried at least once.
type progressRow struct {
	bun.BaseModel `bun:"table:webhook_progress,alias:wp"`

	EndpointID     uuid.UUID `bun:",pk,type:uuid"`
	Partner        string    `bun:",pk"`
	Active         bool
	Cursor         int64
	DueAt          *time.Time
	LeaseID        *uuid.UUID `bun:"type:uuid"`
	LeaseExpiresAt *time.Time // lease expiry of the delivery run, unless it renews it
	Failures       int64      // failed attempts since the last success
	FailingSince   *time.Time // time of the first of them
	NextProbeAt    *time.Time // earliest time to try another new event; nil: the endpoint is not failing
	BatchLimit     int        // new events sent in one batch; halved and doubled with the endpoint's results
}

// FailingSQL is the condition of endpoints that new events wait for, and of those that were
// disabled because deliveries failed; ! is the endpoint.
var FailingSQL = fmt.Sprintf(`!.deleted_at is null and (!.status = 'disabled' and !.disabled_reason is not null
	or !.id in (select endpoint_id from webhook_progress where active and failures >= %d))`, FailingAfter)

var endpointCollection = &store.Collection[EndpointRow, wire.WebhookEndpoint]{
	Resource: store.ResourceEndpoint, Plural: "webhook_endpoints", RequiredScope: store.FixedScope(actor.ScopeWebhooksRead), Statuses: store.StatusesOf(EndpointTransitions),
	Narrow: func(_ context.Context, _ *store.Store, f store.Filter, w *store.WhereClause) (few bool, err error) {
		if f.Failing {
			w.AddFew("webhook_endpoints", FailingSQL)
		}
		return f.Failing, nil
	},
	ToRecord: func(r *EndpointRow) wire.WebhookEndpoint { return *r.ToRecord() },
}

// GetEndpoint returns one endpoint, without its secret. Errors: not_found.
func (s *Service) GetEndpoint(ctx context.Context, actor actor.Actor, id string) (*wire.WebhookEndpoint, error) {
	return endpointCollection.Get(ctx, s.Store, actor, id)
}

// EndpointsByID returns the endpoints that the actor may see, by id.
func (s *Service) EndpointsByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.WebhookEndpoint, error) {
	return endpointCollection.GetMany(ctx, s.Store, actor, ids)
}

// ListEndpoints lists endpoints, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListEndpoints(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.WebhookEndpoint], error) {
	return endpointCollection.List(ctx, s.Store, actor, f, in)
}

// ToRecord returns the v1 record of an endpoint, without its secret.
func (r *EndpointRow) ToRecord() *wire.WebhookEndpoint {
	return &wire.WebhookEndpoint{
		Header: r.ToHeader(store.ResourceEndpoint), References: r.ToReferences(),
		URL: r.URL, EventTypes: r.EventTypes, Status: string(r.Status), Ordered: r.Ordered, Note: r.DisabledReason,
	}
}

// applyRequest changes a row in memory and returns the changed columns.
func (r *EndpointRow) applyRequest(in EndpointRequest) (columns []string) {
	if in.URL != nil && *in.URL != r.URL {
		r.URL, columns = *in.URL, append(columns, "url")
	}
	if in.EventTypes != nil && !slices.Equal(in.EventTypes, r.EventTypes) {
		r.EventTypes, columns = in.EventTypes, append(columns, "event_types")
	}
	if in.Ordered != nil && *in.Ordered != r.Ordered {
		r.Ordered, columns = *in.Ordered, append(columns, "ordered")
	}
	if (in.PartnerReference != nil || in.ClearReference) && !equalReferences(in.PartnerReference, r.PartnerReference) {
		r.PartnerReference, columns = in.PartnerReference, append(columns, "partner_reference")
	}
	if in.Metadata != nil || in.MergeMetadata != nil {
		if becomes := mergeMetadata(r.Metadata, in); !maps.Equal(becomes, r.Metadata) {
			r.Metadata, columns = becomes, append(columns, "metadata")
		}
	}
	return columns
}

func equalReferences(a, b *string) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// mergeMetadata returns an endpoint's metadata after a change.
func mergeMetadata(was map[string]string, in EndpointRequest) map[string]string {
	if in.Metadata != nil {
		return in.Metadata
	}
	becomes := map[string]string{}
	maps.Copy(becomes, was)
	for key, value := range in.MergeMetadata {
		if delete(becomes, key); value != nil {
			becomes[key] = *value
		}
	}
	return becomes
}

// openSecrets returns the secrets that sign now, the new one first.
func (r *EndpointRow) openSecrets(keys seal.Keys, now time.Time) ([][]byte, error) {
	sealed := [][]byte{r.Secret}
	if r.FormerUntil != nil && now.Before(*r.FormerUntil) {
		sealed = append(sealed, r.FormerSecret)
	}
	for i := range sealed {
		plain, err := keys.OpenBytes(sealed[i], seal.ColumnContext(r.Partner, r.ID, "webhook_endpoints.secret"))
		if err != nil {
			return nil, err
		}
		sealed[i] = plain
	}
	return sealed, nil
}
