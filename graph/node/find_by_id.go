package node

import (
	"context"
	"fmt"
	"strings"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// toNode makes the node of a single record.
func toNode[R, N any](together func([]*R) []*N) func(*R, error) (*N, error) {
	return func(record *R, err error) (*N, error) {
		if err != nil {
			return nil, err
		}
		return together([]*R{record})[0], nil
	}
}

// nodeLoader reads nodes of one type by their ids.
type nodeLoader func(ctx context.Context, ids []string) (map[string]Node, error)

func newNodeLoader[R, N any, P interface {
	*N
	Node
}](r *Reader, read func(context.Context, actor.Actor, []string) (map[string]*R, error), together func([]*R) []*N) nodeLoader {
	return func(ctx context.Context, ids []string) (map[string]Node, error) {
		found, err := read(ctx, r.Actor, ids)
		nodes := make(map[string]Node, len(found))
		for id, node := range nodesByID(ids, found, together) {
			nodes[id] = P(node)
		}
		return nodes, err
	}
}

// nodeLoaders returns the loaders of all types with ids, by id prefix.
func (r *Reader) nodeLoaders() map[string]nodeLoader {
	s := r.Service
	return map[string]nodeLoader{
		"quo": newNodeLoader(r, s.Quotes.ByID, r.newQuotes),
		"pol": newNodeLoader(r, s.Policies.BareByID, r.newPolicies),
		"clm": newNodeLoader(r, s.Claims.ByID, r.newClaims),
		"att": newNodeLoader(r, s.Claims.AttachmentsByID, r.newAttachments),
		"msg": newNodeLoader(r, s.Claims.MessagesByID, r.newMessages),
		"pmt": newNodeLoader(r, s.Payouts.MethodsByID, r.newPayoutMethods),
		"pay": newNodeLoader(r, s.Claims.PayoutsByID, r.newPayouts),
		"evt": newNodeLoader(r, s.Events.ByID, r.newEvents),
		"whe": newNodeLoader(r, s.Webhooks.EndpointsByID, r.newWebhookEndpoints),
		"dlv": newNodeLoader(r, s.Webhooks.DeliveriesByID, r.newDeliveries),
		"occ": newNodeLoader(r, s.Occurrences.ByID, r.newOccurrences),
		"obs": newNodeLoader(r, s.Occurrences.ObservationsByID, newObservations),
		"mor": newNodeLoader(r, s.Capacity.MoratoriaByID, newMoratoria),
	}
}

// Node returns a record of any type; nil when there is none.
func (r *Reader) Node(ctx context.Context, id string) (Node, error) {
	found, err := r.Nodes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Nodes returns records of any type in the order of ids, with one read per type.
func (r *Reader) Nodes(ctx context.Context, ids []string) ([]Node, error) {
	if len(ids) > store.MaxPageSize {
		return nil, apperr.BadParameter(apperr.FieldError{Pointer: "ids", Code: "length", Detail: fmt.Sprintf("Name at most %d ids.", store.MaxPageSize)})
	}
	kinds := map[string][]string{}
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "_")
		kinds[prefix] = append(kinds[prefix], id)
	}
	all, finders := map[string]Node{}, r.nodeLoaders()
	for prefix, those := range kinds {
		if find := finders[prefix]; find != nil {
			found, err := find(ctx, those)
			if err != nil {
				return nil, err
			}
			for id, node := range found {
				all[id] = node
			}
		}
	}
	nodes := make([]Node, len(ids))
	for i, id := range ids {
		nodes[i] = all[id]
	}
	return nodes, nil
}
