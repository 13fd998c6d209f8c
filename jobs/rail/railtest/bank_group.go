package railtest

import (
	"net/http"
	"slices"

	"parapet/jobs/rail/httprail"
)

// handleGroup pays the orders of a group. A test may change its answer, see OnGroup.
func (b *Bank) handleGroup(w http.ResponseWriter, r *http.Request) {
	var group httprail.OrderGroup
	if !b.readSigned(r, &group) || r.Header.Get("Idempotency-Key") != "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.groups = append(b.groups, len(group.Orders))
	limit, send, change := b.groupLimit, b.onSend, b.changeGroup
	b.mu.Unlock()
	if limit > 0 && len(group.Orders) > limit {
		b.WriteSigned(w, r, http.StatusRequestEntityTooLarge, httprail.TransferGroup{})
		return
	}
	var said httprail.TransferGroup
	b.mu.Lock()
	for _, order := range group.Orders {
		b.sends++
		transfer, err := b.executeInTime(order)
		if err != nil {
			b.mu.Unlock()
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		said.Transfers = append(said.Transfers, transfer)
	}
	b.mu.Unlock()
	if change != nil {
		change(&said)
	}
	b.applyBehaviour(w, r, send, func() { b.WriteSigned(w, r, http.StatusOK, said) })
}

// OnGroup limits the orders of a group (zero is no limit) and changes the answers to
// groups (nil changes none).
func (b *Bank) OnGroup(limit int, change func(*httprail.TransferGroup)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.groupLimit, b.changeGroup = limit, change
}

// Groups returns the number of orders of each group that arrived.
func (b *Bank) Groups() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.groups)
}
