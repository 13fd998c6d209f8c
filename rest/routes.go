package rest

import (
	"net/http"
	"reflect"
	"slices"

	"parapet/model"
	"parapet/model/wire"
)

// table is the contract, row by row: the one place that says which address does
// what for whom.
func (d *door) table() []route {
	rows := slices.Concat(d.cover(), d.claims(), d.payments(), d.measurements(), d.news(), d.hooks())
	kept := rows[:0]
	for _, row := range rows {
		if d.Development || !row.sandbox {
			kept = append(kept, row)
		}
	}
	return kept
}

// cover is what is bought.
func (d *door) cover() []route {
	return []route{
		lists("/products", model.ScopeProductsRead, d.getProducts).
			named("listProducts", "Products", "List products", "The newest version of each, by key."),
		reads("/products/{key}", model.ScopeProductsRead, d.getProduct).
			named("getProduct", "Products", "Read a product", "Its newest version: the schema of a quote's context, trigger, payout shape, prices and worked examples."),

		creates("/quotes", model.ScopeQuotesWrite, d.createQuote).atLocation().refuses(model.CodePartnerMismatch, model.CodeProductUnknown, model.CodeRiskUninsurable, model.CodeReferenceTaken).
			named("createQuote", "Quotes", "Price cover", "Answers what would bind, what it costs line by line, and every past event that would have paid. Quoting reserves nothing."),
		finds("/quotes", model.ScopeQuotesRead, filters, d.getQuotes).
			named("listQuotes", "Quotes", "List quotes", "Newest first."),
		reads("/quotes/{quote_id}", model.ScopeQuotesRead, d.getQuote).
			named("getQuote", "Quotes", "Read a quote", ""),
		lists("/quotes/{quote_id}/basis", model.ScopeQuotesRead, d.getQuoteBasis).refuses(model.CodeStateConflict).
			named("getQuoteBasis", "Prices", "List the events of a price", "The past events that the price weighs, newest first, found again in the data set that the quote's basis names: they add up to its sums. 409 state_conflict, naming both, when this server has another edition of the data set or another formula: the quote keeps its sums, and can be bound as long as it is valid."),

		creates("/policies", model.ScopePoliciesWrite, d.bindPolicy).atLocation().refuses(model.CodeQuoteAlreadyBound, model.CodeQuoteExpired, model.CodeCapacityExceeded, model.CodeMoratoriumActive, model.CodeReferenceTaken).heldTo(heldQuote).
			named("createPolicy", "Policies", "Bind a quote", "Makes the quoted cover binding at once. A quote binds once: a second time is 409 quote_already_bound with the policy in resource_id."),
		finds("/policies", model.ScopePoliciesRead, filters, d.getPolicies).
			named("listPolicies", "Policies", "List policies", "Newest first."),
		reads("/policies/{policy_id}", model.ScopePoliciesRead, d.getPolicy).
			named("getPolicy", "Policies", "Read a policy", ""),
		lists("/policies/{policy_id}/timeline", model.ScopePoliciesRead, d.getPolicyTimeline).
			named("listPolicyTimeline", "Policies", "Read a policy's history", "The policy's own changes and the timelines of its claims in one list, oldest first."),
		acts("/policies/{policy_id}/cancel", model.ScopePoliciesWrite, http.StatusOK, d.cancelPolicy).refuses(model.CodeStateConflict).heldTo(heldPolicyInPath).
			named("cancelPolicy", "Policies", "Cancel a policy", "Before its cover begins; the premium is reversed. Afterwards it is 409 state_conflict: operators end cover that has begun."),
		answers("/explain", model.ScopePoliciesRead, d.explain).
			named("explainOccurrence", "Policies", "Explain an occurrence", "What something that happened, or that might happen, means for a policy: paid or not, every number, and why in sentences, by the function that decides claims. Name exactly one of occurrence_id, source_event and as_if. Nothing is written but the answer under an Idempotency-Key."),
	}
}

// claims are what is owed, and everything said about it.
func (d *door) claims() []route {
	return []route{
		records("/claims", model.ScopeClaimsWrite, d.openClaim).atLocation().refuses(model.CodeTriggerNotMet, model.CodePolicyNotInForce, model.CodeLimitExhausted, model.CodeStateConflict, model.CodeReferenceTaken).heldTo(heldPolicy).
			named("createClaim", "Claims", "Open a claim", "A claim that names an observation or a source event is decided by the policy's trigger: 201 when it is met, 422 trigger_not_met with the numbers when it is not. A claim that names neither is decided by an operator. Where the policy already has a claim for the occurrence, usually because matching opened it, the answer is 200 with that claim. A policy takes 20 claims of origin approval in any 24 hours; the next one is answered 429 rate_limited, with Retry-After."),
		finds("/claims", model.ScopeClaimsRead, claimFilters, d.getClaims).
			named("listClaims", "Claims", "List claims", "Newest first, each with its payouts. Those that matching opened are here too."),
		reads("/claims/{claim_id}", model.ScopeClaimsRead, d.getClaim).
			named("getClaim", "Claims", "Read a claim", "With its determination, decision and payouts."),
		acts("/claims/{claim_id}/withdraw", model.ScopeClaimsWrite, http.StatusOK, d.withdrawClaim).refuses(model.CodeStateConflict).heldTo(heldClaim).
			named("withdrawClaim", "Claims", "Withdraw a claim", "Takes back a claim that is opened or deferred. Nothing was reserved for it, and its occurrence is not claimed again."),
		lists("/claims/{claim_id}/timeline", model.ScopeClaimsRead, d.getTimeline).
			named("listTimeline", "Claims", "Read a claim's story", "Oldest first, numbered without gaps."),

		creates("/claims/{claim_id}/attachments", model.ScopeClaimsWrite, d.addAttachment).refuses(model.CodeStateConflict).upTo(attachmentLimit).carrying("content_base64").heldTo(heldClaim).
			named("createAttachment", "Attachments", "Add a document", ""),
		lists("/claims/{claim_id}/attachments", model.ScopeClaimsRead, d.getAttachments).
			named("listAttachments", "Attachments", "List a claim's documents", "Newest first."),
		downloads("/claims/{claim_id}/attachments/{attachment_id}/content", model.ScopeClaimsRead, d.downloadAttachment).
			named("downloadAttachment", "Attachments", "Download a document", "The bytes as they were sent, to be saved, not shown."),

		creates("/claims/{claim_id}/messages", model.ScopeClaimsWrite, d.addMessage).or(model.ScopeOperator).heldTo(heldClaim).
			named("createMessage", "Messages", "Write a message", "Operators write too, in the name of Parapet: to say which evidence they need, for instance. The partner gets the event claim.message_added."),
		lists("/claims/{claim_id}/messages", model.ScopeClaimsRead, d.getMessages).
			named("listMessages", "Messages", "Read the conversation", "Oldest first."),
	}
}

// payments are where the money goes.
func (d *door) payments() []route {
	return []route{
		creates("/payout_methods", model.ScopePayoutMethodsWrite, d.recordPayoutMethod).refuses(model.CodeStateConflict, model.CodeReferenceTaken).heldTo(heldPayee).
			named("createPayoutMethod", "Payouts", "Record a payout method", "The number is checked, stored encrypted, never shown again and never logged. An earlier method of the same claim or policy is replaced; payouts that waited for one move on."),
		lists("/claims/{claim_id}/payout-methods", model.ScopeClaimsRead, d.getPayoutMethods).
			named("listPayoutMethods", "Payouts", "List a claim's payout methods", "Newest first, the policy's methods included."),
		lists("/policies/{policy_id}/payout-methods", model.ScopeClaimsRead, d.getPolicyPayoutMethods).
			named("listPolicyPayoutMethods", "Payouts", "List a policy's payout methods", "Newest first, those of its claims included."),
		reads("/payout_methods/{payout_method_id}", model.ScopeClaimsRead, d.getPayoutMethod).
			named("getPayoutMethod", "Payouts", "Read a payout method", ""),

		finds("/payouts", model.ScopeClaimsRead, payoutFilters, d.listPayouts).or(model.ScopePayoutsRead).
			named("listAllPayouts", "Payouts", "List payouts", "Newest first. Either scope suffices."),
		lists("/claims/{claim_id}/payouts", model.ScopeClaimsRead, d.getPayouts).or(model.ScopePayoutsRead).
			named("listPayouts", "Payouts", "List a claim's payouts", "Newest first. Either scope suffices."),
		reads("/payouts/{payout_id}", model.ScopeClaimsRead, d.getPayout).or(model.ScopePayoutsRead).
			named("getPayout", "Payouts", "Read a payout", "Either scope suffices."),
	}
}

// measurements are what happened.
func (d *door) measurements() []route {
	return []route{
		reads("/occurrences/{occurrence_id}", model.ScopePoliciesRead, d.getOccurrence).
			named("getOccurrence", "Observations", "Read an occurrence", "One thing that happened, by whatever observations; claims name it. It belongs to no partner."),
		records("/observations", model.ScopeObservationsWrite, d.recordObservations).makes(reflect.TypeFor[wire.Observation]()).
			named("createObservations", "Observations", "Report what was measured", "One observation answers 201, or 200 when it says nothing new. Up to 1000 under observations answer 200 with a result for each."),
		records("/sandbox/observations", model.ScopeClaimsWrite, d.rehearseObservations).makes(reflect.TypeFor[wire.Observation]()).rehearsed().
			named("createSandboxObservations", "Observations", "Rehearse a claim", "Like POST /observations, in development only, and seen by your own policies only. A station_day may lie ahead, to 400 days after the real time: the clock of the development server, the same for all partners, follows to its end, so that a wet spell, a month or a waiting period passes at once."),
	}
}

// news is what happened, to be asked for.
func (d *door) news() []route {
	return []route{
		listsSome("/events", model.ScopeEventsRead, eventFilters, d.getEvents).
			named("listEvents", "Events", "Read the feed", "Ascending by sequence, from the first after after_sequence. With wait, an answer that would be empty waits for the next event. Operators name the partner whose feed they read."),
		reads("/events/{event_id}", model.ScopeEventsRead, d.getEvent).
			named("getEvent", "Events", "Read an event", "The answer's body is, byte for byte, what webhook endpoints are sent."),
	}
}

// hooks are where what happened is sent.
func (d *door) hooks() []route {
	const one = "/webhook_endpoints/{endpoint_id}"
	return []route{
		creates("/webhook_endpoints", model.ScopeWebhooksWrite, d.createWebhookEndpoint).atLocation().refuses(model.CodeReferenceTaken, model.CodeStateConflict).
			named("createWebhookEndpoint", "Webhooks", "Create a webhook endpoint", "Sends it every event from now on, its own webhook_endpoint.enabled first. The secret is in this answer, and in a replay by Idempotency-Key within 24 hours, and nowhere else. At most 20 for each partner."),
		finds("/webhook_endpoints", model.ScopeWebhooksRead, webhookFilters, d.getWebhookEndpoints).
			named("listWebhookEndpoints", "Webhooks", "List webhook endpoints", "Newest first."),
		reads(one, model.ScopeWebhooksRead, d.getWebhookEndpoint).
			named("getWebhookEndpoint", "Webhooks", "Read a webhook endpoint", "Without its secret."),
		changes(one, model.ScopeWebhooksWrite, d.changeWebhookEndpoint).refuses(model.CodeReferenceTaken, model.CodeStateConflict).heldTo(heldEndpoint).
			named("updateWebhookEndpoint", "Webhooks", "Change a webhook endpoint", "What the body names changes and everything else stays (a merge patch, RFC 7396)."),
		removes(one, model.ScopeWebhooksWrite, d.deleteWebhookEndpoint).refuses(model.CodeStateConflict).heldTo(heldEndpoint).
			named("deleteWebhookEndpoint", "Webhooks", "Delete a webhook endpoint", "Nothing more is sent to it. What was waiting for it stays in the feed."),
		acts(one+"/rotate_secret", model.ScopeWebhooksWrite, http.StatusOK, d.rotateWebhookSecret).refuses(model.CodeStateConflict).heldTo(heldEndpoint).
			named("rotateWebhookSecret", "Webhooks", "Rotate the secret", "The answer shows the new secret, once. For 24 hours every delivery carries two signatures, by the new secret and by the one before; take the new one into use within that time. Until it is over the secret cannot be rotated again (409 state_conflict, which tells until when)."),
		acts(one+"/test", model.ScopeWebhooksWrite, http.StatusAccepted, d.testWebhookEndpoint).refuses(model.CodeStateConflict).heldTo(heldEndpoint).
			named("testWebhookEndpoint", "Webhooks", "Send a test event", "Sends the endpoint the event that told of its being enabled once more, whichever types it asked for. The delivery in the answer tells what became of it when its endpoint's deliveries are read again."),
		finds(one+"/deliveries", model.ScopeWebhooksRead, []string{"status"}, d.getDeliveries).
			named("listDeliveries", "Webhooks", "List deliveries", "What was sent to the endpoint in the last 30 days, newest first, with every attempt. status=parked is what was given up."),
		acts("/deliveries/{delivery_id}/retry", model.ScopeWebhooksWrite, http.StatusAccepted, d.retryDelivery).refuses(model.CodeStateConflict).
			named("retryDelivery", "Webhooks", "Send again", "Sends the event of a delivery now, and by the whole schedule if that fails."),
	}
}
