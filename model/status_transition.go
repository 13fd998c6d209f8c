package model

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// StatusTransition is an allowed transition of one type of record, as the invariants
// read it. From is empty for the status that a new record has.
type StatusTransition struct {
	Object   string // the resource type
	From, To string
	Event    event.Type
}

// StatusTransitions returns the allowed transitions of all records that have events. The
// migration writes them to the table status_transitions.
func StatusTransitions() []StatusTransition {
	all := transitionsOf(store.ResourceQuote, store.Transition[QuoteStatus]{To: QuotePriced, Event: event.QuoteCreated}, QuoteTransitions)
	all = append(all, transitionsOf(store.ResourcePolicy, store.Transition[PolicyStatus]{To: PolicyActive, Event: event.PolicyActivated}, PolicyTransitions)...)
	all = append(all, transitionsOf(store.ResourceClaim, store.Transition[ClaimStatus]{To: ClaimOpened, Event: event.ClaimOpened}, ClaimTransitions)...)
	all = append(all, transitionsOf(store.ResourcePayout, store.Transition[PayoutStatus]{To: PayoutPending, Event: event.PayoutCreated}, PayoutTransitions)...)
	created := store.Transition[PayoutMethodStatus]{To: MethodPending, Event: event.PayoutMethodRecorded}
	return append(all, transitionsOf(store.ResourcePayoutMethod, created, PayoutMethodTransitions)...)
}

func transitionsOf[S ~string](resource store.ResourceType, created store.Transition[S], later []store.Transition[S]) []StatusTransition {
	all := []StatusTransition{{resource.Name, "", string(created.To), created.Event}}
	for _, t := range later {
		all = append(all, StatusTransition{resource.Name, string(t.From), string(t.To), t.Event})
	}
	return all
}
