package rest

import (
	"reflect"
	"slices"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/claims/challenge"
	"parapet/model/claims/measured"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/quoting/pricing"
	"parapet/model/receipts/receipt"
	"parapet/model/sandbox"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// statusesByList are the values of the filter status, by type of list.
var statusesByList = map[reflect.Type][]any{
	reflect.TypeFor[wire.List[wire.Quote]]():  stateValues(quoting.QuoteTransitions),
	reflect.TypeFor[wire.List[wire.Policy]](): stateValues(underwriting.PolicyTransitions),
	reflect.TypeFor[wire.List[wire.Claim]]():  stateValues(claims.ClaimTransitions),

	reflect.TypeFor[wire.List[wire.WebhookEndpoint]](): stateValues(webhooks.EndpointTransitions),
	reflect.TypeFor[wire.List[wire.Delivery]]():        deliveryStates,
}

var (
	deliveryStates    = enumValues(webhooks.DeliveryPending, webhooks.DeliveryDelivered, webhooks.DeliveryFailed)
	subscribableTypes = append([]any{webhooks.AllEvents}, eventTypes("")...)
	perils            = enumValues(trigger.Perils()...)
	observationKinds  = enumValues(hazard.Kinds()...)
	observationStages = enumValues(trigger.Preliminary, trigger.Final, trigger.Retracted)
	decisionStages    = enumValues(trigger.Preliminary, trigger.Final)
	placeKinds        = enumValues(trigger.Circle, trigger.InBox, trigger.AtStation)
	accountTypes      = enumValues(account.TypeIBAN, account.TypeUSBankAccount, account.TypeMobileMoney)
)

// enumsBySchema are the values of enum members, by schema and member. Any release may add
// values, as the introduction says.
var enumsBySchema = map[string]map[string][]any{
	"Actor":             {"kind": enumValues(actor.KindSystem, actor.KindPartner, actor.KindOperator, actor.KindRail, actor.KindSource)},
	"Attachment":        {"status": enumValues(claims.AttachmentStored)},
	"Claim":             {"status": stateValues(claims.ClaimTransitions), "origin": enumValues(claims.OriginTrigger, claims.OriginApproval)},
	"Challenge":         {"status": enumValues(challenge.Open, challenge.Rejected, challenge.Accepted)},
	"ClaimBrief":        {"status": stateValues(claims.ClaimTransitions)},
	"Decision":          {"outcome": enumValues(claims.ClaimApproved, claims.ClaimDeferred, claims.ClaimDeclined)},
	"Determination":     {"stage": enumValues(claims.DeterminationPreliminary, claims.DeterminationFinal)},
	"Event":             {"type": eventTypes("")},
	"MeasurementResult": {"state": enumValues(receipt.MeasuredWaiting, receipt.MeasuredSelected, receipt.MeasuredFallback, receipt.MeasuredKept, receipt.MeasuredOperator, receipt.MeasuredStopped)},
	"SourceReading":     {"stage": enumValues(claims.DeterminationPreliminary, claims.DeterminationFinal)},
	"SourceState":       {"state": enumValues(measured.SourceReported, measured.SourceWaiting, measured.SourceLate, measured.SourceNotApplicable)},
	"Subject":           {"type": subjectTypes()},
	"TimelineEntry":     {"kind": append(eventTypes(""), "trigger.observed")},
	"Line": {"kind": enumValues(pricing.ExpectedLoss, pricing.UncertaintyLoad, pricing.RiskLoad, pricing.Expense,
		pricing.Commission, pricing.MinimumPremium)},
	"Observation":         {"kind": observationKinds, "stage": observationStages},
	"ObservationInput":    {"kind": observationKinds, "stage": observationStages},
	"ObservationRevision": {"kind": observationKinds, "stage": observationStages},
	"ObservationResult":   {"result": enumValues(occurrence.ResultCreated, occurrence.ResultRevised, occurrence.ResultUnchanged, occurrence.ResultRejected)},
	"OccurrenceProgress":  {"status": enumValues(progress.Waiting, progress.Deciding, progress.Complete)},
	"Payout": {"status": stateValues(claims.PayoutTransitions), "blocked_reason": enumValues(claims.BlockedMethodMissing, claims.BlockedMethodUnverified,
		claims.BlockedApproval, claims.BlockedRailRejected, claims.BlockedRailMismatch, claims.BlockedCompliance, claims.BlockedOperator)},
	"PayoutDestination": {"status": stateValues(payouts.PayoutMethodTransitions), "type": accountTypes},
	"PayoutMethod":      {"status": stateValues(payouts.PayoutMethodTransitions), "type": accountTypes},
	"PayoutShape":       {"shape": enumValues(trigger.Lump, trigger.Step, trigger.Linear, trigger.Tick)},
	"Place":             {"kind": placeKinds},
	"Policy": {"status": stateValues(underwriting.PolicyTransitions), "cover_phase": enumValues(underwriting.CoverScheduled, underwriting.CoverWaiting,
		underwriting.CoverInForce, underwriting.CoverEnded)},
	"Product":           {"place": placeKinds},
	"Quote":             {"status": stateValues(quoting.QuoteTransitions)},
	"Measurement":       {"fallback": enumValues(trigger.FallbackNextRank, trigger.FallbackOperator, trigger.FallbackNone)},
	"MeasurementRule":   {"kind": enumValues(trigger.FirstOf, trigger.MOfN, trigger.WorstOf, trigger.BestOf)},
	"MeasurementSource": {"stage": decisionStages},
	"Trigger":           {"kind": perils, "decides_on": decisionStages, "direction": enumValues(trigger.AtLeast, trigger.AtMost), "wind": enumValues(trigger.LargerOfEnds, trigger.Interpolated), "calendar": enumValues(trigger.Month, trigger.Dekad)},
	"USBankAccount":     {"account_type": enumValues(account.Checking, account.Savings)},
	"SandboxRun":        {"kind": enumValues(sandbox.KindClock, sandbox.KindReplay, sandbox.KindReset, sandbox.KindSignature), "status": enumValues(sandbox.Running, sandbox.Done, sandbox.Failed)},
	"SandboxCheck":      {"item": enumValues(sandbox.Items()...)},
	"Attempt":           {"error": enumValues("timeout", "refused", "address", "tls", "dns", "connection", "redirect")},
	"Delivery":          {"status": deliveryStates},

	"WebhookEndpoint":        {"status": stateValues(webhooks.EndpointTransitions), "event_types": subscribableTypes},
	"WebhookEndpointRequest": {"event_types": subscribableTypes},
	"WebhookEndpointChange":  {"event_types": subscribableTypes},
}

// stateValues returns the states of a life cycle in the order in which they are reached.
func stateValues[S ~string](arrows []store.Transition[S]) []any {
	var all []any
	for _, a := range arrows {
		for _, state := range enumValues(a.From, a.To) {
			if !slices.Contains(all, state) {
				all = append(all, state)
			}
		}
	}
	return all
}

func enumValues[S ~string](of ...S) []any {
	var all []any
	for _, word := range of {
		all = append(all, string(word))
	}
	return all
}
