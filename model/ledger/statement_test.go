package ledger_test

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/modeltest"
)

// entriesOf reads a statement's entries, n a page.
func entriesOf(t *testing.T, s *ledger.Statement, n int) (all []ledger.Entry) {
	t.Helper()
	page := store.PageRequest{Limit: n}
	for {
		list, err := s.Entries(t.Context(), page)
		require.NoError(t, err)
		total, _, err := list.Total(t.Context())
		require.NoError(t, err)
		all = append(all, list.Data...)
		if !list.HasMore {
			require.Len(t, all, total)
			return all
		}
		page.Cursor = *list.NextCursor
	}
}

// twoCurrencies binds policies of two partners in two currencies and pays a claim of one.
func twoCurrencies(t *testing.T) (*modeltest.Bundle, string) {
	t.Helper()
	b, claim, _ := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 10_000_000, "currency": "JPY"}})
	b.AdvanceClock(time.Hour)
	b.ActingAs(b.Globex).QuoteAndBind("cyclone-circle", nil)
	return b, claim.PolicyID
}

// The pages of a statement, its text and its balances show the same entries.
func TestPagesAndTextOfAStatementAgree(t *testing.T) {
	t.Parallel()
	b, policy := twoCurrencies(t)
	for name, tc := range map[string]struct {
		who     actor.Actor
		f       ledger.Filter
		entries int
	}{
		"operator":  {b.Operator, ledger.Filter{}, 16},
		"partner":   {b.Acme, ledger.Filter{}, 12},
		"policy":    {b.Acme, ledger.Filter{PolicyID: policy}, 8},
		"currency":  {b.Operator, ledger.Filter{Currency: "JPY"}, 4},
		"of a name": {b.Operator, ledger.Filter{Partner: "globex"}, 4},
		"none":      {b.Globex, ledger.Filter{Currency: "JPY"}, 0},
	} {
		s, err := b.Service.Ledger.OpenStatement(t.Context(), tc.who, tc.f, nil, nil)
		require.NoError(t, err, name)
		all := entriesOf(t, s, 100)
		require.Len(t, all, tc.entries, name)
		require.Equal(t, all, entriesOf(t, s, 1), name)
		require.Equal(t, all, entriesOf(t, s, 3), name)
		text, err := s.CSV(t.Context())
		require.NoError(t, err)
		require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "RFC 4180")
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		require.NoError(t, err)
		require.Equal(t, "at event_id event_type account currency amount balance partner policy_id claim_id payout_id", strings.Join(lines[0], " "))
		closing, err := s.Closing(t.Context())
		require.NoError(t, err)
		require.Len(t, lines, 1+len(all)+len(closing), "nothing was before")
		left := map[string]int64{}
		for i, entry := range all {
			key := string(entry.Account) + " " + entry.Amount.Currency
			left[key] += entry.Amount.Amount
			require.Equal(t, []string{
				entry.At.UTC().Format(time.RFC3339Nano), entry.EventID, string(entry.Type), string(entry.Account), entry.Amount.Currency,
				strconv.FormatInt(entry.Amount.Amount, 10), strconv.FormatInt(left[key], 10), entry.Partner, entry.PolicyID, optional.OrZero(entry.ClaimID), optional.OrZero(entry.PayoutID),
			}, lines[1+i], name)
		}
		for i, balance := range closing {
			require.Equal(t, left[string(balance.Account)+" "+balance.Balance.Currency], balance.Balance.Amount)
			require.Equal(t, []string{"closing_balance", string(balance.Account), balance.Balance.Currency, "", strconv.FormatInt(balance.Balance.Amount, 10)}, lines[1+len(all)+i][2:7])
		}
	}
}

func TestStatementBeginsWithItsFromAndEndsBeforeItsTo(t *testing.T) {
	t.Parallel()
	b, _ := twoCurrencies(t)
	open := func(from, to *time.Time) *ledger.Statement {
		return modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Operator, ledger.Filter{}, from, to))
	}
	all := entriesOf(t, open(nil, nil), 100)
	for i := 1; i < len(all); i++ {
		cut := all[i].At
		if cut.Equal(all[i-1].At) {
			continue
		}
		before, after := open(nil, &cut), open(&cut, nil)
		require.Equal(t, all[:i], entriesOf(t, before, 100))
		require.Equal(t, all[i:], entriesOf(t, after, 100))
		closing, err := before.Closing(t.Context())
		require.NoError(t, err)
		opening, err := after.Opening(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, opening)
		require.Equal(t, closing, opening, "a period begins with what the one before it left")
	}
}

func TestStatementRefusesWhatItCannotShow(t *testing.T) {
	t.Parallel()
	b, policy := twoCurrencies(t)
	now := b.Now()
	open := func(who actor.Actor, f ledger.Filter, from, to *time.Time) apperr.Code {
		_, err := b.Service.Ledger.OpenStatement(t.Context(), who, f, from, to)
		return modeltest.DomainError(t, err).Code
	}
	require.Equal(t, apperr.CodeParameterInvalid, open(b.Acme, ledger.Filter{Currency: "usd"}, nil, nil))
	require.Equal(t, apperr.CodeParameterInvalid, open(b.Acme, ledger.Filter{PolicyID: "pol_"}, nil, nil))
	require.Equal(t, apperr.CodeParameterInvalid, open(b.Acme, ledger.Filter{}, &now, &now), "an empty period")
	require.Equal(t, apperr.CodeParameterInvalid, open(b.Acme, ledger.Filter{}, new(now.Add(time.Second)), &now))
	require.Equal(t, apperr.CodeNotFound, open(b.Operator, ledger.Filter{Partner: "acne"}, nil, nil), "a misspelt name")
	require.Equal(t, apperr.CodePartnerMismatch, open(b.Globex, ledger.Filter{Partner: "acme"}, nil, nil))
	for _, missing := range []actor.Scope{actor.ScopePoliciesRead, actor.ScopeClaimsRead} {
		who := b.Acme
		who.Scopes = []actor.Scope{actor.ScopePoliciesRead, actor.ScopeClaimsRead}
		if who.Scopes[0] == missing {
			who.Scopes = who.Scopes[1:]
		} else {
			who.Scopes = who.Scopes[:1]
		}
		require.Equal(t, apperr.CodeInsufficientScope, open(who, ledger.Filter{}, nil, nil), "both scopes are needed")
	}
	whole := modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{}, nil, &now))
	cursor := *modeltest.Must(whole.Entries(t.Context(), store.PageRequest{Limit: 1})).NextCursor
	for name, other := range map[string]*ledger.Statement{
		"of a policy":   modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{PolicyID: policy}, nil, &now)),
		"of a currency": modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{Currency: "USD"}, nil, &now)),
		"to a time":     modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{}, nil, new(now.Add(time.Second)))),
		"from a time":   modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Acme, ledger.Filter{}, new(time.Unix(1, 0)), &now)),
	} {
		_, err := other.Entries(t.Context(), store.PageRequest{Cursor: cursor})
		require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, name)
	}
	_, err := whole.Entries(t.Context(), store.PageRequest{Cursor: cursor})
	require.NoError(t, err)
}

// A caller who leaves out the end opens the statement again for each page.
func TestPagesUntilNowEndWhereTheFirstEnded(t *testing.T) {
	t.Parallel()
	b, _ := twoCurrencies(t)
	open := func(to *time.Time) *ledger.Statement {
		return modeltest.Must(b.Service.Ledger.OpenStatement(t.Context(), b.Operator, ledger.Filter{}, nil, to))
	}
	first := open(nil)
	all := entriesOf(t, first, 100)
	var read []ledger.Entry
	page := store.PageRequest{Limit: 5}
	for {
		list := modeltest.Must(open(nil).Entries(t.Context(), page))
		total, _, err := list.Total(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(all), total)
		read = append(read, list.Data...)
		if !list.HasMore {
			break
		}
		page.Cursor = *list.NextCursor
		b.AdvanceClock(time.Hour)
		b.QuoteAndBind("quake-circle", nil) // after the first page
		b.AdvanceClock(time.Hour)
	}
	require.Equal(t, all, read)
	require.Greater(t, len(entriesOf(t, open(nil), 100)), len(all))
	_, err := open(&first.To).Entries(t.Context(), page)
	require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, "the cursor is bound to the absent end")
}
