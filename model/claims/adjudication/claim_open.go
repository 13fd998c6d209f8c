package adjudication

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// ClaimRequest opens a claim. With an observation or a source event the trigger decides;
// without either an operator decides.
type ClaimRequest struct {
	PolicyID         string
	Origin           claims.Origin // empty: derived from the other fields
	ObservationID    *string
	SourceEvent      *SourceEvent
	OccurredAt       *time.Time
	Description      *string
	RequestedAmount  *wire.Money
	PartnerReference *string
	Metadata         map[string]string
}

const maxDescriptionLength = 10_000

// Open opens a claim. created is false when the policy already has a claim for this
// occurrence; that claim is returned.
func (s *Service) Open(ctx context.Context, caller actor.Actor, in ClaimRequest) (claim *wire.Claim, created bool, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsWrite); err != nil {
		return nil, false, err
	}
	if err := s.validateClaim(ctx, &in); err != nil {
		return nil, false, err
	}
	policy, err := store.ResourcePolicy.ParseID(in.PolicyID)
	if err != nil {
		return nil, false, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(underwriting.PolicyRow)
		if err := tx.LockRow(ctx, row, policy, store.ResourcePolicy); err != nil {
			return err
		}
		if in.RequestedAmount != nil && in.RequestedAmount.Currency != row.Currency {
			return apperr.Invalid(apperr.NewFieldError("/requested_amount/currency", "value", "Use the policy's currency, "+row.Currency+"."))
		}
		open := func(ctx context.Context, p *underwriting.PolicyRow, in ClaimRequest) (uuid.UUID, bool, error) {
			return openApprovalClaim(ctx, tx, p, in)
		}
		if in.namesEvent() {
			open = func(ctx context.Context, p *underwriting.PolicyRow, in ClaimRequest) (uuid.UUID, bool, error) {
				return openTriggeredClaim(ctx, tx, p, in)
			}
		}
		var id uuid.UUID
		if id, created, err = open(ctx, row, in); err != nil {
			return err
		}
		opened, err := claims.LockClaim(ctx, tx, id)
		if err != nil {
			return err
		}
		if claim, err = claims.LoadClaimRecord(ctx, tx, opened); err != nil {
			return err
		}
		if err := measured.Attach(ctx, tx, claim); err != nil {
			return err
		}
		return tx.StoreResponse(map[bool]int{true: store.StatusCreated, false: store.StatusOK}[created], claim.ID, claim)
	})
	return claim, created, s.AddReferenceHolder(ctx, caller, err, store.ResourceClaim, (*claims.ClaimRow)(nil), in.PartnerReference)
}

func (in *ClaimRequest) namesEvent() bool { return in.ObservationID != nil || in.SourceEvent != nil }

// validateClaim validates the fields that do not depend on the policy.
func (s *Service) validateClaim(ctx context.Context, in *ClaimRequest) error {
	v := apperr.NewValidator(ctx)
	v.RequireReferences(in.PartnerReference, in.Metadata)
	v.Require(in.ObservationID == nil || in.SourceEvent == nil, "/source_event", "not_allowed", "Name an observation or a source event, not both.")
	switch in.Origin {
	case "", claims.OriginTrigger, claims.OriginApproval:
	default:
		v.Require(false, "/origin", "enum", "Use trigger or approval, or leave it out.")
	}
	v.Require(in.Origin != claims.OriginTrigger || in.namesEvent() || !v.IsParsed("/observation_id"), "/source_event", "required", "A claim of origin trigger names an observation_id or a source_event.")
	v.Require(in.Origin != claims.OriginApproval || !in.namesEvent(), "/origin", "value", "A claim that names an observation or a source event has the origin trigger.")
	v.Require(in.SourceEvent == nil || occurrence.SourcePattern.MatchString(in.SourceEvent.Source), "/source_event/source", "pattern", "Use the source's name, such as usgs.")
	v.Require(in.SourceEvent == nil || occurrence.IsValidName(in.SourceEvent.ID), "/source_event/id", "length", "Use the source's id of the event, 1 to 128 characters.")
	v.Require(in.Description == nil || utf8.RuneCountInString(*in.Description) <= maxDescriptionLength, "/description", "length", fmt.Sprintf("Use at most %d characters.", maxDescriptionLength))
	v.Require(in.RequestedAmount == nil || in.RequestedAmount.Amount > 0, "/requested_amount/amount", "minimum", "Ask for at least 1 minor unit.")
	v.Require(in.RequestedAmount == nil || money.IsCurrency(in.RequestedAmount.Currency), "/requested_amount/currency", "value", "Use an ISO 4217 code in capitals, such as USD.")
	if in.OccurredAt != nil {
		now, err := s.ReadClock(ctx)
		if err != nil {
			return store.TranslateError(fmt.Errorf("read clock: %w", err))
		}
		v.Require(!in.OccurredAt.After(now), "/occurred_at", "future", "It is in the future; only an event that has happened can be claimed.")
	}
	return v.Err()
}

// openApprovalClaim opens a claim that an operator decides.
func openApprovalClaim(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, in ClaimRequest) (uuid.UUID, bool, error) {
	if err := cmp.Or(checkClaimable(tx, p, in.OccurredAt), claims.CheckApprovalQuota(ctx, tx, p)); err != nil {
		return uuid.Nil, false, err
	}
	row := &claims.ClaimRow{
		RowHeader: tx.NewHeader(p.Partner), PartnerFields: store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata},
		PolicyID: p.ID, Product: p.Product, Status: claims.ClaimOpened, Origin: claims.OriginApproval, Description: in.Description,
		OccurredAt: in.OccurredAt, Currency: p.Currency, ReasonCodes: []string{}, OpenedAt: tx.Now,
	}
	if in.RequestedAmount != nil {
		row.RequestedAmount = &in.RequestedAmount.Amount
	}
	occurred, err := tx.AppendEvent(event.ClaimOpened, &row.RowHeader, store.ResourceClaim, row.ToRecord(claims.ClaimRelations{}))
	if err != nil {
		return uuid.Nil, false, err
	}
	if err := claims.AppendTimeline(tx, row, event.ClaimOpened, &occurred, "The claim was opened and waits for an operator's decision.", map[string]any{"origin": row.Origin}); err != nil {
		return uuid.Nil, false, err
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return uuid.Nil, false, fmt.Errorf("insert claim: %w", err)
	}
	return row.ID, true, nil
}

// checkClaimable rejects claims before cover begins, for a time outside the cover, and
// after the reporting window.
func checkClaimable(tx *store.Tx, p *underwriting.PolicyRow, occurred *time.Time) error {
	refuse := func(why string) error {
		e := apperr.Fail(apperr.CodePolicyNotInForce, "The policy does not accept this claim: %s.", why)
		e.ResourceID = store.ResourcePolicy.FormatID(p.ID)
		return e
	}
	switch {
	case p.Status == underwriting.PolicyArchived || !tx.Clock.Before(p.ReportableUntil):
		return refuse("its reporting window is over")
	case tx.Now.Before(p.EffectiveAt):
		return refuse("its cover begins at " + p.EffectiveAt.Format(time.RFC3339))
	case occurred != nil && !p.CoverPeriod().Contains(*occurred):
		return refuse("occurred_at lies outside its period of cover")
	case occurred == nil && !p.CoverPeriod().Contains(tx.Now):
		return refuse("its period of cover is over; say when it happened in occurred_at")
	case p.LimitRemaining == 0:
		e := apperr.Fail(apperr.CodeLimitExhausted, "Nothing is left of this policy's limit.")
		e.ResourceID = store.ResourcePolicy.FormatID(p.ID)
		return e
	default:
		return nil
	}
}

// openTriggeredClaim evaluates the trigger for the occurrence that the request names.
func openTriggeredClaim(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, in ClaimRequest) (uuid.UUID, bool, error) {
	occ, facts, err := findOccurrence(ctx, tx, p, in)
	if err != nil {
		return uuid.Nil, false, err
	}
	if p.Cover.HasSeveralSources() {
		return openMeasuredClaim(ctx, tx, p, occ, facts, &in)
	}
	adj := adjudication{Tx: tx, occurrence: occ, facts: facts, request: &in}
	if err := adj.load(ctx, []*underwriting.PolicyRow{p}); err != nil {
		return uuid.Nil, false, err
	}
	if have := adj.claimByPolicy[p.ID]; have != nil {
		return have.ID, false, nil
	}
	d := adj.evaluateTrigger(p)
	retracted := adj.newestRetractedClaim(p)
	switch {
	case !d.Met && retracted != nil:
		return retracted.ID, false, nil
	case !d.Met && adj.lostReport(p, d) != nil:
		e := apperr.Fail(apperr.CodeTriggerNotMet, "The trigger is not met: the source retracted its report.")
		e.Extra = map[string]any{"reason": string(claims.ReasonSourceRetracted)}
		return uuid.Nil, false, e
	case d.Reason != trigger.EvidenceNeeded && (!d.Met || d.Amount == 0):
		return uuid.Nil, false, claims.TriggerNotMetError(p, facts, d)
	case p.Status == underwriting.PolicyArchived || !tx.Clock.Before(p.ReportableUntil):
		return uuid.Nil, false, apperr.Fail(apperr.CodePolicyNotInForce, "This policy accepts no more claims: its reporting window is over.")
	case p.LimitRemaining == 0:
		e := apperr.Fail(apperr.CodeLimitExhausted, "The trigger is met, but nothing is left of this policy's limit.")
		e.ResourceID = store.ResourcePolicy.FormatID(p.ID)
		return uuid.Nil, false, e
	}
	if err := adj.decideAll(ctx); err != nil {
		return uuid.Nil, false, err
	}
	return adj.claimByPolicy[p.ID].ID, true, nil
}

// findOccurrence finds the occurrence that a request names: by an observation's id, by
// the source's id, or at a station by <station>/<day> or the recorded id of any day of it.
func findOccurrence(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, in ClaimRequest) (*occurrence.OccurrenceRow, trigger.Occurrence, error) {
	var none trigger.Occurrence
	if in.ObservationID != nil {
		id, err := store.ResourceObservation.ParseID(*in.ObservationID)
		if err != nil {
			return nil, none, err
		}
		row := new(occurrence.ObservationRow)
		err = tx.NewSelect().Model(row).Where("id = ?", id).Where("scope in ('', ?)", p.Partner).Scan(ctx)
		if store.IsNoRows(err) {
			return nil, none, store.ResourceObservation.NotFoundError()
		}
		if err != nil {
			return nil, none, fmt.Errorf("read observation: %w", err)
		}
		if row.Kind.IsDaily() {
			return findRainOccurrence(ctx, tx, p, row.StationOfDay(), row.Day.UTC())
		}
		return lockOccurrence(ctx, tx, *row.OccurrenceID)
	}
	event := in.SourceEvent
	if row, found, err := FindStationDay(ctx, tx, p, *event); err != nil {
		return nil, none, err
	} else if found {
		return findRainOccurrence(ctx, tx, p, row.StationOfDay(), row.Day.UTC())
	}
	id, err := FindAliasedOccurrence(ctx, tx, p, *event)
	if err != nil {
		return nil, none, err
	}
	return lockOccurrence(ctx, tx, id)
}

// findRainOccurrence returns the occurrence of the policy's definition that contains a
// day at a station. Errors: trigger_not_met for another station, and for a day that no
// occurrence contains.
func findRainOccurrence(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, at occurrence.Station, day time.Time) (*occurrence.OccurrenceRow, trigger.Occurrence, error) {
	if p.Station == nil || *p.Station != at.Name {
		e := apperr.Fail(apperr.CodeTriggerNotMet, "The trigger is not met: the policy's place is not the station %s.", at.Name)
		e.Extra = map[string]any{"reason": string(trigger.OutsidePlace)}
		return nil, trigger.Occurrence{}, e
	}
	row, recorded, err := FindOccurrenceOn(ctx, tx, p, at, day)
	if err != nil {
		return nil, trigger.Occurrence{}, err
	}
	if recorded {
		return lockOccurrence(ctx, tx, row.ID)
	}
	loaded := []occurrence.LoadedOccurrence{{Row: row}}
	if err := occurrence.LoadStationFacts(ctx, tx, loaded); err != nil {
		return nil, trigger.Occurrence{}, err
	}
	facts := loaded[0].Facts
	return nil, facts, claims.TriggerNotMetError(p, facts, trigger.EvaluateReport(p.Cover, p.CoverPeriod(), p.PayableFrom, facts))
}
