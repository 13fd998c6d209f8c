// Package partners keeps the partners (PartnerRow): who may act, and how much.
//
// A partner is enabled or disabled. Each process caches the answer for PartnerCacheTTL.
// Quota limits the requests of a caller per second: one row per caller holds its token
// bucket, and processes lease parts of it, so that most requests write nothing.
//
// It takes no locks of its own; webhooks locks a partner's row to count its endpoints.
// Start reading at partner.go.
package partners
