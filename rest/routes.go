package rest

import (
	"net/http"
	"reflect"
	"slices"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// contractRoutes is the table of all routes of the contract.
func (s *server) contractRoutes() []route {
	rows := slices.Concat(s.coverRoutes(), s.claimRoutes(), s.payoutRoutes(), s.observationRoutes(), s.eventRoutes(), s.webhookRoutes(), s.sandboxRoutes())
	kept := rows[:0]
	for _, row := range rows {
		if s.Development || !row.isSandboxOnly {
			kept = append(kept, row)
		}
	}
	return kept
}

// coverRoutes are the routes of products, quotes and policies.
func (s *server) coverRoutes() []route {
	return []route{
		listRoute("/products", actor.ScopeProductsRead, s.getProducts).
			describedAs("listProducts", "Products", "List products", "The newest version of each, by key."),
		getRoute("/products/{key}", actor.ScopeProductsRead, s.getProduct).
			describedAs("getProduct", "Products", "Read a product", "Its newest version: the schema of a quote's context, trigger, payout shape, prices and worked examples."),

		createRoute("/quotes", actor.ScopeQuotesWrite, s.createQuote).withLocation().withErrorCodes(apperr.CodePartnerMismatch, apperr.CodeProductUnknown, apperr.CodeRiskUninsurable, apperr.CodeReferenceTaken).
			describedAs("createQuote", "Quotes", "Price cover", "Returns the terms that would bind, the premium line by line, and every past event that would have paid. A quote reserves nothing."),
		searchRoute("/quotes", actor.ScopeQuotesRead, listFilters, s.getQuotes).
			describedAs("listQuotes", "Quotes", "List quotes", "Newest first."),
		getRoute("/quotes/{quote_id}", actor.ScopeQuotesRead, s.getQuote).
			describedAs("getQuote", "Quotes", "Read a quote", ""),
		listRoute("/quotes/{quote_id}/basis", actor.ScopeQuotesRead, s.getQuoteBasis).withErrorCodes(apperr.CodeStateConflict).
			describedAs("getQuoteBasis", "Prices", "List the events of a price", "The past events behind the price with their weights, newest first, recomputed from the data set that the quote's basis names: they add up to its sums. When this server has another edition of the data set or another formula, the answer is 409 state_conflict and names both; the quote keeps its sums and can still be bound while it is valid."),
		getRoute("/quotes/{quote_id}/receipt", actor.ScopeQuotesRead, s.getQuoteReceipt).
			describedAs("getQuoteReceipt", "Receipts", "Read a quote's receipt", "The signed record of terms, price, basis and history, from which anyone can recompute the premium without this server. It never changes. See the chapter Receipts of the manual."),

		createRoute("/policies", actor.ScopePoliciesWrite, s.bindPolicy).withLocation().withErrorCodes(apperr.CodeQuoteAlreadyBound, apperr.CodeQuoteExpired, apperr.CodeCapacityExceeded, apperr.CodeMoratoriumActive, apperr.CodeReferenceTaken).requiresMatch(quoteInBody).
			describedAs("createPolicy", "Policies", "Bind a quote", "Turns the quote into a policy at once. A quote can be bound once: the second time is 409 quote_already_bound with the policy in resource_id."),
		searchRoute("/policies", actor.ScopePoliciesRead, listFilters, s.getPolicies).documentedAs(reflect.TypeFor[wire.List[wire.Policy]]()).
			describedAs("listPolicies", "Policies", "List policies", "Newest first."),
		getRoute("/policies/{policy_id}", actor.ScopePoliciesRead, s.getPolicy).documentedAs(reflect.TypeFor[wire.Policy]()).
			describedAs("getPolicy", "Policies", "Read a policy", ""),
		listRoute("/policies/{policy_id}/timeline", actor.ScopePoliciesRead, s.getPolicyTimeline).
			describedAs("listPolicyTimeline", "Policies", "Read a policy's history", "The policy's own changes and the timelines of its claims in one list, oldest first."),
		actionRoute("/policies/{policy_id}/cancel", actor.ScopePoliciesWrite, http.StatusOK, s.cancelPolicy).withErrorCodes(apperr.CodeStateConflict).requiresMatch(policyInPath).
			describedAs("cancelPolicy", "Policies", "Cancel a policy", "Possible before cover begins; the premium is reversed. Afterwards the answer is 409 state_conflict: ask the operators to end cover that has begun."),
		queryRoute("/explain", actor.ScopePoliciesRead, s.explainOccurrence).
			describedAs("explainOccurrence", "Policies", "Explain an occurrence", "Evaluates a recorded or hypothetical occurrence for a policy with the function that decides claims: whether it pays, every number, and the reasons in sentences. Give exactly one of occurrence_id, source_event and what_if. Nothing is stored, except the answer under an Idempotency-Key."),
	}
}

// claimRoutes are the routes of claims, their messages and attachments.
func (s *server) claimRoutes() []route {
	return []route{
		createOrFindRoute("/claims", actor.ScopeClaimsWrite, s.openClaim).withLocation().withErrorCodes(apperr.CodeTriggerNotMet, apperr.CodePolicyNotInForce, apperr.CodeLimitExhausted, apperr.CodeStateConflict, apperr.CodeReferenceTaken).requiresMatch(policyInBody).
			describedAs("createClaim", "Claims", "Open a claim", "A claim that names an observation or a source event is decided by the policy's trigger: 201 when it is met, 422 trigger_not_met with the numbers when it is not. A claim that names neither is decided by an operator. When the policy already has a claim for the occurrence, usually because matching opened it, the answer is 200 with that claim. A policy accepts 20 claims of origin approval in any 24 hours; the next one is 429 rate_limited, with Retry-After."),
		searchRoute("/claims", actor.ScopeClaimsRead, claimFilters, s.getClaims).
			describedAs("listClaims", "Claims", "List claims", "Newest first, each with its payouts, including the claims that matching opened."),
		getRoute("/claims/{claim_id}", actor.ScopeClaimsRead, s.getClaim).
			describedAs("getClaim", "Claims", "Read a claim", "With its determination, decision and payouts."),
		actionRoute("/claims/{claim_id}/withdraw", actor.ScopeClaimsWrite, http.StatusOK, s.withdrawClaim).withErrorCodes(apperr.CodeStateConflict).requiresMatch(claimInPath).
			describedAs("withdrawClaim", "Claims", "Withdraw a claim", "Withdraws a claim that is opened or deferred. No new claim can be opened for its occurrence."),
		queryRoute("/claims/{claim_id}/challenge", actor.ScopeClaimsWrite, s.challengeClaim).withErrorCodes(apperr.CodeStateConflict).requiresMatch(claimInPath).
			describedAs("challengeClaim", "Claims", "Challenge a decision", "Contests the decision on a claim of origin trigger, within challenge_window of cover.measurement from the decision. The reason becomes a message of the claim; upload the evidence as attachments first. An operator decides. 409 state_conflict when the claim has no decision, a challenge is open or the window has ended."),
		listRoute("/claims/{claim_id}/timeline", actor.ScopeClaimsRead, s.getTimeline).
			describedAs("listTimeline", "Claims", "Read a claim's timeline", "Oldest first, numbered without gaps."),
		getRoute("/claims/{claim_id}/receipt", actor.ScopeClaimsRead, s.getClaimReceipt).withFilters("part").withErrorCodes(apperr.CodeStateConflict).
			describedAs("getClaimReceipt", "Receipts", "Read a claim's receipt", "The signed record of every decision with its readings, determination and amounts, from which anyone can recompute them without this server. A growing claim gets a part with each further amount. 409 state_conflict until the claim is approved or declined. See the chapter Receipts of the manual."),

		createRoute("/claims/{claim_id}/attachments", actor.ScopeClaimsWrite, s.addAttachment).withErrorCodes(apperr.CodeStateConflict).withBodyLimit(attachmentLimit).withFileMember("content_base64").requiresMatch(claimInPath).
			describedAs("createAttachment", "Attachments", "Add a document", ""),
		listRoute("/claims/{claim_id}/attachments", actor.ScopeClaimsRead, s.getAttachments).
			describedAs("listAttachments", "Attachments", "List a claim's documents", "Newest first."),
		downloadRoute("/claims/{claim_id}/attachments/{attachment_id}/content", actor.ScopeClaimsRead, s.downloadAttachment).
			describedAs("downloadAttachment", "Attachments", "Download a document", "The bytes as they were sent; browsers save them instead of showing them."),

		createRoute("/claims/{claim_id}/messages", actor.ScopeClaimsWrite, s.addMessage).orScope(actor.ScopeOperator).requiresMatch(claimInPath).
			describedAs("createMessage", "Messages", "Write a message", "Operators can write too, in the name of Parapet, for example to say which evidence they need; the partner then gets the event claim.message_added."),
		listRoute("/claims/{claim_id}/messages", actor.ScopeClaimsRead, s.getMessages).
			describedAs("listMessages", "Messages", "Read the conversation", "Oldest first."),
	}
}

// payoutRoutes are the routes of payout methods and payouts.
func (s *server) payoutRoutes() []route {
	return []route{
		createRoute("/payout_methods", actor.ScopePayoutMethodsWrite, s.recordPayoutMethod).withErrorCodes(apperr.CodeStateConflict, apperr.CodeReferenceTaken).requiresMatch(payeeInBody).
			describedAs("createPayoutMethod", "Payouts", "Record a payout method", "The number is checked, stored encrypted, never shown again and never logged. It replaces an earlier method of the same claim or policy. Payouts that waited for a method continue once it is verified."),
		listRoute("/claims/{claim_id}/payout-methods", actor.ScopeClaimsRead, s.getPayoutMethods).
			describedAs("listPayoutMethods", "Payouts", "List a claim's payout methods", "Newest first, including the methods of the policy."),
		listRoute("/policies/{policy_id}/payout-methods", actor.ScopeClaimsRead, s.getPolicyPayoutMethods).
			describedAs("listPolicyPayoutMethods", "Payouts", "List a policy's payout methods", "Newest first, including the methods of its claims."),
		getRoute("/payout_methods/{payout_method_id}", actor.ScopeClaimsRead, s.getPayoutMethod).
			describedAs("getPayoutMethod", "Payouts", "Read a payout method", ""),

		searchRoute("/payouts", actor.ScopeClaimsRead, payoutFilters, s.listPayouts).orScope(actor.ScopePayoutsRead).
			describedAs("listAllPayouts", "Payouts", "List payouts", "Newest first. Either scope is enough."),
		listRoute("/claims/{claim_id}/payouts", actor.ScopeClaimsRead, s.getPayouts).orScope(actor.ScopePayoutsRead).
			describedAs("listPayouts", "Payouts", "List a claim's payouts", "Newest first. Either scope is enough."),
		getRoute("/payouts/{payout_id}", actor.ScopeClaimsRead, s.getPayout).orScope(actor.ScopePayoutsRead).
			describedAs("getPayout", "Payouts", "Read a payout", "Either scope is enough."),
	}
}

// observationRoutes are the routes of occurrences and observations.
func (s *server) observationRoutes() []route {
	return []route{
		getRoute("/occurrences/{occurrence_id}", actor.ScopePoliciesRead, s.getOccurrence).
			describedAs("getOccurrence", "Observations", "Read an occurrence", "One event, made of all observations of it. Claims refer to it. It belongs to no partner."),
		getRoute("/occurrences/{occurrence_id}/progress", actor.ScopeClaimsRead, s.getOccurrenceProgress).
			describedAs("getOccurrenceProgress", "Observations", "Read the progress of an occurrence", "How many policies an occurrence may affect and how many of them were decided, the claims, and the money that is owed, on its way, blocked and released, by partner and currency. A partner sees its own policies only. Counting 100,000 claims takes a few tenths of a second: wait a second between two requests."),
		listRoute("/observations/{observation_id}/revisions", actor.ScopeClaimsRead, s.getObservationRevisions).
			describedAs("listObservationRevisions", "Observations", "List the revisions of an observation", "Every report of an observation, the first one first: the observation as it was after each report, when it was recorded, and the members that differ from the report before."),
		listRoute("/sources", actor.ScopePoliciesRead, s.getSources).
			describedAs("listSources", "Observations", "List the sources", "The registered sources of observations, by name, and their health: the last reading, and how many of your policies have a claim that waits for the source."),
		createOrFindRoute("/observations", actor.ScopeObservationsWrite, s.recordObservations).returnsOn201(reflect.TypeFor[wire.Observation]()).
			describedAs("createObservations", "Observations", "Report what was measured", "One observation is answered 201, or 200 when nothing changed. A batch of up to 1000 under observations is answered 200 with a result for each."),
		createOrFindRoute("/sandbox/observations", actor.ScopeClaimsWrite, s.recordSandboxObservations).returnsOn201(reflect.TypeFor[wire.Observation]()).sandboxOnly().
			describedAs("createSandboxObservations", "Observations", "Rehearse a claim", "Like POST /observations, but only in development, and only your own policies see it. A station_day may be up to 400 days after the real time: the clock of the development server, which all partners share, moves to the end of that day. So a wet spell, a month or a waiting period passes at once."),
	}
}

// eventRoutes are the routes of the event feed.
func (s *server) eventRoutes() []route {
	return []route{
		filteredListRoute("/events", actor.ScopeEventsRead, eventFilters, s.getEvents).
			describedAs("listEvents", "Events", "Read the feed", "Ascending by sequence, starting after after_sequence. With wait, an answer that would be empty waits for the next event. Operators must give the partner."),
		getRoute("/events/{event_id}", actor.ScopeEventsRead, s.getEvent).
			describedAs("getEvent", "Events", "Read an event", "The body of the answer is, byte for byte, the body that webhook endpoints receive."),
	}
}

// webhookRoutes are the routes of webhook endpoints and deliveries.
func (s *server) webhookRoutes() []route {
	const one = "/webhook_endpoints/{endpoint_id}"
	return []route{
		createRoute("/webhook_endpoints", actor.ScopeWebhooksWrite, s.createWebhookEndpoint).withLocation().withErrorCodes(apperr.CodeReferenceTaken, apperr.CodeStateConflict).
			describedAs("createWebhookEndpoint", "Webhooks", "Create a webhook endpoint", "The endpoint receives every event from now on, starting with its own webhook_endpoint.enabled. Only this answer, and its replay by Idempotency-Key within 24 hours, contains the secret. A partner has at most 20 endpoints."),
		searchRoute("/webhook_endpoints", actor.ScopeWebhooksRead, webhookFilters, s.getWebhookEndpoints).
			describedAs("listWebhookEndpoints", "Webhooks", "List webhook endpoints", "Newest first."),
		getRoute(one, actor.ScopeWebhooksRead, s.getWebhookEndpoint).
			describedAs("getWebhookEndpoint", "Webhooks", "Read a webhook endpoint", "Without its secret."),
		updateRoute(one, actor.ScopeWebhooksWrite, s.changeWebhookEndpoint).withErrorCodes(apperr.CodeReferenceTaken, apperr.CodeStateConflict).requiresMatch(endpointInPath).
			describedAs("updateWebhookEndpoint", "Webhooks", "Change a webhook endpoint", "Members of the body change, all others stay (a merge patch, RFC 7396)."),
		deleteRoute(one, actor.ScopeWebhooksWrite, s.deleteWebhookEndpoint).withErrorCodes(apperr.CodeStateConflict).requiresMatch(endpointInPath).
			describedAs("deleteWebhookEndpoint", "Webhooks", "Delete a webhook endpoint", "Nothing more is sent to it. Events that waited for it stay in the feed."),
		actionRoute(one+"/rotate_secret", actor.ScopeWebhooksWrite, http.StatusOK, s.rotateWebhookSecret).withErrorCodes(apperr.CodeStateConflict).requiresMatch(endpointInPath).
			describedAs("rotateWebhookSecret", "Webhooks", "Rotate the secret", "The answer shows the new secret, once. For 24 hours every delivery has two signatures, one with the new secret and one with the previous one: switch to the new secret within that time. Until then the secret cannot be rotated again: 409 state_conflict, which says until when."),
		actionRoute(one+"/test", actor.ScopeWebhooksWrite, http.StatusAccepted, s.testWebhookEndpoint).withErrorCodes(apperr.CodeStateConflict).requiresMatch(endpointInPath).
			describedAs("testWebhookEndpoint", "Webhooks", "Send a test event", "Sends the endpoint its own webhook_endpoint.enabled event again, even if it receives other types only. To see the result, find the delivery of the answer in the endpoint's deliveries."),
		searchRoute(one+"/deliveries", actor.ScopeWebhooksRead, []string{"status"}, s.getDeliveries).
			describedAs("listDeliveries", "Webhooks", "List deliveries", "The deliveries of the last 30 days, newest first, with every attempt. status=failed selects those that were given up."),
		actionRoute("/deliveries/{delivery_id}/retry", actor.ScopeWebhooksWrite, http.StatusAccepted, s.retryDelivery).withErrorCodes(apperr.CodeStateConflict).
			describedAs("retryDelivery", "Webhooks", "Send again", "Sends the event of a delivery now, and repeats the whole schedule if that fails."),
	}
}
