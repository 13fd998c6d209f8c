package model

import (
	"parapet/model/claims"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/underwriting"
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
	all := transitionsOf(store.ResourceQuote, store.Transition[quoting.QuoteStatus]{To: quoting.QuotePriced, Event: event.QuoteCreated}, quoting.QuoteTransitions)
	all = append(all, transitionsOf(store.ResourcePolicy, store.Transition[underwriting.PolicyStatus]{To: underwriting.PolicyActive, Event: event.PolicyActivated}, underwriting.PolicyTransitions)...)
	all = append(all, transitionsOf(store.ResourceClaim, store.Transition[claims.ClaimStatus]{To: claims.ClaimOpened, Event: event.ClaimOpened}, claims.ClaimTransitions)...)
	all = append(all, transitionsOf(store.ResourcePayout, store.Transition[claims.PayoutStatus]{To: claims.PayoutPending, Event: event.PayoutCreated}, claims.PayoutTransitions)...)
	created := store.Transition[payouts.MethodStatus]{To: payouts.MethodPending, Event: event.PayoutMethodRecorded}
	return append(all, transitionsOf(store.ResourcePayoutMethod, created, payouts.PayoutMethodTransitions)...)
}

func transitionsOf[S ~string](resource store.ResourceType, created store.Transition[S], later []store.Transition[S]) []StatusTransition {
	all := []StatusTransition{{resource.Name, "", string(created.To), created.Event}}
	for _, t := range later {
		all = append(all, StatusTransition{resource.Name, string(t.From), string(t.To), t.Event})
	}
	return all
}
