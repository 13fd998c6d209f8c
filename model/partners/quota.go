package partners

import (
	"context"
	"fmt"
	"time"
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

// Lease takes up to want requests from the caller's shared allowance, for use within
// until.
func (q *Quota) Lease(ctx context.Context, caller string, want int) (granted int, until time.Duration, err error) {
	err = q.service.DB.NewRaw(quotaLeaseQuery, caller, want, q.burst, q.perSecond).Scan(ctx, &granted)
	if err != nil {
		return 0, quotaLeaseTime, fmt.Errorf("lease requests: %w", err)
	}
	return granted, quotaLeaseTime, nil
}
