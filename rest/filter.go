package rest

import "parapet/model/kernel/store"

// The filters of the lists of quotes, policies, claims and payouts.
var (
	listFilters  = []string{"status", "product", "partner_reference", "created_from", "created_to"}
	claimFilters = append([]string{"policy_id"}, listFilters...)
	// A payout has no product and no partner_reference.
	payoutFilters = []string{"policy_id", "claim_id", "status", "created_from", "created_to"}
)

// listFilter reads the filters of a list.
func (q *query) listFilter() store.Filter {
	return store.Filter{
		Status: q.textParam("status"), Product: q.textParam("product"), PolicyID: q.textParam("policy_id"), ClaimID: q.textParam("claim_id"), PartnerReference: q.textParam("partner_reference"),
		CreatedFrom: q.timeParam("created_from"), CreatedTo: q.timeParam("created_to"),
	}
}
