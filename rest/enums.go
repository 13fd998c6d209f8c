package rest

import (
	"reflect"
	"slices"

	"parapet/model"
	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// statuses are the words of the filter status, by the list that takes it.
var statuses = map[reflect.Type][]any{
	reflect.TypeFor[wire.List[wire.Quote]]():  states(model.QuoteArrows),
	reflect.TypeFor[wire.List[wire.Policy]](): states(model.PolicyArrows),
	reflect.TypeFor[wire.List[wire.Claim]]():  states(model.ClaimArrows),

	reflect.TypeFor[wire.List[wire.WebhookEndpoint]](): states(model.EndpointArrows),
	reflect.TypeFor[wire.List[wire.Delivery]]():        deliveryStates,
}

var (
	deliveryStates    = words(model.DeliveryPending, model.DeliveryDelivered, model.DeliveryParked)
	subscriptions     = append([]any{model.AllEvents}, eventTypes("")...)
	observationKinds  = words(hazard.Earthquake, hazard.StormFix, hazard.StationDay)
	observationStages = words(trigger.Preliminary, trigger.Final, trigger.Retracted)
	decidingStages    = words(trigger.Preliminary, trigger.Final)
	placeKinds        = words(trigger.Circle, trigger.AtStation)
	accountTypes      = words(account.TypeIBAN, account.TypeUSBankAccount, account.TypeMobileMoney)
)

// enums are the words that a member can be, by schema and member. New ones may
// come with any release, which the introduction says.
var enums = map[string]map[string][]any{
	"Actor":         {"kind": words(model.ActorSystem, model.ActorPartner, model.ActorOperator, model.ActorRail, model.ActorSource)},
	"Attachment":    {"status": words(model.AttachmentStored)},
	"Claim":         {"status": states(model.ClaimArrows), "origin": words(model.OriginTrigger, model.OriginApproval)},
	"ClaimBrief":    {"status": states(model.ClaimArrows)},
	"Decision":      {"outcome": words(model.ClaimApproved, model.ClaimDeferred, model.ClaimDeclined)},
	"Determination": {"stage": words(model.DeterminationProvisional, model.DeterminationFinal)},
	"Event":         {"type": eventTypes("")},
	"Subject":       {"type": subjects()},
	"TimelineEntry": {"kind": append(eventTypes(""), "trigger.observed")},
	"Line": {"kind": words(pricing.ExpectedLoss, pricing.UncertaintyLoad, pricing.RiskLoad, pricing.Expense,
		pricing.Commission, pricing.MinimumPremium)},
	"Observation":       {"kind": observationKinds, "stage": observationStages},
	"ObservationInput":  {"kind": observationKinds, "stage": observationStages},
	"ObservationResult": {"result": words(model.ResultCreated, model.ResultRevised, model.ResultUnchanged, model.ResultRejected)},
	"Payout": {"status": states(model.PayoutArrows), "blocked_reason": words(model.BlockedMethodMissing, model.BlockedMethodUnverified,
		model.BlockedApproval, model.BlockedRailRejected, model.BlockedRailMismatch, model.BlockedCompliance, model.BlockedOperator)},
	"PayoutDestination": {"status": states(model.PayoutMethodArrows), "type": accountTypes},
	"PayoutMethod":      {"status": states(model.PayoutMethodArrows), "type": accountTypes},
	"PayoutShape":       {"shape": words(trigger.Lump, trigger.Step, trigger.Linear, trigger.Tick)},
	"Place":             {"kind": placeKinds},
	"Policy": {"status": states(model.PolicyArrows), "cover_phase": words(model.CoverScheduled, model.CoverWaiting,
		model.CoverInForce, model.CoverEnded)},
	"Product":       {"place": placeKinds},
	"Quote":         {"status": states(model.QuoteArrows)},
	"Trigger":       {"kind": observationKinds, "decides_on": decidingStages, "direction": words(trigger.AtLeast, trigger.AtMost), "wind": words(trigger.LargerOfEnds, trigger.Interpolated), "calendar": words(trigger.Month, trigger.Dekad)},
	"USBankAccount": {"account_type": words(account.Checking, account.Savings)},
	"Attempt":       {"error": words("timeout", "refused", "address", "tls", "dns", "connection", "redirect")},
	"Delivery":      {"status": deliveryStates},

	"WebhookEndpoint":        {"status": states(model.EndpointArrows), "event_types": subscriptions},
	"WebhookEndpointRequest": {"event_types": subscriptions},
	"WebhookEndpointChange":  {"event_types": subscriptions},
}

// states are the words of a life cycle, in the order in which they are reached.
func states[S ~string](arrows []model.Arrow[S]) []any {
	var all []any
	for _, a := range arrows {
		for _, state := range words(a.From, a.To) {
			if !slices.Contains(all, state) {
				all = append(all, state)
			}
		}
	}
	return all
}

func words[S ~string](of ...S) []any {
	var all []any
	for _, word := range of {
		all = append(all, string(word))
	}
	return all
}
