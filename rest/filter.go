package rest

import "parapet/model"

// The filters of the lists of quotes, policies, claims and payouts.
var (
	filters      = []string{"status", "product", "partner_reference", "created_from", "created_to"}
	claimFilters = append([]string{"policy_id"}, filters...)
	// A payout has no product and no name of its partner's.
	payoutFilters = []string{"policy_id", "claim_id", "status", "created_from", "created_to"}
)

// filter reads what narrows a list.
func (q *query) filter() model.Filter {
	return model.Filter{
		Status: q.word("status"), Product: q.word("product"), PolicyID: q.word("policy_id"), ClaimID: q.word("claim_id"), PartnerReference: q.word("partner_reference"),
		CreatedFrom: q.time("created_from"), CreatedTo: q.time("created_to"),
	}
}
