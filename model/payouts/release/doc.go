// Package release sends due payouts to the payment rail.
//
// BeginRelease reads and leases a payout and records the attempt; the worker calls the rail
// outside any transaction; EndRelease records the answer and decides on the retry
// (release_result.go). ReleaseBatch does the same for many payouts. A payout whose outcome
// is unknown is sent again only under the same key. A rail is identified by its bank and
// account (rail_identity.go): an order in doubt at one bank is never sent to another.
//
// Start reading at release.go.
package release
