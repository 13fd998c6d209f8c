package model

// StatusTransition is an allowed transition of one type of record, as the invariants
// read it. From is empty for the status that a new record has.
type StatusTransition struct {
	Object   string // the resource type
	From, To string
	Event    EventType
}

// StatusTransitions returns the allowed transitions of all records that have events. The
// migration writes them to the table status_transitions.
func StatusTransitions() []StatusTransition {
	all := transitionsOf(resourceQuote, Transition[QuoteStatus]{To: QuotePriced, Event: EventQuoteCreated}, QuoteTransitions)
	all = append(all, transitionsOf(resourcePolicy, Transition[PolicyStatus]{To: PolicyActive, Event: EventPolicyActivated}, PolicyTransitions)...)
	all = append(all, transitionsOf(resourceClaim, Transition[ClaimStatus]{To: ClaimOpened, Event: EventClaimOpened}, ClaimTransitions)...)
	all = append(all, transitionsOf(resourcePayout, Transition[PayoutStatus]{To: PayoutPending, Event: EventPayoutCreated}, PayoutTransitions)...)
	created := Transition[PayoutMethodStatus]{To: MethodPending, Event: EventPayoutMethodRecorded}
	return append(all, transitionsOf(resourcePayoutMethod, created, PayoutMethodTransitions)...)
}

func transitionsOf[S ~string](resource ResourceType, created Transition[S], later []Transition[S]) []StatusTransition {
	all := []StatusTransition{{resource.name, "", string(created.To), created.Event}}
	for _, t := range later {
		all = append(all, StatusTransition{resource.name, string(t.From), string(t.To), t.Event})
	}
	return all
}
