package node

import (
	"context"
	"fmt"
	"strings"

	"parapet/model"
)

// one makes the node of a single record.
func one[R, N any](together func([]*R) []*N) func(*R, error) (*N, error) {
	return func(record *R, err error) (*N, error) {
		if err != nil {
			return nil, err
		}
		return together([]*R{record})[0], nil
	}
}

// finder reads nodes of one kind by their ids.
type finder func(ctx context.Context, ids []string) (map[string]Node, error)

func finds[R, N any, P interface {
	*N
	Node
}](r *Reader, read func(context.Context, model.Actor, []string) (map[string]*R, error), together func([]*R) []*N) finder {
	return func(ctx context.Context, ids []string) (map[string]Node, error) {
		found, err := read(ctx, r.Actor, ids)
		nodes := make(map[string]Node, len(found))
		for id, node := range byID(ids, found, together) {
			nodes[id] = P(node)
		}
		return nodes, err
	}
}

// finders are the kinds that have ids, by their prefix.
func (r *Reader) finders() map[string]finder {
	s := r.Service
	return map[string]finder{
		"quo": finds(r, s.QuotesByID, r.quotes),
		"pol": finds(r, s.BarePoliciesByID, r.policies),
		"clm": finds(r, s.ClaimsByID, r.claims),
		"att": finds(r, s.AttachmentsByID, r.attachments),
		"msg": finds(r, s.MessagesByID, r.messages),
		"pmt": finds(r, s.PayoutMethodsByID, r.payoutMethods),
		"pay": finds(r, s.PayoutsByID, r.payouts),
		"evt": finds(r, s.EventsByID, r.events),
		"whe": finds(r, s.WebhookEndpointsByID, r.webhookEndpoints),
		"dlv": finds(r, s.DeliveriesByID, r.deliveries),
		"occ": finds(r, s.OccurrencesByID, r.occurrences),
		"obs": finds(r, s.ObservationsByID, observations),
		"mor": finds(r, s.MoratoriaByID, moratoria),
	}
}

// Node finds a record of any kind; nil when there is none.
func (r *Reader) Node(ctx context.Context, id string) (Node, error) {
	found, err := r.Nodes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Nodes finds records of any kind, in the order of their ids, in one read a kind.
func (r *Reader) Nodes(ctx context.Context, ids []string) ([]Node, error) {
	if len(ids) > model.MaxPageSize {
		return nil, model.BadParameter(model.FieldError{Pointer: "ids", Code: "length", Detail: fmt.Sprintf("Name at most %d ids.", model.MaxPageSize)})
	}
	kinds := map[string][]string{}
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "_")
		kinds[prefix] = append(kinds[prefix], id)
	}
	all, finders := map[string]Node{}, r.finders()
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
