package adjudication

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/internal/rules"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// DecisionRequest is an operator's decision on a claim.
type DecisionRequest struct {
	ClaimID      string
	Outcome      claims.ClaimStatus  // approved, deferred, declined
	Amount       *wire.Money         // origin approval only; nil: the requested amount
	ReasonCodes  []claims.ReasonCode // public; empty: operator_decision
	NextReviewAt *time.Time          // deferrals only
	Message      *string             // to the partner, for example the evidence that is needed
	Note         *string             // operators only
}

// maxReviewDelay is the longest allowed time until a review, so that every deferred claim
// is reviewed again.
const maxReviewDelay = 366 * 24 * time.Hour

// Decide approves, defers or declines a waiting claim. A trigger claim is approved
// for the amount of its determination, an approval claim for the given amount; neither
// exceeds the remaining limit. Only one of several concurrent decisions succeeds.
func (s *Service) Decide(ctx context.Context, caller actor.Actor, in DecisionRequest) (*wire.Claim, error) {
	seen, err := claims.LoadClaim(ctx, s.Store, caller, actor.ScopeOperator, in.ClaimID)
	if err != nil {
		return nil, err
	}
	var claim *wire.Claim
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if fields := in.validate(seen, tx.Now); len(fields) > 0 {
			return apperr.Invalid(fields...)
		}
		adj, row, err := lockForDecision(ctx, tx, seen)
		if err != nil {
			return err
		}
		if !row.IsUndecided() {
			return apperr.Fail(apperr.CodeStateConflict, "The claim is %s; only an opened or deferred one can be decided.", row.Status)
		}
		if err := adj.applyOperatorDecision(ctx, row, in); err != nil {
			return err
		}
		if in.Message != nil {
			if _, err := claims.SaveMessage(ctx, tx, row, *in.Message); err != nil {
				return err
			}
		}
		recordClaimAction(tx, audit.OperationDecideClaim, row, in.Note)
		if claim, err = claims.LoadClaimRecord(ctx, tx, row); err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusOK, claim.ID, claim)
	})
	return claim, err
}

func (in *DecisionRequest) validate(claim *claims.ClaimRow, now time.Time) []apperr.FieldError {
	v := apperr.Validator{}
	v.Require(slices.Contains(claims.DecisionOutcomes(), in.Outcome), "/outcome", "enum", "Use approved, deferred or declined.")
	requireAmount(&v, in, claim)
	requireReasons(&v, in, claim)
	audit.RequireNote(&v, in.Note, "/note")
	switch {
	case in.Message != nil:
		claims.RequireMessage(&v, *in.Message, "/message")
	case lacksSources(claim) && in.Outcome != claims.ClaimDeferred:
		v.Require(false, "/message", "required", "The sources of the terms gave no result: tell the partner by which evidence you determine, and where it can be read.")
	}
	switch at := in.NextReviewAt; {
	case in.Outcome != claims.ClaimDeferred:
		v.Require(at == nil, "/next_review_at", "not_allowed", "Only a deferred claim is reviewed again.")
	case at == nil:
		v.Require(false, "/next_review_at", "required", "Give the time of the next review.")
	default:
		v.Require(at.After(now) && !at.After(now.Add(maxReviewDelay)), "/next_review_at", "value", "Name a time in the next 366 days.")
	}
	return v.FieldErrors
}

func requireAmount(v *apperr.Validator, in *DecisionRequest, claim *claims.ClaimRow) {
	switch {
	case in.Outcome != claims.ClaimApproved:
		v.Require(in.Amount == nil, "/amount", "not_allowed", "Only an approval has an amount.")
	case claim.Origin == claims.OriginTrigger && !isDeterminedByOperator(claim):
		v.Require(in.Amount == nil, "/amount", "not_allowed", "The determination sets the amount of a claim of origin trigger; leave it out.")
	case in.Amount == nil && claim.Origin == claims.OriginTrigger:
	case in.Amount == nil:
		v.Require(claim.RequestedAmount != nil, "/amount", "required", "The partner requested no amount; give the amount that is owed.")
	default:
		v.Require(in.Amount.Amount > 0, "/amount/amount", "minimum", "Approve at least 1 minor unit.")
		v.Require(in.Amount.Currency == claim.Currency, "/amount/currency", "value", "Use the policy's currency, "+claim.Currency+".")
	}
}

// isDeterminedByOperator reports whether an operator determines the amount by evidence: an
// accepted challenge reopened the claim, or the sources of the terms gave no result and the
// fallback is an operator.
func isDeterminedByOperator(claim *claims.ClaimRow) bool {
	return slices.Contains(claim.ReasonCodes, string(claims.ReasonChallengeAccepted)) || lacksSources(claim)
}

func lacksSources(claim *claims.ClaimRow) bool {
	return slices.Contains(claim.ReasonCodes, string(claims.ReasonSourcesDisagree))
}

func requireReasons(v *apperr.Validator, in *DecisionRequest, claim *claims.ClaimRow) {
	allowed := claims.OperatorReasons[in.Outcome]
	for i, code := range in.ReasonCodes {
		if allowed != nil && !slices.Contains(allowed, code) {
			v.Require(false, fmt.Sprintf("/reason_codes/%d", i), "enum", "Use "+claims.JoinWords(allowed)+".")
		}
	}
	if slices.Contains(in.ReasonCodes, claims.ReasonSourcePreliminary) {
		v.Require(claim.OccurrenceID != nil && len(claims.DistinctReasons(in.ReasonCodes)) == 1, "/reason_codes", "value",
			"source_preliminary leaves the decision to the source: give it as the only reason, and only for a claim of origin trigger.")
	}
}

// lockForDecision locks a claim and all records that a decision changes. The
// claim must be unchanged since seen was read, so that only one of two concurrent
// operators decides.
func lockForDecision(ctx context.Context, tx *store.Tx, seen *claims.ClaimRow) (*adjudication, *claims.ClaimRow, error) {
	p := new(underwriting.PolicyRow)
	if err := tx.LockRow(ctx, p, seen.PolicyID, store.ResourcePolicy); err != nil {
		return nil, nil, err
	}
	adj := &adjudication{Tx: tx, decidedClaimID: seen.ID}
	if seen.OccurrenceID != nil {
		adj.occurrence = new(occurrence.OccurrenceRow)
		err := tx.NewSelect().Model(adj.occurrence).
			Where("id = coalesce((select merged_into from occurrences where id = ?0), ?0)", seen.OccurrenceID).Scan(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("read occurrence: %w", err)
		}
	}
	if err := adj.load(ctx, []*underwriting.PolicyRow{p}); err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(adj.relatedClaims[p.ID], func(c *claims.ClaimRow) bool { return c.ID == seen.ID })
	row := adj.relatedClaims[p.ID][at]
	if row.Version != seen.Version {
		return nil, nil, store.VersionConflict()
	}
	return adj, row, nil
}

// applyOperatorDecision applies the operator's decision.
func (adj *adjudication) applyOperatorDecision(ctx context.Context, row *claims.ClaimRow, in DecisionRequest) error {
	p := adj.policies[0]
	det, err := loadDetermination(ctx, adj.Tx, row)
	if err != nil {
		return err
	}
	decision := rules.Decision{Outcome: rules.Outcome(in.Outcome), Reasons: claims.DistinctReasons(in.ReasonCodes)}
	if in.Outcome == claims.ClaimApproved {
		owed := in.owedAmount(row, det)
		if err := adj.checkApprovable(p, row, in, owed); err != nil {
			return err
		}
		decision = rules.ApproveByOperator(owed, p.LimitRemaining, decision.Reasons)
	}
	adj.changedClaims = append(adj.changedClaims, row)
	if err := adj.applyDecision(p, row, det, decision, in.NextReviewAt); err != nil {
		return err
	}
	return adj.save(ctx)
}

func (in *DecisionRequest) owedAmount(row *claims.ClaimRow, det *claims.DeterminationRow) int64 {
	switch {
	case in.Amount != nil:
		return in.Amount.Amount
	case det != nil:
		return det.Amount
	default:
		return *row.RequestedAmount
	}
}

// checkApprovable returns an error when nothing is owed, when another claim has the same
// occurrence, and when the operator's amount exceeds the remaining limit.
func (adj *adjudication) checkApprovable(p *underwriting.PolicyRow, row *claims.ClaimRow, in DecisionRequest, owed int64) error {
	switch {
	case owed == 0:
		return apperr.Fail(apperr.CodeTriggerNotMet, "Its determination owes nothing: decline the claim. To pay despite that, approve a claim of origin approval.")
	case row.OccurrenceID != nil && adj.hasClaimFor(p, row):
		return apperr.Fail(apperr.CodeStateConflict, "Another claim of this policy is for the same occurrence, which is paid once: decide that claim and decline this one.")
	case p.LimitRemaining == 0:
		e := apperr.Fail(apperr.CodeLimitExhausted, "Nothing is left of this policy's limit.")
		e.ResourceID = store.ResourcePolicy.FormatID(p.ID)
		return e
	case in.Amount != nil && owed > p.LimitRemaining:
		return apperr.Invalid(apperr.NewFieldError("/amount/amount", "maximum", fmt.Sprintf("Only %s is left of the policy's limit.", money.New(p.LimitRemaining, p.Currency))))
	}
	return nil
}

// loadDetermination returns the claim's determination; nil for origin approval.
func loadDetermination(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) (*claims.DeterminationRow, error) {
	if row.DeterminationID == nil {
		return nil, nil //nolint:nilnil // an approval claim has no determination
	}
	det := new(claims.DeterminationRow)
	err := tx.NewSelect().Model(det).Where("id = ?", row.DeterminationID).Where("partner = ?", row.Partner).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read determination: %w", err)
	}
	return det, nil
}

// recordClaimAction records an operator's action on a claim.
func recordClaimAction(tx *store.Tx, what audit.Operation, row *claims.ClaimRow, note *string) {
	audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: what, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ID, Note: note})
}
