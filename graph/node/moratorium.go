package node

import (
	"context"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/optional"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// Moratorium is a period and an area in which no cover is sold.
type Moratorium struct{ *wire.Moratorium }

// IsNode implements Node.
func (*Moratorium) IsNode() {}

func newMoratoria(records []*wire.Moratorium) []*Moratorium {
	return wrapEach(records, func(m *wire.Moratorium) *Moratorium { return &Moratorium{m} })
}

// Moratorium returns a moratorium. Errors: not_found.
func (r *Reader) Moratorium(ctx context.Context, id string) (*Moratorium, error) {
	return toNode(newMoratoria)(r.Service.Capacity.GetMoratorium(ctx, r.Actor, id))
}

// MoratoriumFilter filters the list of moratoria.
type MoratoriumFilter struct{ Past bool }

// Moratoria lists moratoria, newest first.
func (r *Reader) Moratoria(ctx context.Context, first *int, after *string, filter *MoratoriumFilter, order *string) (*MoratoriumConnection, error) {
	return toConnection(newMoratoria)(r.Service.Capacity.ListMoratoria(ctx, r.Actor, optional.OrZero(filter).Past, orderedPage(first, after, order)))
}

// Place returns the area; nil means everywhere.
func (m *Moratorium) Place() *Place {
	switch {
	case m.Station != nil:
		return &Place{trigger.Place{Kind: trigger.AtStation, Station: *m.Station}}
	case m.Latitude != nil:
		return &Place{trigger.Place{Kind: trigger.Circle, Latitude: *m.Latitude, Longitude: *m.Longitude, RadiusKM: *m.RadiusKM}}
	default:
		return nil
	}
}

// PlaceInput is a circle or a station.
type PlaceInput struct {
	Circle  *CircleInput
	Station *string
}

// CircleInput is a centre and a radius.
type CircleInput struct{ Latitude, Longitude, RadiusKM float64 }

// toModel returns nil without input. Neither or both of circle and station give an
// invalid place, which the domain rejects.
func (in *PlaceInput) toModel() *trigger.Place {
	switch {
	case in == nil:
		return nil
	case in.Circle != nil && in.Station == nil:
		return &trigger.Place{Kind: trigger.Circle, Latitude: in.Circle.Latitude, Longitude: in.Circle.Longitude, RadiusKM: in.Circle.RadiusKM}
	case in.Station != nil && in.Circle == nil:
		return &trigger.Place{Kind: trigger.AtStation, Station: *in.Station}
	default:
		return new(trigger.Place)
	}
}

// DeclareMoratoriumInput is the input of DeclareMoratorium.
type DeclareMoratoriumInput struct {
	Kind             *hazard.Peril
	Place            *PlaceInput
	StartsAt         *time.Time
	EndsAt           time.Time
	Reason           string
	ClientMutationID *string
}

// MoratoriumPayload is the moratorium after a mutation.
type MoratoriumPayload struct {
	Moratorium       *Moratorium
	ClientMutationID *string
}

// DeclareMoratorium stops sales in an area for a period.
func (r *Reader) DeclareMoratorium(ctx context.Context, in DeclareMoratoriumInput) (*MoratoriumPayload, error) {
	request := capacity.MoratoriumRequest{Kind: in.Kind, Place: in.Place.toModel(), StartsAt: in.StartsAt, EndsAt: in.EndsAt, Reason: in.Reason}
	record, err := runMutation(ctx, r, in.ClientMutationID, request, r.Service.Capacity.DeclareMoratorium)
	moratorium, err := toNode(newMoratoria)(record, err)
	return &MoratoriumPayload{moratorium, in.ClientMutationID}, err
}

// LiftMoratoriumInput is the input of LiftMoratorium.
type LiftMoratoriumInput struct {
	MoratoriumID     string
	ClientMutationID *string
}

// LiftMoratorium ends a moratorium early.
func (r *Reader) LiftMoratorium(ctx context.Context, in LiftMoratoriumInput) (*MoratoriumPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.MoratoriumID, r.Service.Capacity.LiftMoratorium)
	moratorium, err := toNode(newMoratoria)(record, err)
	return &MoratoriumPayload{moratorium, in.ClientMutationID}, err
}

// MoratoriumRules lists the moratorium rules.
func (r *Reader) MoratoriumRules(ctx context.Context) ([]*wire.MoratoriumRule, error) {
	rules, err := r.Service.Capacity.ListMoratoriumRules(ctx, r.Actor)
	return pointersTo(rules), err
}

// SetMoratoriumRuleInput is the input of SetMoratoriumRule.
type SetMoratoriumRuleInput struct {
	capacity.MoratoriumRuleRequest
	ClientMutationID *string
}

// SetMoratoriumRulePayload is the rule after the mutation.
type SetMoratoriumRulePayload struct {
	Rule             *wire.MoratoriumRule
	ClientMutationID *string
}

// SetMoratoriumRule sets or removes the rule for automatic moratoria after new events.
func (r *Reader) SetMoratoriumRule(ctx context.Context, in SetMoratoriumRuleInput) (*SetMoratoriumRulePayload, error) {
	rule, err := runMutation(ctx, r, in.ClientMutationID, in.MoratoriumRuleRequest, r.Service.Capacity.SetMoratoriumRule)
	if in.Rule == nil {
		rule = nil
	}
	return &SetMoratoriumRulePayload{rule, in.ClientMutationID}, err
}
