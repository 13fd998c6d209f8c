package adjudication_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/partners"
	"parapet/model/payouts"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func approvalDecision(claim *wire.Claim) adjudication.DecisionRequest {
	return adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved}
}

func deferralDecision(b *modeltest.Bundle, claim *wire.Claim, reasons ...claims.ReasonCode) adjudication.DecisionRequest {
	return adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimDeferred, ReasonCodes: reasons, NextReviewAt: new(b.Now().Add(time.Hour))}
}

// decideClaim makes an operator's decision that must succeed.
func decideClaim(t *testing.T, b *modeltest.Bundle, in adjudication.DecisionRequest) *wire.Claim {
	t.Helper()
	claim, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, claim, b.Claim(in.ClaimID), "the answer is the claim as it is read")
	return claim
}

// decisionErrorCode returns the code of an operator's decision that must fail.
func decisionErrorCode(t *testing.T, b *modeltest.Bundle, in adjudication.DecisionRequest) apperr.Code {
	t.Helper()
	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
	return modeltest.DomainError(t, err).Code
}

func TestOperatorApprovalCreatesPayout(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	claim := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(125_000))
	in := approvalDecision(claim)
	in.ReasonCodes, in.Note = []claims.ReasonCode{claims.ReasonGoodwill}, new("Their best broker asked.")
	claim = decideClaim(t, b, in)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, *modeltest.NewUSD(125_000), *claim.Amount)
	require.Equal(t, []string{"goodwill"}, claim.Decision.ReasonCodes)
	require.Equal(t, *modeltest.NewUSD(9_875_000), b.Policy(policy.ID).LimitRemaining)
	require.Equal(t, "pending", modeltest.OnlyPayout(t, b, claim).Status)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, []string{"claim.opened", "claim.approved", "payout.created", "payout.releasing", "payout.released"}, b.TimelineKinds(claim.ID))
	approved := b.Timeline(claim.ID)[1]
	require.Equal(t, wire.Actor{Kind: "operator", Name: "parapet"}, approved.Actor, "partners do not see the operator")

	done, err := b.Service.Audit.ListOperatorActions(t.Context(), b.Operator, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []audit.OperatorAction{{At: approved.At, Operation: audit.OperationDecideClaim, Author: b.Operator.Name, AuthorIssuer: &b.Operator.Issuer, Note: in.Note}}, done.Data)
}

func TestOperatorApprovalLimits(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	named := approvalDecision(modeltest.OpenApprovalClaim(t, b, policy, nil))
	require.Equal(t, apperr.CodeValidationFailed, decisionErrorCode(t, b, named), "no amount was given")
	named.Amount = modeltest.NewUSD(10_000_001)
	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, named)
	require.Equal(t, []string{"/amount/amount"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	require.Contains(t, modeltest.DomainError(t, err).Fields[0].Detail, "100,000.00 USD")
	named.Amount = modeltest.NewUSD(9_000_000)
	require.Equal(t, *modeltest.NewUSD(9_000_000), *decideClaim(t, b, named).Amount)

	more := decideClaim(t, b, approvalDecision(modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(5_000_000))))
	require.Equal(t, *modeltest.NewUSD(1_000_000), *more.Amount, "what was left")
	require.Equal(t, []string{"operator_decision", "limit_exhausted"}, more.Decision.ReasonCodes)
	require.Equal(t, "exhausted", b.Policy(policy.ID).Status)
	require.Equal(t, apperr.CodeStateConflict, decisionErrorCode(t, b, approvalDecision(more)), "it is already decided")

	late := b.QuoteAndBind("quake-circle", nil)
	first, second := modeltest.OpenApprovalClaim(t, b, late, modeltest.NewUSD(10_000_000)), modeltest.OpenApprovalClaim(t, b, late, modeltest.NewUSD(1))
	decideClaim(t, b, approvalDecision(first))
	require.Equal(t, apperr.CodeLimitExhausted, decisionErrorCode(t, b, approvalDecision(second)))
	declined := decideClaim(t, b, adjudication.DecisionRequest{ClaimID: second.ID, Outcome: claims.ClaimDeclined, ReasonCodes: []claims.ReasonCode{claims.ReasonLimitExhausted}})
	require.Equal(t, "declined", declined.Status)
	require.Nil(t, declined.Amount)
}

func TestInvalidDecisionReturnsEveryFieldError(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	asked := modeltest.OpenApprovalClaim(t, b, policy, nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	met := b.Claims(policy)[1]
	before := b.CountRows()
	for name, tc := range map[string]struct {
		claim *wire.Claim
		edit  func(*adjudication.DecisionRequest)
		want  []string
	}{
		"no outcome":       {asked, func(in *adjudication.DecisionRequest) { in.Outcome = "" }, []string{"/outcome"}},
		"withdrawn":        {asked, func(in *adjudication.DecisionRequest) { in.Outcome = claims.ClaimWithdrawn }, []string{"/outcome"}},
		"no amount":        {asked, func(*adjudication.DecisionRequest) {}, []string{"/amount"}},
		"nothing in euros": {asked, func(in *adjudication.DecisionRequest) { in.Amount = &money.Money{Currency: "EUR"} }, []string{"/amount/amount", "/amount/currency"}},
		"a trigger claim's amount": {
			met, func(in *adjudication.DecisionRequest) { in.Amount = modeltest.NewUSD(1) }, []string{"/amount"},
		},
		"a deferral with an amount and no review": {
			asked, func(in *adjudication.DecisionRequest) {
				in.Outcome, in.Amount = claims.ClaimDeferred, modeltest.NewUSD(1)
			},
			[]string{"/amount", "/next_review_at"},
		},
		"a review in the past": {
			asked, func(in *adjudication.DecisionRequest) {
				in.Outcome, in.NextReviewAt = claims.ClaimDeferred, new(b.Now().Add(-time.Second))
			}, []string{"/next_review_at"},
		},
		"a review too far ahead": {
			asked, func(in *adjudication.DecisionRequest) {
				in.Outcome, in.NextReviewAt = claims.ClaimDeferred, new(b.Now().AddDate(2, 0, 0))
			}, []string{"/next_review_at"},
		},
		"reasons of another outcome": {
			asked, func(in *adjudication.DecisionRequest) {
				in.Outcome, in.NextReviewAt = claims.ClaimDeclined, new(b.Now().Add(time.Hour))
				in.ReasonCodes = []claims.ReasonCode{claims.ReasonGoodwill, claims.ReasonOutsidePlace, "spite"}
			}, []string{"/reason_codes/0", "/reason_codes/2", "/next_review_at"},
		},
		"an approval claim that waits for a source": {
			asked, func(in *adjudication.DecisionRequest) {
				*in = deferralDecision(b, asked, claims.ReasonSourcePreliminary)
			}, []string{"/reason_codes"},
		},
		"a preliminary source with another reason": {
			met, func(in *adjudication.DecisionRequest) {
				*in = deferralDecision(b, met, claims.ReasonSourcePreliminary, claims.ReasonEvidenceNeeded)
			}, []string{"/reason_codes"},
		},
		"an empty note": {met, func(in *adjudication.DecisionRequest) { in.Note = new(" \n") }, []string{"/note"}},
		"a long note":   {met, func(in *adjudication.DecisionRequest) { in.Note = new(strings.Repeat("ä", 2001)) }, []string{"/note"}},
		"a NUL":         {met, func(in *adjudication.DecisionRequest) { in.Note = new("a\x00") }, []string{"/note"}},
	} {
		in := approvalDecision(tc.claim)
		tc.edit(&in)
		_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
		require.Equal(t, apperr.CodeValidationFailed, modeltest.DomainError(t, err).Code, name)
		require.ElementsMatch(t, tc.want, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	require.Equal(t, before, b.CountRows())
}

func TestOperatorActionsNeedOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	claim := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(1))
	const unknown = "_01kajw6p5qfn1t7zbjy0yse3hv"
	operations := map[string]func(actor.Actor, string, string, string) error{
		"decide": func(a actor.Actor, claim, _, _ string) error {
			_, err := b.Service.Adjudication.Decide(t.Context(), a, adjudication.DecisionRequest{ClaimID: claim, Outcome: claims.ClaimDeclined})
			return err
		},
		"block": func(a actor.Actor, _, _, payout string) error {
			_, err := b.Service.Payouts.Block(t.Context(), a, payouts.HoldRequest{PayoutID: payout, Reason: claims.BlockedOperator, Note: "n"})
			return err
		},
		"unblock": func(a actor.Actor, _, _, payout string) error {
			_, err := b.Service.Payouts.Unblock(t.Context(), a, payouts.LiftHoldRequest{PayoutID: payout, Note: "n"})
			return err
		},
		"adjudications": func(a actor.Actor, claim, _, _ string) error {
			_, err := b.Service.Audit.ListOperatorActions(t.Context(), a, claim, store.PageRequest{})
			return err
		},
		"disable": func(a actor.Actor, _, _, _ string) error {
			_, err := b.Service.Partners.Disable(t.Context(), a, partners.StatusRequest{Slug: "unknown", Reason: "r"})
			return err
		},
		"enable": func(a actor.Actor, _, _, _ string) error {
			_, err := b.Service.Partners.Enable(t.Context(), a, partners.StatusRequest{Slug: "unknown", Reason: "r"})
			return err
		},
		"partner": func(a actor.Actor, _, _, _ string) error {
			_, err := b.Service.Partners.Get(t.Context(), a, "no\x00body")
			return err
		},
	}
	for name, operate := range operations {
		for _, actor := range []actor.Actor{b.Acme, b.Globex, b.Source} {
			e := modeltest.DomainError(t, operate(actor, claim.ID, policy.ID, "pay"+unknown))
			require.Equal(t, apperr.CodeInsufficientScope, e.Code, "%s %s", name, actor.Name)
			require.Equal(t, "operator", e.Extra["scope"])
		}
		for _, id := range []string{unknown, "", "\x00"} {
			e := modeltest.DomainError(t, operate(b.Operator, "clm"+id, "pol"+id, "pay"+id))
			require.Equal(t, apperr.CodeNotFound, e.Code, "%s %q", name, id)
		}
	}
	require.Equal(t, claim, b.Claim(claim.ID))
}

func TestPartnerWithdrawsItsOwnClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.OpenApprovalClaim(t, b, b.QuoteAndBind("quake-circle", nil), modeltest.NewUSD(1))
	withdraw := func(actor actor.Actor, note *string) *apperr.Error {
		_, err := b.Service.Adjudication.Withdraw(t.Context(), actor, adjudication.WithdrawalRequest{ClaimID: claim.ID, Note: note})
		return modeltest.DomainError(t, err)
	}
	require.Equal(t, apperr.CodeNotFound, withdraw(b.Globex, nil).Code)
	require.Equal(t, apperr.CodeInsufficientScope, withdraw(b.Source, nil).Code)
	require.Equal(t, []string{"/note"}, modeltest.FieldPointers(withdraw(b.Acme, new("It was found."))), "only operators write notes")
	withdrawn, err := b.Service.Adjudication.Withdraw(t.Context(), b.Acme, adjudication.WithdrawalRequest{ClaimID: claim.ID})
	require.NoError(t, err)
	require.Equal(t, "withdrawn", withdrawn.Status)
	require.Equal(t, withdrawn, b.Claim(claim.ID))
	require.Equal(t, apperr.CodeStateConflict, withdraw(b.Acme, nil).Code)
	require.Equal(t, "claim.withdrawn", b.Events()[len(b.Events())-1])
}

func TestOperatorNotesAreHiddenFromPartners(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.StorePlain()
	policy := b.QuoteAndBind("quake-circle", nil)
	const secret = "the adjuster smelled petrol"
	first, second := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(1_000)), modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(1_000))
	operator := b.Operator
	operator.Name = "mallory-the-operator"
	operator = modeltest.WithKey(operator, "k1", "a")
	in := approvalDecision(first)
	in.Note = new(secret)
	_, err := b.Service.Adjudication.Decide(t.Context(), operator, in)
	require.NoError(t, err)
	_, err = b.Service.Adjudication.Decide(t.Context(), operator, in)
	replay := new(store.Replay)
	require.ErrorAs(t, err, &replay, "the same request gets the same response")
	operator.IdempotencyKey = nil
	payout := modeltest.OnlyPayout(t, b, first)
	_, err = b.Service.Payouts.Block(t.Context(), operator, payouts.HoldRequest{PayoutID: payout.ID, Reason: claims.BlockedCompliance, Note: secret})
	require.NoError(t, err)
	_, err = b.Service.Payouts.Unblock(t.Context(), operator, payouts.LiftHoldRequest{PayoutID: payout.ID, Note: secret})
	require.NoError(t, err)
	_, err = b.Service.Adjudication.Withdraw(t.Context(), operator, adjudication.WithdrawalRequest{ClaimID: second.ID, Note: new(secret)})
	require.NoError(t, err)
	_, err = b.Service.Policies.Cancel(t.Context(), operator, underwriting.CancellationRequest{PolicyID: policy.ID, Reason: new(secret)})
	require.NoError(t, err)
	for table := range b.CountRows() {
		for _, private := range []string{secret, operator.Name} {
			var rows int
			query := "select count(*) from " + table + " r where r::text like '%' || $1 || '%'"
			if table == "events" {
				query = "select count(*) from events where convert_from(data, 'UTF8') like '%' || $1 || '%'"
			}
			if table == "idempotency_keys" {
				query = "select count(*) from idempotency_keys where convert_from(body, 'UTF8') like '%' || $1 || '%'"
			}
			require.NoError(t, b.DB.Pool.QueryRow(t.Context(), query, private).Scan(&rows))
			require.Equal(t, map[bool]int{true: 5}[table == "operator_actions" || table == "audit_entries"], rows, table)
		}
	}
}
