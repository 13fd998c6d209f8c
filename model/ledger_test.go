package model_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

// books returns the balances of a policy by account, without zero ones.
func books(t *testing.T, b *modeltest.Bundle, policy string) map[model.LedgerAccount]int64 {
	t.Helper()
	balances, err := b.Service.Balances(t.Context(), b.Acme, model.LedgerFilter{PolicyID: policy}, false, nil)
	require.NoError(t, err)
	left := map[model.LedgerAccount]int64{}
	var sum int64
	for _, balance := range balances {
		require.Equal(t, balance.Balance.Amount, balance.Debits.Amount-balance.Credits.Amount)
		if sum += balance.Balance.Amount; balance.Balance.Amount != 0 {
			left[balance.Account] = balance.Balance.Amount
		}
	}
	require.Zero(t, sum, "every currency sums to zero")
	return left
}

// claimsOnly returns the balances without the premium accounts.
func claimsOnly(t *testing.T, b *modeltest.Bundle, policy string) map[model.LedgerAccount]int64 {
	t.Helper()
	left := books(t, b, policy)
	for _, account := range model.LedgerAccounts()[:4] {
		delete(left, account)
	}
	return left
}

func TestABindPostsThePremiumAndThePartnersShare(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	require.Empty(t, must(b.Service.Balances(t.Context(), b.Acme, model.LedgerFilter{}, false, nil)), "a quote posts nothing")
	policy := b.Bind(quote)
	var commission int64
	for _, line := range quote.Price.Lines {
		if line.Kind == "commission" {
			commission = line.Amount.Amount
		}
	}
	require.Positive(t, commission)
	premium := quote.Price.Premium.Amount
	require.Equal(t, map[model.LedgerAccount]int64{
		model.AccountPremiumReceivable: premium, model.AccountPremiumWritten: -premium,
		model.AccountCommission: commission, model.AccountCommissionPayable: -commission,
	}, books(t, b, policy.ID))
	require.Empty(t, must(b.Service.Balances(t.Context(), b.Globex, model.LedgerFilter{PolicyID: policy.ID}, false, nil)), "other partners do not see it")
	_, err := b.Service.Balances(t.Context(), b.Globex, model.LedgerFilter{Partner: "acme"}, false, nil)
	require.Equal(t, apperr.CodePartnerMismatch, domainError(t, err).Code)
	sums := must(b.Service.Balances(t.Context(), b.Operator, model.LedgerFilter{Currency: "USD"}, true, nil))
	require.Len(t, sums, 4)
	require.Equal(t, "acme", *sums[0].Partner)
}

func TestLedgerMatchesPayoutStatus(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	amount := payout.Amount.Amount
	policy := claim.PolicyID
	require.Equal(t, map[model.LedgerAccount]int64{model.AccountClaimsIncurred: amount, model.AccountRailClearing: -amount}, claimsOnly(t, b, policy))
	reconcile(t, b, "monday", line(b, payout, "settled"))
	require.Equal(t, map[model.LedgerAccount]int64{model.AccountClaimsIncurred: amount, model.AccountPayout: -amount}, claimsOnly(t, b, policy))
	reconcile(t, b, "tuesday", line(b, payout, "returned"))
	require.Equal(t, map[model.LedgerAccount]int64{
		model.AccountClaimsIncurred: amount, model.AccountPayout: -amount, model.AccountReturn: amount, model.AccountReserve: -amount,
	}, claimsOnly(t, b, policy), "what came back is owed again")
	second := b.Claim(claim.ID).Payouts[1]
	_, err := approvePayoutAs(t, b, "ann", second)
	require.NoError(t, err)
	b.RunJobs()
	reconcile(t, b, "wednesday", line(b, second, "settled"))
	require.Equal(t, map[model.LedgerAccount]int64{
		model.AccountClaimsIncurred: amount, model.AccountPayout: -2 * amount, model.AccountReturn: amount,
	}, claimsOnly(t, b, policy))
}

func TestResolvedMismatchIsPaidExternallyOrOwedAgain(t *testing.T) {
	t.Parallel()
	for settled, want := range map[bool]model.LedgerAccount{true: model.AccountPayout, false: model.AccountReserve} {
		b, claim, payout := newPayoutWithAnswer(t, modeltest.Mismatched)
		_, err := b.Service.ResolvePayout(t.Context(), b.Operator, model.ResolutionRequest{
			PayoutID: payout.ID, Outcome: model.PayoutCancelled, Settled: settled, Note: "The bank's letter.",
		})
		require.NoError(t, err)
		require.Equal(t, map[model.LedgerAccount]int64{model.AccountClaimsIncurred: payout.Amount.Amount, want: -payout.Amount.Amount}, claimsOnly(t, b, claim.PolicyID))
	}
}

func TestLedgerRejectsUnbalancedSetsAndUpdates(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	before := b.CountRows()
	for statement, want := range map[string]string{
		`insert into ledger_entries select event_id, partner, 'reserve', policy_id, null, null, currency, 1, at from ledger_entries limit 1`: "does not sum to zero",
		`insert into ledger_entries select event_id, partner, account, policy_id, null, null, currency, amount, at from ledger_entries`:      "ledger_entries_pkey",
		`update ledger_entries set amount = amount + 1`: "insert-only",
		`delete from ledger_entries`:                    "insert-only",
	} {
		_, err := b.DB.Pool.Exec(t.Context(), statement)
		require.ErrorContains(t, err, want, statement)
	}
	require.Equal(t, before, b.CountRows())
}

func TestApprovalsAtOnceReserveNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(20))
	policy := b.QuoteAndBind("quake-circle", nil)
	share := policy.Limit.Amount / 8
	opened := make([]*wire.Claim, 20) // the daily maximum per policy
	for i := range opened {
		var err error
		opened[i], _, err = b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{
			PolicyID: policy.ID, Description: new(fmt.Sprintf("claim %d", i)), RequestedAmount: new(money.New(share, "USD")),
		})
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	for _, claim := range opened {
		all.Go(func() {
			_, err := b.Service.DecideClaim(t.Context(), b.Operator, model.DecisionRequest{ClaimID: claim.ID, Outcome: model.ClaimApproved, Amount: new(money.New(share, "USD"))})
			if code := apperr.CodeOf(err); err != nil && code != apperr.CodeLimitExhausted && code != apperr.CodeValidationFailed {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, map[model.LedgerAccount]int64{
		model.AccountClaimsIncurred: 8 * share, model.AccountReserve: -8 * share,
	}, claimsOnly(t, b, policy.ID))
	require.LessOrEqual(t, 8*share, policy.Limit.Amount)
	require.Equal(t, policy.Limit.Amount-8*share, b.Policy(policy.ID).LimitRemaining.Amount)
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set limit_remaining = -1")
	require.ErrorContains(t, err, "policies_limit_check")
}

func TestStatementBalancesAddUp(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	middle := b.Now()
	b.AdvanceClock(time.Hour)
	reconcile(t, b, "monday", line(b, payout, "settled"))
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	statement := must(b.Service.OpenStatement(t.Context(), b.Acme, model.LedgerFilter{}, &middle, nil))
	page := must(statement.Entries(t.Context(), store.PageRequest{}))
	require.Len(t, page.Data, 2, "only the confirmation")
	require.Equal(t, event.PayoutReconciled, page.Data[0].Type)
	require.Equal(t, payout.ID, *page.Data[0].PayoutID)
	balances := map[model.LedgerAccount]int64{}
	for _, balance := range must(statement.Opening(t.Context())) {
		balances[balance.Account] = balance.Balance.Amount
	}
	for _, entry := range page.Data {
		balances[entry.Account] += entry.Amount.Amount
	}
	for _, balance := range must(statement.Closing(t.Context())) {
		require.Equal(t, balances[balance.Account], balance.Balance.Amount, balance.Account)
	}

	whole := must(b.Service.OpenStatement(t.Context(), b.Acme, model.LedgerFilter{PolicyID: claim.PolicyID}, nil, nil))
	var text strings.Builder
	require.NoError(t, whole.WriteCSV(t.Context(), &text))
	records := must(csv.NewReader(strings.NewReader(text.String())).ReadAll())
	require.Equal(t, "at,event_id,event_type,account,currency,amount,balance,partner,policy_id,claim_id,payout_id", strings.Join(records[0], ","))
	last := map[string]string{}
	for _, record := range records[1:] {
		if record[2] == "closing_balance" {
			require.Equal(t, last[record[3]], record[6], record[3])
		}
		last[record[3]] = record[6]
	}
	require.Len(t, records, 1+4+2+2+2+8, "head, bind, created, released, reconciled, closing")
	var paged []model.LedgerEntry
	for cursor := ""; ; {
		page := must(whole.Entries(t.Context(), store.PageRequest{Limit: 3, Cursor: cursor}))
		if paged = append(paged, page.Data...); !page.HasMore {
			break
		}
		cursor = *page.NextCursor
	}
	require.Len(t, paged, 10)
	_, err := statement.Entries(t.Context(), store.PageRequest{Cursor: "x"})
	require.Equal(t, apperr.CodeCursorInvalid, domainError(t, err).Code)
	_, err = b.Service.OpenStatement(t.Context(), b.Acme, model.LedgerFilter{}, new(b.Now()), &middle)
	require.Equal(t, apperr.CodeParameterInvalid, domainError(t, err).Code)
}
