package partners

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
)

// Quota is a request allowance shared by all nodes: one token bucket per caller in a
// small table. Nodes lease parts of it, so that most requests need no write.
type Quota struct {
	service   *Service
	perSecond int
	burst     int
}

// Quota returns an allowance of perSecond requests per second with bursts of burst,
// shared by all nodes of this database.
func (s *Service) Quota(perSecond, burst int) *Quota { return &Quota{s, perSecond, burst} }

// quotaLeaseTime is how long a granted part may be used, and how long a refused caller
// waits before the next try.
const quotaLeaseTime = time.Second

// quotaLeaseQuery refills the bucket up to now and takes what is wanted, or what is
// left. It uses real time, not business time, because it limits load.
const quotaLeaseQuery = `insert into rate_buckets as b (caller, tokens, granted, refilled_at)
	values (?0, ?2 - least(?1, ?2), least(?1, ?2), clock_timestamp())
on conflict (caller) do update set
	granted = floor(least(?1, ?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.refilled_at))),
	tokens = least(?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.refilled_at))
		- floor(least(?1, ?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.refilled_at))),
	refilled_at = clock_timestamp()
returning granted`

// Grant is a part of an allowance, to use within Until; PerSecond and Burst are those of
// the caller.
type Grant struct {
	Granted          int
	Until            time.Duration
	PerSecond, Burst int
}

// Lease takes up to want requests from the shared allowance of a caller, named by
// CallerName. A partner's terms replace the limits of the server.
func (q *Quota) Lease(ctx context.Context, caller string, want int) (Grant, error) {
	grant := Grant{Until: quotaLeaseTime, PerSecond: q.perSecond, Burst: q.burst}
	if slug, is := actor.PartnerOfCaller(caller); is {
		terms, err := LoadTerms(ctx, q.service.Store, slug)
		if err != nil {
			return grant, err
		}
		grant.PerSecond = cmp.Or(optional.OrZero(terms.RequestsPerSecond), grant.PerSecond)
		grant.Burst = cmp.Or(optional.OrZero(terms.RequestBurst), grant.Burst)
	}
	err := q.service.DB.NewRaw(quotaLeaseQuery, caller, want, grant.Burst, grant.PerSecond).Scan(ctx, &grant.Granted)
	if err != nil {
		return grant, fmt.Errorf("lease requests: %w", err)
	}
	return grant, nil
}
