package httprail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"parapet/jobs/rail"
)

// GroupSize implements rail.GroupRail.
func (r *Rail) GroupSize() int { return r.config.GroupSize }

// groupStatuses are the statuses that a transfer may have in the answer to a group.
var groupStatuses = []string{statusAccepted, statusRefused, statusPending, statusExpired, statusVoided}

var (
	errNoTransfer   = errors.New("the rail's answer has no transfer for the key")
	errTwoTransfers = errors.New("the rail's answer has several transfers for the key")
)

// SendGroup implements rail.GroupRail. An answer other than 200 leaves all orders in
// doubt, except 413: the rail has read none of them, and each half is sent in a call of
// its own.
func (r *Rail) SendGroup(ctx context.Context, instructions []rail.Instruction) []rail.Result {
	results := make([]rail.Result, len(instructions))
	var places []int
	for i, instruction := range instructions {
		if !r.config.Capabilities.SupportsCurrency(instruction.Amount.Currency) {
			results[i] = rail.Result{Outcome: rail.Refused, Code: rail.CodeCurrencyUnsupported}
			continue
		}
		places = append(places, i)
	}
	r.sendPlaces(ctx, instructions, places, results)
	return results
}

// sendPlaces sends the instructions at some places and writes their results.
func (r *Rail) sendPlaces(ctx context.Context, instructions []rail.Instruction, places []int, results []rail.Result) {
	if len(places) == 0 {
		return
	}
	orders := make([]Order, len(places))
	for i, place := range places {
		orders[i] = newOrder(instructions[place])
	}
	expired := func() bool {
		return slices.ContainsFunc(places, func(place int) bool { return instructions[place].Expired(r.config.Now()) })
	}
	guard := &orderBody{expired: expired}
	var said TransferGroup
	status, code, err := r.callRail(withOrderBody(ctx, guard), http.MethodPost, "transfers/batch", "", OrderGroup{orders}, &said, maxPageSize)
	if err == nil && status == http.StatusRequestEntityTooLarge && len(places) > 1 {
		r.sendPlaces(ctx, instructions, places[:len(places)/2], results)
		r.sendPlaces(ctx, instructions, places[len(places)/2:], results)
		return
	}
	if err == nil && status != http.StatusOK {
		code, err = codeUnreadable, fmt.Errorf("%w: %d", errStatus, status)
	}
	for _, place := range places {
		switch {
		case guard.heldBack.Load():
			results[place] = rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired}
		case err != nil && !guard.read.Load():
			results[place] = rail.Result{Outcome: rail.NotSent, Code: code, Err: err}
		case err != nil:
			results[place] = rail.InDoubt(code, err)
		default:
			results[place] = said.resultOf(instructions[place].Key)
		}
	}
}

// resultOf returns the result of a key. A key without exactly one transfer, or with one
// that orders cannot have, is in doubt.
func (g TransferGroup) resultOf(key string) rail.Result {
	var found *Transfer
	for i := range g.Transfers {
		if g.Transfers[i].Key != key {
			continue
		}
		if found != nil {
			return rail.InDoubt(codeUnreadable, errTwoTransfers)
		}
		found = &g.Transfers[i]
	}
	switch {
	case found == nil:
		return rail.InDoubt(codeUnreadable, errNoTransfer)
	case !slices.Contains(groupStatuses, found.Status):
		return rail.InDoubt(codeUnreadable, errUnknownStatus)
	default:
		return found.toResult(key)
	}
}
