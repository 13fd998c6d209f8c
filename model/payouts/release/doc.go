// Package release sends due payouts to the payment rail.
//
// BeginRelease locks a payout, gives the worker a lease and records the attempt; the
// worker calls the rail outside any transaction; EndRelease records the answer and
// decides on the retry (applyRailAnswer, ApplyOutcome and inquiryDelay in
// release_result.go). BeginReleaseGroup and EndReleaseGroup do the same for many payouts
// and one call (release_group.go); ReleaseBatch does it in one transaction, for a rail that
// stores its orders in this database. A payout whose outcome is unknown is sent again only under the same key: see
// TestReleaseRetriesUnknownOutcomeWithSameKey. A rail is identified by its bank and
// account (rail_identity.go): an order in doubt at one bank is never sent to another.
//
// Release is an order, ReleaseResult its result. A payout goes from pending to releasing
// and then to released, blocked, back to pending when nothing was sent, or to reconciling
// while its outcome is unknown. Claims are locked first, then payouts by id; batches skip
// locked ones. Start reading at release.go.
package release
