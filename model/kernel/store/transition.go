package store

import "parapet/model/kernel/event"

// findTransition returns the event of a transition; false if it is not allowed.
func findTransition[S ~string](allowed []Transition[S], from, to S) (event.Type, bool) {
	for _, a := range allowed {
		if a.From == from && a.To == to {
			return a.Event, true
		}
	}
	return "", false
}

// Transition is an allowed change of a record's status, with the event it writes.
type Transition[S ~string] struct {
	From, To S
	Event    event.Type
}
