package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// requested is a claim for approval that asks for an amount, nil for none.
func requested(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, amount *money.Money) *wire.Claim {
	t.Helper()
	claim, _, err := b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{PolicyID: policy.ID, RequestedAmount: amount})
	require.NoError(t, err)
	return claim
}

func approval(claim *wire.Claim) model.DecisionRequest {
	return model.DecisionRequest{ClaimID: claim.ID, Outcome: model.ClaimApproved}
}

func deferral(b *modeltest.Bundle, claim *wire.Claim, reasons ...model.ReasonCode) model.DecisionRequest {
	return model.DecisionRequest{ClaimID: claim.ID, Outcome: model.ClaimDeferred, ReasonCodes: reasons, NextReviewAt: new(b.Now().Add(time.Hour))}
}

// decide is an operator's decision that must succeed.
func decide(t *testing.T, b *modeltest.Bundle, in model.DecisionRequest) *wire.Claim {
	t.Helper()
	claim, err := b.Service.DecideClaim(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, claim, b.Claim(in.ClaimID), "the answer is the claim as it is read")
	return claim
}

// refused is the code of an operator's decision that must fail.
func refused(t *testing.T, b *modeltest.Bundle, in model.DecisionRequest) model.Code {
	t.Helper()
	_, err := b.Service.DecideClaim(t.Context(), b.Operator, in)
	return failure(t, err).Code
}

func TestAnOperatorsApprovalIsPaidLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	b.Record(modeltest.PolicyIBAN(policy.ID))
	b.Work()
	claim := requested(t, b, policy, amount(125_000))
	in := approval(claim)
	in.ReasonCodes, in.Note = []model.ReasonCode{model.ReasonGoodwill}, new("Their best broker asked.")
	claim = decide(t, b, in)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, *amount(125_000), *claim.Amount)
	require.Equal(t, []string{"goodwill"}, claim.Decision.ReasonCodes)
	require.Equal(t, *amount(9_875_000), b.Policy(policy.ID).LimitRemaining)
	require.Equal(t, "pending", only(t, b, claim).Status)
	b.Work()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, []string{"claim.opened", "claim.approved", "payout.created", "payout.releasing", "payout.released"}, b.Told(claim.ID))
	approved := b.Timeline(claim.ID)[1]
	require.Equal(t, wire.Actor{Kind: "operator", Name: "parapet"}, approved.Actor, "partners do not learn who it was")

	done, err := b.Service.ListAdjudications(t.Context(), b.Operator, claim.ID, model.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, []model.Adjudication{{At: approved.At, Operation: model.OperationDecideClaim, Author: b.Operator.Name, AuthorIssuer: &b.Operator.Issuer, Note: in.Note}}, done.Data)
}

func TestWhatAnOperatorMayApprove(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	named := approval(requested(t, b, policy, nil))
	require.Equal(t, model.CodeValidationFailed, refused(t, b, named), "nobody said how much")
	named.Amount = amount(10_000_001)
	_, err := b.Service.DecideClaim(t.Context(), b.Operator, named)
	require.Equal(t, []string{"/amount/amount"}, pointers(failure(t, err)))
	require.Contains(t, failure(t, err).Fields[0].Detail, "100,000.00 USD")
	named.Amount = amount(9_000_000)
	require.Equal(t, *amount(9_000_000), *decide(t, b, named).Amount)

	more := decide(t, b, approval(requested(t, b, policy, amount(5_000_000))))
	require.Equal(t, *amount(1_000_000), *more.Amount, "what was left")
	require.Equal(t, []string{"operator_decision", "limit_exhausted"}, more.Decision.ReasonCodes)
	require.Equal(t, "exhausted", b.Policy(policy.ID).Status)
	require.Equal(t, model.CodeStateConflict, refused(t, b, approval(more)), "it is decided")

	late := b.Cover("quake-circle", nil)
	first, second := requested(t, b, late, amount(10_000_000)), requested(t, b, late, amount(1))
	decide(t, b, approval(first))
	require.Equal(t, model.CodeLimitExhausted, refused(t, b, approval(second)))
	declined := decide(t, b, model.DecisionRequest{ClaimID: second.ID, Outcome: model.ClaimDeclined, ReasonCodes: []model.ReasonCode{model.ReasonLimitExhausted}})
	require.Equal(t, "declined", declined.Status)
	require.Nil(t, declined.Amount)
}

func TestADecisionIsRefusedWithEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	asked := requested(t, b, policy, nil)
	shake(b, "us1", "6.4", trigger.Preliminary)
	met := b.Claims(policy)[1]
	before := b.Rows()
	for name, tc := range map[string]struct {
		claim *wire.Claim
		edit  func(*model.DecisionRequest)
		want  []string
	}{
		"no outcome":       {asked, func(in *model.DecisionRequest) { in.Outcome = "" }, []string{"/outcome"}},
		"withdrawn":        {asked, func(in *model.DecisionRequest) { in.Outcome = model.ClaimWithdrawn }, []string{"/outcome"}},
		"no amount":        {asked, func(*model.DecisionRequest) {}, []string{"/amount"}},
		"nothing in euros": {asked, func(in *model.DecisionRequest) { in.Amount = &money.Money{Currency: "EUR"} }, []string{"/amount/amount", "/amount/currency"}},
		"a trigger claim's amount": {
			met, func(in *model.DecisionRequest) { in.Amount = amount(1) }, []string{"/amount"},
		},
		"a deferral for ever": {
			asked, func(in *model.DecisionRequest) { in.Outcome, in.Amount = model.ClaimDeferred, amount(1) },
			[]string{"/amount", "/next_review_at"},
		},
		"a review that was": {
			asked, func(in *model.DecisionRequest) {
				in.Outcome, in.NextReviewAt = model.ClaimDeferred, new(b.Now().Add(-time.Second))
			}, []string{"/next_review_at"},
		},
		"a review in years": {
			asked, func(in *model.DecisionRequest) {
				in.Outcome, in.NextReviewAt = model.ClaimDeferred, new(b.Now().AddDate(2, 0, 0))
			}, []string{"/next_review_at"},
		},
		"reasons of another outcome": {
			asked, func(in *model.DecisionRequest) {
				in.Outcome, in.NextReviewAt = model.ClaimDeclined, new(b.Now().Add(time.Hour))
				in.ReasonCodes = []model.ReasonCode{model.ReasonGoodwill, model.ReasonOutsidePlace, "spite"}
			}, []string{"/reason_codes/0", "/reason_codes/2", "/next_review_at"},
		},
		"a source that nothing comes from": {
			asked, func(in *model.DecisionRequest) { *in = deferral(b, asked, model.ReasonSourceProvisional) }, []string{"/reason_codes"},
		},
		"a source and more": {
			met, func(in *model.DecisionRequest) {
				*in = deferral(b, met, model.ReasonSourceProvisional, model.ReasonEvidenceNeeded)
			}, []string{"/reason_codes"},
		},
		"an empty note": {met, func(in *model.DecisionRequest) { in.Note = new(" \n") }, []string{"/note"}},
		"a long note":   {met, func(in *model.DecisionRequest) { in.Note = new(strings.Repeat("ä", 2001)) }, []string{"/note"}},
		"a NUL":         {met, func(in *model.DecisionRequest) { in.Note = new("a\x00") }, []string{"/note"}},
	} {
		in := approval(tc.claim)
		tc.edit(&in)
		_, err := b.Service.DecideClaim(t.Context(), b.Operator, in)
		require.Equal(t, model.CodeValidationFailed, failure(t, err).Code, name)
		require.ElementsMatch(t, tc.want, pointers(failure(t, err)), name)
	}
	require.Equal(t, before, b.Rows())
}

func TestOnlyOperatorsOperate(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	claim := requested(t, b, policy, amount(1))
	const nobody = "_01kajw6p5qfn1t7zbjy0yse3hv"
	operations := map[string]func(model.Actor, string, string, string) error{
		"decide": func(a model.Actor, claim, _, _ string) error {
			_, err := b.Service.DecideClaim(t.Context(), a, model.DecisionRequest{ClaimID: claim, Outcome: model.ClaimDeclined})
			return err
		},
		"block": func(a model.Actor, _, _, payout string) error {
			_, err := b.Service.BlockPayout(t.Context(), a, model.HoldRequest{PayoutID: payout, Reason: model.BlockedOperator, Note: "n"})
			return err
		},
		"unblock": func(a model.Actor, _, _, payout string) error {
			_, err := b.Service.UnblockPayout(t.Context(), a, model.LiftRequest{PayoutID: payout, Note: "n"})
			return err
		},
		"adjudications": func(a model.Actor, claim, _, _ string) error {
			_, err := b.Service.ListAdjudications(t.Context(), a, claim, model.PageRequest{})
			return err
		},
		"disable": func(a model.Actor, _, _, _ string) error {
			_, err := b.Service.DisablePartner(t.Context(), a, model.PartnerStatusRequest{Slug: "nobody", Reason: "r"})
			return err
		},
		"enable": func(a model.Actor, _, _, _ string) error {
			_, err := b.Service.EnablePartner(t.Context(), a, model.PartnerStatusRequest{Slug: "nobody", Reason: "r"})
			return err
		},
		"partner": func(a model.Actor, _, _, _ string) error {
			_, err := b.Service.GetPartner(t.Context(), a, "no\x00body")
			return err
		},
	}
	for name, operate := range operations {
		for _, actor := range []model.Actor{b.Acme, b.Globex, b.Source} {
			e := failure(t, operate(actor, claim.ID, policy.ID, "pay"+nobody))
			require.Equal(t, model.CodeInsufficientScope, e.Code, "%s %s", name, actor.Name)
			require.Equal(t, "operator", e.Extra["scope"])
		}
		for _, id := range []string{nobody, "", "\x00"} {
			e := failure(t, operate(b.Operator, "clm"+id, "pol"+id, "pay"+id))
			require.Equal(t, model.CodeNotFound, e.Code, "%s %q", name, id)
		}
	}
	require.Equal(t, claim, b.Claim(claim.ID))
}

func TestPartnerWithdrawsItsOwnClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := requested(t, b, b.Cover("quake-circle", nil), amount(1))
	withdraw := func(actor model.Actor, note *string) *model.Error {
		_, err := b.Service.WithdrawClaim(t.Context(), actor, model.WithdrawalRequest{ClaimID: claim.ID, Note: note})
		return failure(t, err)
	}
	require.Equal(t, model.CodeNotFound, withdraw(b.Globex, nil).Code)
	require.Equal(t, model.CodeInsufficientScope, withdraw(b.Source, nil).Code)
	require.Equal(t, []string{"/note"}, pointers(withdraw(b.Acme, new("It was found."))), "only operators write notes")
	withdrawn, err := b.Service.WithdrawClaim(t.Context(), b.Acme, model.WithdrawalRequest{ClaimID: claim.ID})
	require.NoError(t, err)
	require.Equal(t, "withdrawn", withdrawn.Status)
	require.Equal(t, withdrawn, b.Claim(claim.ID))
	require.Equal(t, model.CodeStateConflict, withdraw(b.Acme, nil).Code)
	require.Equal(t, "claim.withdrawn", b.Events()[len(b.Events())-1])
}

func TestPrivateNotesStayPrivate(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	const secret = "the adjuster smelled petrol"
	first, second := requested(t, b, policy, amount(1_000)), requested(t, b, policy, amount(1_000))
	operator := b.Operator
	operator.Name = "mallory-the-operator"
	operator = keyed(operator, "k1", "a")
	in := approval(first)
	in.Note = new(secret)
	_, err := b.Service.DecideClaim(t.Context(), operator, in)
	require.NoError(t, err)
	_, err = b.Service.DecideClaim(t.Context(), operator, in)
	replay := new(model.Replay)
	require.ErrorAs(t, err, &replay, "the same request is answered again")
	operator.Idempotency = nil
	payout := only(t, b, first)
	_, err = b.Service.BlockPayout(t.Context(), operator, model.HoldRequest{PayoutID: payout.ID, Reason: model.BlockedCompliance, Note: secret})
	require.NoError(t, err)
	_, err = b.Service.UnblockPayout(t.Context(), operator, model.LiftRequest{PayoutID: payout.ID, Note: secret})
	require.NoError(t, err)
	_, err = b.Service.WithdrawClaim(t.Context(), operator, model.WithdrawalRequest{ClaimID: second.ID, Note: new(secret)})
	require.NoError(t, err)
	_, err = b.Service.CancelPolicy(t.Context(), operator, model.CancellationRequest{PolicyID: policy.ID, Reason: new(secret)})
	require.NoError(t, err)
	for table := range b.Rows() {
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
			require.Equal(t, map[bool]int{true: 5}[table == "adjudications" || table == "audit_entries"], rows, table)
		}
	}
}
