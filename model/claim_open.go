package model

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/money"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// SourceEvent names something that happened as its source does.
type SourceEvent struct {
	Source string
	ID     string
}

// ClaimRequest opens a claim. With an observation or a source event the trigger
// decides; with neither an operator does.
type ClaimRequest struct {
	PolicyID         string
	Origin           Origin // empty: follows from the rest
	ObservationID    *string
	SourceEvent      *SourceEvent
	OccurredAt       *time.Time
	Description      *string
	RequestedAmount  *wire.Money
	PartnerReference *string
	Metadata         map[string]string
}

const maxDescription = 10_000

// OpenClaim opens a claim; created is false when the policy has a claim for this
// occurrence already, which is then the answer. Errors: not_found,
// validation_failed, trigger_not_met with every number, policy_not_in_force,
// limit_exhausted, reference_taken, rate_limited after approvalQuota claims of origin
// approval in a day.
func (s *Service) OpenClaim(ctx context.Context, actor Actor, in ClaimRequest) (claim *wire.Claim, created bool, err error) {
	if err := s.authorize(ctx, actor, ScopeClaimsWrite); err != nil {
		return nil, false, err
	}
	if err := s.checkClaim(ctx, &in); err != nil {
		return nil, false, err
	}
	policy, err := nounPolicy.parse(in.PolicyID)
	if err != nil {
		return nil, false, err
	}
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row := new(policyRow)
		if err := u.locked(ctx, row, policy, nounPolicy); err != nil {
			return err
		}
		if in.RequestedAmount != nil && in.RequestedAmount.Currency != row.Currency {
			return Invalid(wrong("/requested_amount/currency", "value", "Use the policy's currency, "+row.Currency+"."))
		}
		open := u.openApproval
		if in.triggered() {
			open = u.openTriggered
		}
		var id uuid.UUID
		if id, created, err = open(ctx, row, in); err != nil {
			return err
		}
		opened, err := u.lockClaim(ctx, id)
		if err != nil {
			return err
		}
		if claim, err = u.publicClaim(ctx, opened); err != nil {
			return err
		}
		return u.answered(map[bool]int{true: statusCreated, false: statusOK}[created], claim.ID, claim)
	})
	return claim, created, s.naming(ctx, actor, err, nounClaim, (*claimRow)(nil), in.PartnerReference)
}

func (in *ClaimRequest) triggered() bool { return in.ObservationID != nil || in.SourceEvent != nil }

// checkClaim judges what needs no policy.
func (s *Service) checkClaim(ctx context.Context, in *ClaimRequest) error {
	c := checking(ctx)
	c.references(in.PartnerReference, in.Metadata)
	c.that(in.ObservationID == nil || in.SourceEvent == nil, "/source_event", "not_allowed", "Name an observation or a source event, not both.")
	switch in.Origin {
	case "", OriginTrigger, OriginApproval:
	default:
		c.that(false, "/origin", "enum", "Use trigger or approval, or leave it out.")
	}
	c.that(in.Origin != OriginTrigger || in.triggered() || !c.readable("/observation_id"), "/source_event", "required", "A claim of origin trigger names an observation_id or a source_event.")
	c.that(in.Origin != OriginApproval || !in.triggered(), "/origin", "value", "A claim that names what happened has the origin trigger.")
	c.that(in.SourceEvent == nil || sourceName.MatchString(in.SourceEvent.Source), "/source_event/source", "pattern", "Use the source's name, such as usgs.")
	c.that(in.SourceEvent == nil || named(in.SourceEvent.ID), "/source_event/id", "length", "Use the source's id of the event, 1 to 128 characters.")
	c.that(in.Description == nil || utf8.RuneCountInString(*in.Description) <= maxDescription, "/description", "length", fmt.Sprintf("Use at most %d characters.", maxDescription))
	c.that(in.RequestedAmount == nil || in.RequestedAmount.Amount > 0, "/requested_amount/amount", "minimum", "Ask for at least 1 minor unit.")
	c.that(in.RequestedAmount == nil || money.Known(in.RequestedAmount.Currency), "/requested_amount/currency", "value", "Use an ISO 4217 code in capitals, such as USD.")
	if in.OccurredAt != nil {
		now, err := s.now(ctx)
		if err != nil {
			return explain(fmt.Errorf("read clock: %w", err))
		}
		c.that(!in.OccurredAt.After(now), "/occurred_at", "future", "It lies in the future; only what has happened can be claimed.")
	}
	return c.refusal()
}

// openApproval opens a claim that an operator decides.
func (u *unit) openApproval(ctx context.Context, p *policyRow, in ClaimRequest) (uuid.UUID, bool, error) {
	if err := firstOf(u.claimable(p, in.OccurredAt), u.withinApprovalQuota(ctx, p)); err != nil {
		return uuid.Nil, false, err
	}
	row := &claimRow{
		header: u.fresh(p.Partner), references: references{in.PartnerReference, in.Metadata},
		PolicyID: p.ID, Product: &p.Product, Status: ClaimOpened, Origin: OriginApproval, Description: in.Description,
		OccurredAt: in.OccurredAt, Currency: p.Currency, ReasonCodes: []string{}, OpenedAt: u.now,
	}
	if in.RequestedAmount != nil {
		row.RequestedAmount = &in.RequestedAmount.Amount
	}
	event, err := u.record(EventClaimOpened, &row.header, nounClaim, row.public(claimParts{}))
	if err != nil {
		return uuid.Nil, false, err
	}
	if err := u.tell(row, EventClaimOpened, &event, "The claim was opened and waits for an operator's decision.", map[string]any{"origin": row.Origin}); err != nil {
		return uuid.Nil, false, err
	}
	if _, err := u.NewInsert().Model(row).Exec(ctx); err != nil {
		return uuid.Nil, false, fmt.Errorf("insert claim: %w", err)
	}
	return row.ID, true, nil
}

// claimable refuses claims before cover began, for a time outside of it, and
// after the reporting window.
func (u *unit) claimable(p *policyRow, occurred *time.Time) error {
	refuse := func(why string) error {
		e := Fail(CodePolicyNotInForce, "This policy takes no such claim: %s.", why)
		e.ResourceID = nounPolicy.id(p.ID)
		return e
	}
	switch {
	case p.Status == PolicyArchived || !u.clock.Before(p.ReportableUntil):
		return refuse("its reporting window is over")
	case u.now.Before(p.EffectiveAt):
		return refuse("its cover begins at " + p.EffectiveAt.Format(time.RFC3339))
	case occurred != nil && !p.covered().Contains(*occurred):
		return refuse("occurred_at lies outside its period of cover")
	case occurred == nil && !p.covered().Contains(u.now):
		return refuse("its period of cover is over; say when it happened in occurred_at")
	case p.LimitRemaining == 0:
		e := Fail(CodeLimitExhausted, "Nothing is left of this policy's limit.")
		e.ResourceID = nounPolicy.id(p.ID)
		return e
	default:
		return nil
	}
}

// openTriggered asks the trigger about what the request names.
func (u *unit) openTriggered(ctx context.Context, p *policyRow, in ClaimRequest) (uuid.UUID, bool, error) {
	occ, facts, err := u.named(ctx, p, in)
	if err != nil {
		return uuid.Nil, false, err
	}
	j := judging{unit: u, occurrence: occ, facts: facts, request: &in}
	if err := j.read(ctx, []*policyRow{p}); err != nil {
		return uuid.Nil, false, err
	}
	if have := j.existing[p.ID]; have != nil {
		return have.ID, false, nil
	}
	d := j.evaluate(p)
	retracted := j.retractedClaim(p)
	switch {
	case !d.Met && retracted != nil:
		return retracted.ID, false, nil
	case !d.Met && j.lostByRetraction(p, d):
		e := Fail(CodeTriggerNotMet, "The trigger is not met: the source retracted what it reported.")
		e.Extra = map[string]any{"reason": string(ReasonSourceRetracted)}
		return uuid.Nil, false, e
	case d.Reason != trigger.EvidenceNeeded && (!d.Met || d.Amount == 0):
		return uuid.Nil, false, missed(p, facts, d)
	case p.Status == PolicyArchived || !u.clock.Before(p.ReportableUntil):
		return uuid.Nil, false, Fail(CodePolicyNotInForce, "This policy takes no claims any more: its reporting window is over.")
	case p.LimitRemaining == 0:
		e := Fail(CodeLimitExhausted, "The trigger is met, but nothing is left of this policy's limit.")
		e.ResourceID = nounPolicy.id(p.ID)
		return uuid.Nil, false, e
	}
	if err := j.settle(ctx); err != nil {
		return uuid.Nil, false, err
	}
	return j.existing[p.ID].ID, true, nil
}

// named finds the occurrence a request names: by an observation's id, by the
// source's id, or for rain by <station>/<any day of it>.
func (u *unit) named(ctx context.Context, p *policyRow, in ClaimRequest) (*occurrenceRow, trigger.Occurrence, error) {
	var none trigger.Occurrence
	if in.ObservationID != nil {
		id, err := nounObservation.parse(*in.ObservationID)
		if err != nil {
			return nil, none, err
		}
		row := new(observationRow)
		err = u.NewSelect().Model(row).Where("id = ?", id).Where("scope in ('', ?)", p.Partner).Scan(ctx)
		if absent(err) {
			return nil, none, nounObservation.notFound()
		}
		if err != nil {
			return nil, none, fmt.Errorf("read observation: %w", err)
		}
		if row.Kind == hazard.StationDay {
			return u.rainOn(ctx, p, station{row.Scope, row.Source, *row.Station}, row.Day.UTC())
		}
		return u.occurrence(ctx, *row.OccurrenceID)
	}
	event := in.SourceEvent
	if name, day, ok := stationDay(event.ID); ok && p.Station != nil {
		at, err := stationAt(ctx, u, p, event.Source, name, day)
		if err != nil {
			return nil, none, err
		}
		return u.rainOn(ctx, p, at, day)
	}
	id, err := aliased(ctx, u, p, *event)
	if err != nil {
		return nil, none, err
	}
	return u.occurrence(ctx, id)
}

// noSuchEvent answers a source's name that leads nowhere.
func noSuchEvent() *Error {
	return Fail(CodeNotFound, "There is no occurrence of this source with this id.")
}

// aliased is the occurrence that a source's name leads to in the eyes of a
// policy: one of its own kind first, then what its partner rehearsed.
func aliased(ctx context.Context, db bun.IDB, p *policyRow, event SourceEvent) (uuid.UUID, error) {
	alias := new(aliasRow)
	err := db.NewSelect().Model(alias).Where("source = ?", event.Source).Where("alias = ?", event.ID).
		Where("scope in ('', ?)", p.Partner).OrderExpr("kind <> ?, scope desc", p.Kind).Limit(1).Scan(ctx)
	if absent(err) {
		return uuid.Nil, noSuchEvent()
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("read alias: %w", err)
	}
	return alias.OccurrenceID, nil
}

// rainOn is the occurrence of the policy's definition that a day at a station lies in.
// Errors: trigger_not_met for another station, and for a day that lies in none.
func (u *unit) rainOn(ctx context.Context, p *policyRow, at station, day time.Time) (*occurrenceRow, trigger.Occurrence, error) {
	if p.Station == nil || *p.Station != at.name {
		e := Fail(CodeTriggerNotMet, "The trigger is not met: the policy's place is not the station %s.", at.name)
		e.Extra = map[string]any{"reason": string(trigger.OutsidePlace)}
		return nil, trigger.Occurrence{}, e
	}
	row, recorded, err := at.occurrenceOn(ctx, u, p, day)
	if err != nil {
		return nil, trigger.Occurrence{}, err
	}
	if recorded {
		return u.occurrence(ctx, row.ID)
	}
	loaded := []happening{{row: row}}
	if err := stationFacts(ctx, u, loaded); err != nil {
		return nil, trigger.Occurrence{}, err
	}
	facts := loaded[0].facts
	return nil, facts, missed(p, facts, trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, facts))
}
