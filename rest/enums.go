package rest

import (
	"reflect"
	"slices"

	"parapet/model"
	"parapet/model/wire"
)

// enums are the words of the member status, by the record or list that has it.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[wire.List[wire.Quote]]():  states(model.QuoteArrows),
	reflect.TypeFor[wire.List[wire.Policy]](): states(model.PolicyArrows),
	reflect.TypeFor[wire.List[wire.Claim]]():  states(model.ClaimArrows),
}

// states are the words of a life cycle, in the order in which they are reached.
func states[S ~string](arrows []model.Arrow[S]) []any {
	var words []any
	for _, a := range arrows {
		for _, state := range []S{a.From, a.To} {
			if !slices.Contains(words, any(string(state))) {
				words = append(words, string(state))
			}
		}
	}
	return words
}
