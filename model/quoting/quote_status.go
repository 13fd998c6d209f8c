package quoting

import (
	"github.com/google/uuid"

	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// QuoteStatus is the status of a quote.
type QuoteStatus string

const (
	// QuotePriced quotes can be bound by the partner until they expire.
	QuotePriced QuoteStatus = "priced"
	// QuoteBound quotes became a policy. Final.
	QuoteBound QuoteStatus = "bound"
	// QuoteExpired quotes were not bound in time.
	QuoteExpired QuoteStatus = "expired"
)

// QuoteTransitions are the allowed transitions of a quote.
var QuoteTransitions = []store.Transition[QuoteStatus]{
	{From: QuotePriced, To: QuoteBound, Event: event.QuoteBound},
	{From: QuotePriced, To: QuoteExpired, Event: event.QuoteExpired},
}

// QueueBind marks a locked quote as bound. The update is sent with the next flush, which
// may be the commit. It returns the event of the change.
func (r *QuoteRow) QueueBind(tx *store.Tx, policy uuid.UUID) (event.Type, error) {
	was := r.Version
	occurred, err := store.ChangeStatusInMemory(tx, &r.RowHeader, QuoteTransitions, &r.Status, QuoteBound)
	if err != nil {
		return "", err
	}
	r.PolicyID = &policy
	tx.QueueGuarded(1, "update quotes set policy_id = $1, status = $2, version = $3, updated_at = $4 where id = $5 and partner = $6 and version = $7",
		policy, QuoteBound, r.Version, r.UpdatedAt, r.ID, r.Partner, was)
	return occurred, nil
}
