package receipts

import (
	"slices"

	"parapet/model/internal/rules"
	"parapet/model/receipts/receipt"
)

// completeGrowth adds to a part of a growing claim what its entry in the timeline does not
// have: that the limit cut it. owed is what the determination owes beyond the part before.
func (a *assembly) completeGrowth(part *receipt.Part, owed int64) {
	part.ReasonCodes = slices.DeleteFunc(slices.Clone(part.ReasonCodes), func(code string) bool { return code == rules.ReasonLimitExhausted })
	if owed > part.LimitBefore.Amount && part.Amount.Amount == part.LimitBefore.Amount {
		part.ReasonCodes = append(part.ReasonCodes, rules.ReasonLimitExhausted)
	}
}
