package rest

import (
	"reflect"
	"slices"

	"parapet/model"
	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/pricing"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// statusesByList are the values of the filter status, by type of list.
var statusesByList = map[reflect.Type][]any{
	reflect.TypeFor[wire.List[wire.Quote]]():  stateValues(model.QuoteTransitions),
	reflect.TypeFor[wire.List[wire.Policy]](): stateValues(model.PolicyTransitions),
	reflect.TypeFor[wire.List[wire.Claim]]():  stateValues(model.ClaimTransitions),

	reflect.TypeFor[wire.List[wire.WebhookEndpoint]](): stateValues(model.EndpointTransitions),
	reflect.TypeFor[wire.List[wire.Delivery]]():        deliveryStates,
}

var (
	deliveryStates    = enumValues(model.DeliveryPending, model.DeliveryDelivered, model.DeliveryFailed)
	subscribableTypes = append([]any{model.AllEvents}, eventTypes("")...)
	observationKinds  = enumValues(hazard.Earthquake, hazard.StormFix, hazard.StationDay)
	observationStages = enumValues(trigger.Preliminary, trigger.Final, trigger.Retracted)
	decisionStages    = enumValues(trigger.Preliminary, trigger.Final)
	placeKinds        = enumValues(trigger.Circle, trigger.AtStation)
	accountTypes      = enumValues(account.TypeIBAN, account.TypeUSBankAccount, account.TypeMobileMoney)
)

// enumsBySchema are the values of enum members, by schema and member. Any release may add
// values, as the introduction says.
var enumsBySchema = map[string]map[string][]any{
	"Actor":         {"kind": enumValues(actor.KindSystem, actor.KindPartner, actor.KindOperator, actor.KindRail, actor.KindSource)},
	"Attachment":    {"status": enumValues(model.AttachmentStored)},
	"Claim":         {"status": stateValues(model.ClaimTransitions), "origin": enumValues(model.OriginTrigger, model.OriginApproval)},
	"ClaimBrief":    {"status": stateValues(model.ClaimTransitions)},
	"Decision":      {"outcome": enumValues(model.ClaimApproved, model.ClaimDeferred, model.ClaimDeclined)},
	"Determination": {"stage": enumValues(model.DeterminationPreliminary, model.DeterminationFinal)},
	"Event":         {"type": eventTypes("")},
	"Subject":       {"type": subjectTypes()},
	"TimelineEntry": {"kind": append(eventTypes(""), "trigger.observed")},
	"Line": {"kind": enumValues(pricing.ExpectedLoss, pricing.UncertaintyLoad, pricing.RiskLoad, pricing.Expense,
		pricing.Commission, pricing.MinimumPremium)},
	"Observation":       {"kind": observationKinds, "stage": observationStages},
	"ObservationInput":  {"kind": observationKinds, "stage": observationStages},
	"ObservationResult": {"result": enumValues(model.ResultCreated, model.ResultRevised, model.ResultUnchanged, model.ResultRejected)},
	"Payout": {"status": stateValues(model.PayoutTransitions), "blocked_reason": enumValues(model.BlockedMethodMissing, model.BlockedMethodUnverified,
		model.BlockedApproval, model.BlockedRailRejected, model.BlockedRailMismatch, model.BlockedCompliance, model.BlockedOperator)},
	"PayoutDestination": {"status": stateValues(model.PayoutMethodTransitions), "type": accountTypes},
	"PayoutMethod":      {"status": stateValues(model.PayoutMethodTransitions), "type": accountTypes},
	"PayoutShape":       {"shape": enumValues(trigger.Lump, trigger.Step, trigger.Linear, trigger.Tick)},
	"Place":             {"kind": placeKinds},
	"Policy": {"status": stateValues(model.PolicyTransitions), "cover_phase": enumValues(model.CoverScheduled, model.CoverWaiting,
		model.CoverInForce, model.CoverEnded)},
	"Product":       {"place": placeKinds},
	"Quote":         {"status": stateValues(model.QuoteTransitions)},
	"Trigger":       {"kind": observationKinds, "decides_on": decisionStages, "direction": enumValues(trigger.AtLeast, trigger.AtMost), "wind": enumValues(trigger.LargerOfEnds, trigger.Interpolated), "calendar": enumValues(trigger.Month, trigger.Dekad)},
	"USBankAccount": {"account_type": enumValues(account.Checking, account.Savings)},
	"Attempt":       {"error": enumValues("timeout", "refused", "address", "tls", "dns", "connection", "redirect")},
	"Delivery":      {"status": deliveryStates},

	"WebhookEndpoint":        {"status": stateValues(model.EndpointTransitions), "event_types": subscribableTypes},
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
