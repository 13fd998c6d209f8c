package model

import (
	"context"
	"fmt"
	"time"
)

// Quota is the allowance of requests that all nodes share: a token bucket a
// caller in one small table. Nodes lease slices of it, so no request pays for a
// write.
type Quota struct {
	service   *Service
	perSecond int
	burst     int
}

// Quota shares perSecond requests a second, burst in one go, among all nodes of
// this database.
func (s *Service) Quota(perSecond, burst int) *Quota { return &Quota{s, perSecond, burst} }

// quotaLeaseTime is how long a granted slice may be used, and how long a refused
// caller waits before asking again.
const quotaLeaseTime = time.Second

// quotaLeaseQuery fills the bucket up to now and takes what is there, at most what is
// wanted. Real time counts here, not business time: it is about load.
const quotaLeaseQuery = `insert into rate_buckets as b (who, tokens, granted, at)
	values (?0, ?2 - least(?1, ?2), least(?1, ?2), clock_timestamp())
on conflict (who) do update set
	granted = floor(least(?1, ?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.at))),
	tokens = least(?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.at))
		- floor(least(?1, ?2, b.tokens + ?3 * extract(epoch from clock_timestamp() - b.at))),
	at = clock_timestamp()
returning granted`

// Lease takes up to want requests from who's shared allowance, for use within
// until.
func (q *Quota) Lease(ctx context.Context, who string, want int) (granted int, until time.Duration, err error) {
	err = q.service.db.NewRaw(quotaLeaseQuery, who, want, q.burst, q.perSecond).Scan(ctx, &granted)
	if err != nil {
		return 0, quotaLeaseTime, fmt.Errorf("lease requests: %w", err)
	}
	return granted, quotaLeaseTime, nil
}
