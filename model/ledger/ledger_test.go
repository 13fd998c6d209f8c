package ledger_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/wire"
)

func TestABindPostsThePremiumAndThePartnersShare(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	require.Empty(t, modeltest.Must(b.Service.Ledger.Balances(t.Context(), b.Acme, ledger.Filter{}, false, nil)), "a quote posts nothing")
	policy := b.Bind(quote)
	var commission int64
	for _, line := range quote.Price.Lines {
		if line.Kind == "commission" {
			commission = line.Amount.Amount
		}
	}
	require.Positive(t, commission)
	premium := quote.Price.Premium.Amount
	require.Equal(t, map[ledger.Account]int64{
		ledger.AccountPremiumReceivable: premium, ledger.AccountPremiumWritten: -premium,
		ledger.AccountCommission: commission, ledger.AccountCommissionPayable: -commission,
	}, modeltest.LedgerBalances(t, b, policy.ID))
	require.Empty(t, modeltest.Must(b.Service.Ledger.Balances(t.Context(), b.Globex, ledger.Filter{PolicyID: policy.ID}, false, nil)), "other partners do not see it")
	_, err := b.Service.Ledger.Balances(t.Context(), b.Globex, ledger.Filter{Partner: "acme"}, false, nil)
	require.Equal(t, apperr.CodePartnerMismatch, modeltest.DomainError(t, err).Code)
	sums := modeltest.Must(b.Service.Ledger.Balances(t.Context(), b.Operator, ledger.Filter{Currency: "USD"}, true, nil))
	require.Len(t, sums, 4)
	require.Equal(t, "acme", *sums[0].Partner)
}

func TestLedgerMatchesPayoutStatus(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	amount := payout.Amount.Amount
	policy := claim.PolicyID
	require.Equal(t, map[ledger.Account]int64{ledger.AccountClaimsIncurred: amount, ledger.AccountRailClearing: -amount}, modeltest.ClaimBalances(t, b, policy))
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	require.Equal(t, map[ledger.Account]int64{ledger.AccountClaimsIncurred: amount, ledger.AccountPayout: -amount}, modeltest.ClaimBalances(t, b, policy))
	modeltest.Reconcile(t, b, "tuesday", modeltest.ReportLine(b, payout, "returned"))
	require.Equal(t, map[ledger.Account]int64{
		ledger.AccountClaimsIncurred: amount, ledger.AccountPayout: -amount, ledger.AccountReturn: amount, ledger.AccountReserve: -amount,
	}, modeltest.ClaimBalances(t, b, policy), "what came back is owed again")
	second := b.Claim(claim.ID).Payouts[1]
	_, err := modeltest.ApprovePayoutAs(t, b, "ann", second)
	require.NoError(t, err)
	b.RunJobs()
	modeltest.Reconcile(t, b, "wednesday", modeltest.ReportLine(b, second, "settled"))
	require.Equal(t, map[ledger.Account]int64{
		ledger.AccountClaimsIncurred: amount, ledger.AccountPayout: -2 * amount, ledger.AccountReturn: amount,
	}, modeltest.ClaimBalances(t, b, policy))
}

func TestResolvedMismatchIsPaidExternallyOrOwedAgain(t *testing.T) {
	t.Parallel()
	for settled, want := range map[bool]ledger.Account{true: ledger.AccountPayout, false: ledger.AccountReserve} {
		b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
		_, err := b.Service.Payouts.Resolve(t.Context(), b.Operator, payouts.ResolutionRequest{
			PayoutID: payout.ID, Outcome: claims.PayoutCancelled, Settled: settled, Note: "The bank's letter.",
		})
		require.NoError(t, err)
		require.Equal(t, map[ledger.Account]int64{ledger.AccountClaimsIncurred: payout.Amount.Amount, want: -payout.Amount.Amount}, modeltest.ClaimBalances(t, b, claim.PolicyID))
	}
}

func TestLedgerRejectsUnbalancedSetsAndUpdates(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	before := b.CountRows()
	for statement, want := range map[string]string{
		`insert into ledger_entries select event_id, partner, 'reserve', policy_id, null, null, currency, 1, at from ledger_entries limit 1`: "does not sum to zero",
		`insert into ledger_entries select event_id, partner, account, policy_id, null, null, currency, amount, at from ledger_entries`:      "_pkey",
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
		opened[i], _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{
			PolicyID: policy.ID, Description: new(fmt.Sprintf("claim %d", i)), RequestedAmount: new(money.New(share, "USD")),
		})
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	for _, claim := range opened {
		all.Go(func() {
			_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved, Amount: new(money.New(share, "USD"))})
			if code := apperr.CodeOf(err); err != nil && code != apperr.CodeLimitExhausted && code != apperr.CodeValidationFailed {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, map[ledger.Account]int64{
		ledger.AccountClaimsIncurred: 8 * share, ledger.AccountReserve: -8 * share,
	}, modeltest.ClaimBalances(t, b, policy.ID))
	require.LessOrEqual(t, 8*share, policy.Limit.Amount)
	require.Equal(t, policy.Limit.Amount-8*share, b.Policy(policy.ID).LimitRemaining.Amount)
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set limit_remaining = -1")
	require.ErrorContains(t, err, "policies_limit_check")
}

func TestStatementBalancesAddUp(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	middle := b.Now()
	b.AdvanceClock(time.Hour)
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	statement := modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{}, &middle, nil))
	page := modeltest.Must(statement.Entries(t.Context(), store.PageRequest{}))
	require.Len(t, page.Data, 2, "only the confirmation")
	require.Equal(t, event.PayoutReconciled, page.Data[0].Type)
	require.Equal(t, payout.ID, *page.Data[0].PayoutID)
	balances := map[ledger.Account]int64{}
	for _, balance := range modeltest.Must(statement.Opening(t.Context())) {
		balances[balance.Account] = balance.Balance.Amount
	}
	for _, entry := range page.Data {
		balances[entry.Account] += entry.Amount.Amount
	}
	for _, balance := range modeltest.Must(statement.Closing(t.Context())) {
		require.Equal(t, balances[balance.Account], balance.Balance.Amount, balance.Account)
	}

	whole := modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{PolicyID: claim.PolicyID}, nil, nil))
	var text strings.Builder
	require.NoError(t, whole.WriteCSV(t.Context(), &text))
	records := modeltest.Must(csv.NewReader(strings.NewReader(text.String())).ReadAll())
	require.Equal(t, "at,event_id,event_type,account,currency,amount,balance,partner,policy_id,claim_id,payout_id", strings.Join(records[0], ","))
	last := map[string]string{}
	for _, record := range records[1:] {
		if record[2] == "closing_balance" {
			require.Equal(t, last[record[3]], record[6], record[3])
		}
		last[record[3]] = record[6]
	}
	require.Len(t, records, 1+4+2+2+2+8, "head, bind, created, released, reconciled, closing")
	var paged []ledger.Entry
	for cursor := ""; ; {
		page := modeltest.Must(whole.Entries(t.Context(), store.PageRequest{Limit: 3, Cursor: cursor}))
		if paged = append(paged, page.Data...); !page.HasMore {
			break
		}
		cursor = *page.NextCursor
	}
	require.Len(t, paged, 10)
	_, err := statement.Entries(t.Context(), store.PageRequest{Cursor: "x"})
	require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{}, new(b.Now()), &middle)
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
}
