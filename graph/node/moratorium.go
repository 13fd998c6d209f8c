package node

import (
	"context"
	"time"

	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// Moratorium is a time and a place where no cover is sold.
type Moratorium struct{ *wire.Moratorium }

// IsNode makes it findable.
func (*Moratorium) IsNode() {}

func newMoratoria(records []*wire.Moratorium) []*Moratorium {
	return wrapEach(records, func(m *wire.Moratorium) *Moratorium { return &Moratorium{m} })
}

// Moratorium is one moratorium. Errors: not_found.
func (r *Reader) Moratorium(ctx context.Context, id string) (*Moratorium, error) {
	return toNode(newMoratoria)(r.Service.GetMoratorium(ctx, r.Actor, id))
}

// MoratoriumFilter narrows the list of moratoria.
type MoratoriumFilter struct{ Past bool }

// Moratoria are moratoria, newest first.
func (r *Reader) Moratoria(ctx context.Context, first *int, after *string, filter *MoratoriumFilter, order *string) (*MoratoriumConnection, error) {
	return toConnection(newMoratoria)(r.Service.ListMoratoria(ctx, r.Actor, orEmpty(filter).Past, orderedPage(first, after, order)))
}

// Place is where; nil everywhere.
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

// toModel is nil without one; what is neither of the two, or both, is no place, which
// the domain refuses.
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

// DeclareMoratoriumInput is a moratorium to declare.
type DeclareMoratoriumInput struct {
	Kind             *hazard.Kind
	Place            *PlaceInput
	StartsAt         *time.Time
	EndsAt           time.Time
	Reason           string
	ClientMutationID *string
}

// MoratoriumPayload is a moratorium as it is now.
type MoratoriumPayload struct {
	Moratorium       *Moratorium
	ClientMutationID *string
}

// DeclareMoratorium stops sales.
func (r *Reader) DeclareMoratorium(ctx context.Context, in DeclareMoratoriumInput) (*MoratoriumPayload, error) {
	request := model.MoratoriumRequest{Kind: in.Kind, Place: in.Place.toModel(), StartsAt: in.StartsAt, EndsAt: in.EndsAt, Reason: in.Reason}
	record, err := runMutation(ctx, r, in.ClientMutationID, request, r.Service.DeclareMoratorium)
	moratorium, err := toNode(newMoratoria)(record, err)
	return &MoratoriumPayload{moratorium, in.ClientMutationID}, err
}

// LiftMoratoriumInput is a moratorium to lift.
type LiftMoratoriumInput struct {
	MoratoriumID     string
	ClientMutationID *string
}

// LiftMoratorium ends a moratorium early.
func (r *Reader) LiftMoratorium(ctx context.Context, in LiftMoratoriumInput) (*MoratoriumPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.MoratoriumID, r.Service.LiftMoratorium)
	moratorium, err := toNode(newMoratoria)(record, err)
	return &MoratoriumPayload{moratorium, in.ClientMutationID}, err
}

// MoratoriumRules are the rules there are.
func (r *Reader) MoratoriumRules(ctx context.Context) ([]*wire.MoratoriumRule, error) {
	rules, err := r.Service.ListMoratoriumRules(ctx, r.Actor)
	return pointersTo(rules), err
}

// SetMoratoriumRuleInput is a rule to make, change or take away.
type SetMoratoriumRuleInput struct {
	model.MoratoriumRuleRequest
	ClientMutationID *string
}

// SetMoratoriumRulePayload is what was set.
type SetMoratoriumRulePayload struct {
	Rule             *wire.MoratoriumRule
	ClientMutationID *string
}

// SetMoratoriumRule says which fresh events stop sales.
func (r *Reader) SetMoratoriumRule(ctx context.Context, in SetMoratoriumRuleInput) (*SetMoratoriumRulePayload, error) {
	rule, err := runMutation(ctx, r, in.ClientMutationID, in.MoratoriumRuleRequest, r.Service.SetMoratoriumRule)
	if in.Rule == nil {
		rule = nil
	}
	return &SetMoratoriumRulePayload{rule, in.ClientMutationID}, err
}
