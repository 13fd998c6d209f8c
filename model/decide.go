package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parapet/model/internal/adjudicate"
	"parapet/model/money"
	"parapet/model/wire"
)

// DecisionRequest is an operator's decision of a claim.
type DecisionRequest struct {
	ClaimID      string
	Outcome      ClaimStatus  // approved, deferred, declined
	Amount       *wire.Money  // origin approval only; without it what was requested
	ReasonCodes  []ReasonCode // public; without any it is operator_decision
	NextReviewAt *time.Time   // of a deferral
	Message      *string      // to the partner: the evidence that is needed, for instance
	Note         *string      // private
}

// longestWait is the furthest a review may lie ahead: nothing waits unseen.
const longestWait = 366 * 24 * time.Hour

// DecideClaim approves, defers or declines a claim that waits. A claim of origin
// trigger is approved by its determination, one of origin approval by an amount;
// neither beyond what is left of the limit. From there on all is as if the trigger
// had decided. Of several operators at once one decides. Operators only. Errors:
// not_found, validation_failed, state_conflict, limit_exhausted, trigger_not_met.
func (s *Service) DecideClaim(ctx context.Context, actor Actor, in DecisionRequest) (*wire.Claim, error) {
	seen, err := s.claimOf(ctx, actor, ScopeOperator, in.ClaimID)
	if err != nil {
		return nil, err
	}
	var claim *wire.Claim
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		if fields := in.check(seen, u.now); len(fields) > 0 {
			return Invalid(fields...)
		}
		j, row, err := u.atHand(ctx, seen)
		if err != nil {
			return err
		}
		if err := j.heed(ctx, row, in); err != nil {
			return err
		}
		if in.Message != nil {
			if _, err := u.saveMessage(ctx, row, *in.Message); err != nil {
				return err
			}
		}
		u.judged(OperationDecideClaim, row, in.Note)
		if claim, err = u.publicClaim(ctx, row); err != nil {
			return err
		}
		return u.answered(statusOK, claim.ID, claim)
	})
	return claim, err
}

func (in *DecisionRequest) check(claim *claimRow, now time.Time) []FieldError {
	c := fieldCheck{}
	c.that(slices.Contains(DecisionOutcomes(), in.Outcome), "/outcome", "enum", "Use approved, deferred or declined.")
	c.amount(in, claim)
	c.reasons(in, claim)
	c.note(in.Note, "/note")
	if in.Message != nil {
		c.message(*in.Message, "/message")
	}
	switch at := in.NextReviewAt; {
	case in.Outcome != ClaimDeferred:
		c.that(at == nil, "/next_review_at", "not_allowed", "Only a deferred claim is reviewed again.")
	case at == nil:
		c.that(false, "/next_review_at", "required", "Say when the claim is looked at again.")
	default:
		c.that(at.After(now) && !at.After(now.Add(longestWait)), "/next_review_at", "value", "Name a time in the next 366 days.")
	}
	return c.fields
}

func (c *fieldCheck) amount(in *DecisionRequest, claim *claimRow) {
	switch {
	case in.Outcome != ClaimApproved:
		c.that(in.Amount == nil, "/amount", "not_allowed", "Only an approval has an amount.")
	case claim.Origin == OriginTrigger:
		c.that(in.Amount == nil, "/amount", "not_allowed", "What a trigger claim is owed follows from its determination; leave it out.")
	case in.Amount == nil:
		c.that(claim.RequestedAmount != nil, "/amount", "required", "The partner asked for no amount; say what is owed.")
	default:
		c.that(in.Amount.Amount > 0, "/amount/amount", "minimum", "Approve at least 1 minor unit.")
		c.that(in.Amount.Currency == claim.Currency, "/amount/currency", "value", "Use the policy's currency, "+claim.Currency+".")
	}
}

func (c *fieldCheck) reasons(in *DecisionRequest, claim *claimRow) {
	allowed := givable[in.Outcome]
	for i, code := range in.ReasonCodes {
		if allowed != nil && !slices.Contains(allowed, code) {
			c.that(false, fmt.Sprintf("/reason_codes/%d", i), "enum", "Use "+oneOf(allowed)+".")
		}
	}
	if slices.Contains(in.ReasonCodes, ReasonSourceProvisional) {
		c.that(claim.OccurrenceID != nil && len(givenReasons(in.ReasonCodes)) == 1, "/reason_codes", "value",
			"source_preliminary leaves the decision to the source: give it alone, and for a claim of origin trigger.")
	}
}

// atHand locks a claim that can be decided, with everything a decision touches.
// It must be as it was seen, so that of two operators at once one decides.
func (u *unit) atHand(ctx context.Context, seen *claimRow) (*judging, *claimRow, error) {
	p := new(policyRow)
	if err := u.locked(ctx, p, seen.PolicyID, nounPolicy); err != nil {
		return nil, nil, err
	}
	j := &judging{unit: u, decided: seen.ID}
	if seen.OccurrenceID != nil {
		j.occurrence = new(occurrenceRow)
		err := u.NewSelect().Model(j.occurrence).
			Where("id = coalesce((select merged_into from occurrences where id = ?0), ?0)", seen.OccurrenceID).Scan(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("read occurrence: %w", err)
		}
	}
	if err := j.read(ctx, []*policyRow{p}); err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(j.others[p.ID], func(c *claimRow) bool { return c.ID == seen.ID })
	row := j.others[p.ID][at]
	if row.Version != seen.Version {
		return nil, nil, overtaken()
	}
	if row.Status != ClaimOpened && row.Status != ClaimDeferred {
		return nil, nil, Fail(CodeStateConflict, "The claim is %s; only an opened or deferred one can be decided.", row.Status)
	}
	return j, row, nil
}

// heed does what the operator decided.
func (j *judging) heed(ctx context.Context, row *claimRow, in DecisionRequest) error {
	p := j.policies[0]
	det, err := j.determined(ctx, row)
	if err != nil {
		return err
	}
	decision := adjudicate.Decision{Outcome: adjudicate.Outcome(in.Outcome), Reasons: givenReasons(in.ReasonCodes)}
	if in.Outcome == ClaimApproved {
		owed := in.owed(row, det)
		if err := j.grantable(p, row, in, owed); err != nil {
			return err
		}
		decision = adjudicate.Grant(owed, p.LimitRemaining, decision.Reasons)
	}
	j.moved = append(j.moved, row)
	if err := j.rule(p, row, det, decision, in.NextReviewAt); err != nil {
		return err
	}
	return j.write(ctx)
}

func (in *DecisionRequest) owed(row *claimRow, det *determinationRow) int64 {
	switch {
	case det != nil:
		return det.Amount
	case in.Amount != nil:
		return in.Amount.Amount
	default:
		return *row.RequestedAmount
	}
}

// grantable refuses to approve what is not owed, what another claim holds, and
// more than is left when the operator named the amount.
func (j *judging) grantable(p *policyRow, row *claimRow, in DecisionRequest, owed int64) error {
	switch {
	case owed == 0:
		return Fail(CodeTriggerNotMet, "By its determination nothing is owed: decline the claim. What is paid all the same is a claim of origin approval.")
	case row.OccurrenceID != nil && j.claimedBy(p, row):
		return Fail(CodeStateConflict, "Another claim of this policy holds the same occurrence, and it is paid once: decide that one, decline this one.")
	case p.LimitRemaining == 0:
		e := Fail(CodeLimitExhausted, "Nothing is left of this policy's limit.")
		e.ResourceID = nounPolicy.id(p.ID)
		return e
	case in.Amount != nil && owed > p.LimitRemaining:
		return Invalid(wrong("/amount/amount", "maximum", fmt.Sprintf("Only %s is left of the policy's limit.", money.New(p.LimitRemaining, p.Currency))))
	}
	return nil
}

// determined is the determination a claim rests on; nil for origin approval.
func (u *unit) determined(ctx context.Context, row *claimRow) (*determinationRow, error) {
	if row.DeterminationID == nil {
		return nil, nil //nolint:nilnil // a claim for approval rests on none
	}
	det := new(determinationRow)
	err := u.NewSelect().Model(det).Where("id = ?", row.DeterminationID).Where("partner = ?", row.Partner).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read determination: %w", err)
	}
	return det, nil
}

// judged keeps who did what to a claim.
func (u *unit) judged(what Operation, row *claimRow, note *string) {
	u.adjudicated(adjudicationRow{Operation: what, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ID, Note: note})
}
