// Package partners keeps the partners: who may act, and how much in an hour or a day.
//
// A partner is enabled or disabled. Each process caches the answer for two seconds, see
// PartnerCacheTTL. Quotas are counted from the partner's own rows. Start reading at
// partner.go.
package partners
