package portfolio_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/insight/portfolio"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// book is a generated book with every record of it, as operators read them.
type book struct {
	*modeltest.Bundle

	policies []wire.Policy
	claims   []wire.Claim
}

// sell binds policies of two partners, in several products and currencies, over some
// months; earthquakes pay some of them, and some payouts stay in doubt.
func sell(t *testing.T) book {
	t.Helper()
	b := modeltest.New(t)
	dice := rand.New(rand.NewPCG(4, 7))
	var spare []*wire.Quote
	for i := range 36 {
		who := b.ActingAs([]actor.Actor{b.Acme, b.Globex}[dice.IntN(2)])
		context := modeltest.Context{"limit": map[string]any{"amount": 1_500_000 + dice.IntN(9)*100_000, "currency": []string{"USD", "EUR", "JPY"}[dice.IntN(3)]}}
		product := []string{"quake-circle", "quake-circle", "quake-circle", "cyclone-circle", "rain-excess"}[dice.IntN(5)]
		if product == "quake-circle" {
			context["location"] = map[string]float64{"latitude": 23.5 + dice.Float64(), "longitude": 121 + dice.Float64()}
		}
		quote := who.Quote(product, context)
		if i%9 == 8 {
			spare = append(spare, quote)
			continue
		}
		policy := who.Bind(quote)
		if dice.IntN(3) > 0 {
			who.RecordPayoutMethod(euro(policy))
		}
		if i%6 == 5 {
			b.AdvanceClock(11 * modeltest.Day)
			b.Rail.Answer = func(*release.Release) payouts.RailAnswer {
				return []payouts.RailAnswer{modeltest.Accepted, modeltest.Refused}[dice.IntN(2)]
			}
			b.Observe(modeltest.Quake(fmt.Sprintf("us%d", i), b.Now(), modeltest.Hualien, []string{"6.1", "6.6", "7.2"}[dice.IntN(3)]))
			b.RunJobs()
		}
	}
	require.NotEmpty(t, spare)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Unknown }
	b.AdvanceClock(2 * time.Minute)
	b.Observe(modeltest.Quake("last", b.Now(), modeltest.Hualien, "6.1"))
	b.RunJobs()
	return book{Bundle: b}.read(t)
}

// euro records a bank account in euro, the policy's currency.
func euro(policy *wire.Policy) payouts.MethodRequest {
	in := modeltest.PolicyIBANMethod(policy.ID)
	in.Currency = policy.Premium.Currency
	return in
}

func (b book) read(t *testing.T) book {
	t.Helper()
	everything := store.PageRequest{Limit: store.MaxPageSize}
	policies, err := b.Service.Policies.List(t.Context(), b.Operator, store.Filter{}, everything)
	require.NoError(t, err)
	claims, err := b.Service.Claims.List(t.Context(), b.Operator, store.Filter{}, everything)
	require.NoError(t, err)
	require.False(t, policies.HasMore || claims.HasMore)
	for i := range policies.Data {
		b.policies = append(b.policies, *b.DecodePolicy(&policies.Data[i]))
	}
	b.claims = claims.Data
	require.Greater(t, len(b.claims), 10)
	return b
}

func (b book) open(t *testing.T, who actor.Actor, f portfolio.Filter) *portfolio.Portfolio {
	t.Helper()
	p, err := b.Service.Portfolio.Open(t.Context(), who, f)
	require.NoError(t, err)
	return p
}

func (b book) sums(t *testing.T, who actor.Actor, f portfolio.Filter, by ...portfolio.Dimension) []wire.BookLine {
	t.Helper()
	lines, more, err := b.open(t, who, f).Book(t.Context(), by, portfolio.MaxBookLines)
	require.NoError(t, err)
	require.False(t, more)
	return lines
}

// cell computes the cell of a policy in Go, independently of the SQL.
func cell(p *wire.Policy) string {
	if p.Cover.Place.Station != "" {
		return p.Cover.Place.Station
	}
	south, west := int(math.Floor(p.Cover.Place.Latitude)), int(math.Floor(p.Cover.Place.Longitude))
	return fmt.Sprintf("%s%02d%s%03d", map[bool]string{true: "S", false: "N"}[south < 0], max(south, -south), map[bool]string{true: "W", false: "E"}[west < 0], max(west, -west))
}

// brute computes the same sums in a loop over every record.
func (b book) brute(now, from, to time.Time, key func(*wire.Policy) string) map[string]wire.BookLine {
	lines := make(map[string]wire.BookLine)
	for i := range b.policies {
		p := &b.policies[i]
		line := lines[key(p)]
		inForce := p.Status == "active" && !now.Before(p.EffectiveAt) && now.Before(p.ExpiresAt) && p.CancelledAt == nil
		bound := !p.CreatedAt.Before(from) && p.CreatedAt.Before(to)
		if inForce {
			line.PoliciesInForce++
			line.LimitAtRisk.Amount += p.LimitRemaining.Amount
			line.PremiumInForce.Amount += p.Premium.Amount
		}
		if bound {
			line.PoliciesBound++
			line.PremiumWritten.Amount += p.Premium.Amount
			incurred, paid := b.cost(p.ID)
			line.Paid.Amount += paid
			line.Reserved.Amount += incurred - paid
		}
		if inForce || bound {
			lines[key(p)] = line
		}
	}
	return lines
}

func (b book) cost(policy string) (incurred, paid int64) {
	for _, c := range b.claims {
		if c.PolicyID != policy || c.Amount == nil {
			continue
		}
		incurred += c.Amount.Amount
		for _, payout := range c.Payouts {
			if payout.Status == "released" || payout.Status == "reconciled" {
				paid += payout.Amount.Amount
			}
		}
	}
	return incurred, paid
}

func TestABookSumsEveryPolicyOnce(t *testing.T) {
	t.Parallel()
	b := sell(t)
	now := b.Now()
	early, late := now.Add(-40*modeltest.Day), now.Add(-12*modeltest.Day)
	for name, tc := range map[string]struct {
		filter portfolio.Filter
		by     []portfolio.Dimension
		key    func(*wire.Policy) string
		line   func(*wire.BookLine) string
	}{
		"by currency": {
			key:  func(p *wire.Policy) string { return p.Limit.Currency },
			line: func(l *wire.BookLine) string { return l.Currency },
		},
		"of some months": {
			filter: portfolio.Filter{From: &early, To: &late},
			key:    func(p *wire.Policy) string { return p.Limit.Currency },
			line:   func(l *wire.BookLine) string { return l.Currency },
		},
		"by product and partner": {
			by:   []portfolio.Dimension{portfolio.ByProduct, portfolio.ByPartner},
			key:  func(p *wire.Policy) string { return p.Limit.Currency + p.Product + *p.Partner },
			line: func(l *wire.BookLine) string { return l.Currency + *l.Product + *l.Partner },
		},
		"by cell": {
			by:   []portfolio.Dimension{portfolio.ByCell},
			key:  func(p *wire.Policy) string { return p.Limit.Currency + cell(p) },
			line: func(l *wire.BookLine) string { return l.Currency + l.Cell.Name },
		},
	} {
		lines := b.sums(t, b.Operator, tc.filter, tc.by...)
		from, to := now.AddDate(-1, 0, 0), now
		if tc.filter.From != nil {
			from, to = *tc.filter.From, *tc.filter.To
		}
		want := b.brute(now, from, to, tc.key)
		require.Len(t, lines, len(want), name)
		require.Greater(t, len(lines), 2, name)
		for _, l := range lines {
			w := want[tc.line(&l)]
			require.Equal(t, w.PoliciesInForce, l.PoliciesInForce, "%s %s", name, tc.line(&l))
			require.Equal(t, w.LimitAtRisk.Amount, l.LimitAtRisk.Amount, name)
			require.Equal(t, w.PremiumInForce.Amount, l.PremiumInForce.Amount, name)
			require.Equal(t, w.PoliciesBound, l.PoliciesBound, name)
			require.Equal(t, w.PremiumWritten.Amount, l.PremiumWritten.Amount, name)
			require.Equal(t, w.Paid.Amount, l.Paid.Amount, name)
			require.Equal(t, w.Reserved.Amount, l.Reserved.Amount, name)
			require.Equal(t, l.Currency, l.LimitAtRisk.Currency)
			if w.PremiumWritten.Amount > 0 {
				ratio := decimal.NewFromInt(w.Paid.Amount+w.Reserved.Amount).DivRound(decimal.NewFromInt(w.PremiumWritten.Amount), 4)
				require.Equal(t, ratio.StringFixed(4), *l.LossRatio, name)
			} else {
				require.Nil(t, l.LossRatio, name)
			}
		}
	}
}

func TestBookIsTenantScoped(t *testing.T) {
	t.Parallel()
	b := sell(t)
	of := func(partner string) []wire.BookLine {
		return b.sums(t, b.Operator, portfolio.Filter{Partner: partner}, portfolio.ByProduct)
	}
	require.Equal(t, of("acme"), b.sums(t, b.Acme, portfolio.Filter{}, portfolio.ByProduct))
	require.Equal(t, of("globex"), b.sums(t, b.Globex, portfolio.Filter{Partner: "globex"}, portfolio.ByProduct))
	require.NotEqual(t, of("acme"), of("globex"))
	require.Empty(t, of("unknown"))
	_, err := b.Service.Portfolio.Open(t.Context(), b.Acme, portfolio.Filter{Partner: "globex"})
	require.Equal(t, apperr.CodePartnerMismatch, modeltest.DomainError(t, err).Code)

	for _, l := range b.sums(t, b.Acme, portfolio.Filter{Product: "quake-circle", Currency: "EUR"}, portfolio.ByProduct) {
		require.Equal(t, "quake-circle", *l.Product)
		require.Equal(t, "EUR", l.Currency)
	}
	blind := b.Acme
	blind.Scopes = []actor.Scope{actor.ScopePoliciesRead}
	_, err = b.Service.Portfolio.Open(t.Context(), blind, portfolio.Filter{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}

func TestClaimsAndPayoutsByStatus(t *testing.T) {
	t.Parallel()
	b := sell(t)
	claims, payouts := make(map[string]wire.StatusFigure), make(map[string]wire.StatusFigure)
	add := func(to map[string]wire.StatusFigure, status string, amount wire.Money) {
		f := to[amount.Currency+status]
		f.Status, f.Amount.Currency = status, amount.Currency
		f.Count++
		f.Amount.Amount += amount.Amount
		to[amount.Currency+status] = f
	}
	for _, c := range b.claims {
		owed := wire.Money{Currency: c.Determination.Amount.Currency}
		if c.Amount != nil {
			owed = *c.Amount
		}
		add(claims, c.Status, owed)
		for _, payout := range c.Payouts {
			add(payouts, payout.Status, payout.Amount)
		}
	}
	p := b.open(t, b.Operator, portfolio.Filter{})
	got, err := p.ClaimsByStatus(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(valuesOf(claims)), got)
	got, err = p.PayoutsByStatus(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(valuesOf(payouts)), got)
	b.doubted(t, p)
}

func valuesOf(figures map[string]wire.StatusFigure) func(func(wire.StatusFigure) bool) {
	return func(yield func(wire.StatusFigure) bool) {
		for _, f := range figures {
			if !yield(f) {
				return
			}
		}
	}
}

// doubted compares the figures of money in doubt with the payouts, one by one.
func (b book) doubted(t *testing.T, p *portfolio.Portfolio) {
	t.Helper()
	got, err := p.Doubt(t.Context())
	require.NoError(t, err)
	want := make(map[string]wire.DoubtFigure)
	statuses, ages := map[string]bool{}, map[string]bool{}
	for _, c := range b.claims {
		for _, payout := range c.Payouts {
			if payout.Status != "blocked" && payout.Status != "reconciling" {
				continue
			}
			f := wire.DoubtFigure{Status: payout.Status, OlderThan: "P30D"}
			switch age := p.AsOf.Sub(payout.CreatedAt); {
			case age < time.Hour:
				f.OlderThan, f.Under = "PT0S", new("PT1H")
			case age < modeltest.Day:
				f.OlderThan, f.Under = "PT1H", new("P1D")
			case age < 7*modeltest.Day:
				f.OlderThan, f.Under = "P1D", new("P7D")
			case age < 30*modeltest.Day:
				f.OlderThan, f.Under = "P7D", new("P30D")
			}
			key := f.Status + f.OlderThan + payout.Amount.Currency
			f.Count, f.Amount = want[key].Count+1, wire.Money{Amount: want[key].Amount.Amount + payout.Amount.Amount, Currency: payout.Amount.Currency}
			want[key] = f
			statuses[f.Status], ages[f.OlderThan] = true, true
		}
	}
	require.Len(t, statuses, 2, "the story leaves both kinds of doubt")
	require.Greater(t, len(ages), 2)
	require.Len(t, got, len(want))
	for _, f := range got {
		require.Equal(t, want[f.Status+f.OlderThan+f.Amount.Currency], f)
	}
}

func TestASeriesHasEveryBucket(t *testing.T) {
	t.Parallel()
	b := sell(t)
	now := b.Now()
	from := now.Add(-100 * modeltest.Day)
	for interval, length := range map[portfolio.Interval]int{portfolio.Daily: 101, portfolio.Weekly: 15, portfolio.Monthly: 4} {
		p := b.open(t, b.Operator, portfolio.Filter{From: &from, To: &now})
		list, err := p.Series(t.Context(), interval)
		require.NoError(t, err)
		require.Len(t, list, 3)
		for _, series := range list {
			require.InDelta(t, length, len(series.Points), 1)
			require.Equal(t, from, series.Points[0].From)
			require.Equal(t, now, series.Points[len(series.Points)-1].To)
			for i, point := range series.Points {
				if i > 0 {
					require.Equal(t, series.Points[i-1].To, point.From, "no gap")
				}
				if i > 0 && interval == portfolio.Weekly {
					require.Equal(t, time.Monday, point.From.Weekday())
				}
				b.point(t, series.Currency, point)
			}
		}
	}
}

// point compares one point of the series with the records, one by one.
func (b book) point(t *testing.T, currency string, point wire.SeriesPoint) {
	t.Helper()
	in := func(at *time.Time) bool { return at != nil && !at.Before(point.From) && at.Before(point.To) }
	want := wire.SeriesPoint{From: point.From, To: point.To}
	var incurred int64
	for i := range b.policies {
		if p := &b.policies[i]; p.Limit.Currency == currency && in(&p.CreatedAt) {
			want.PoliciesBound++
			want.PremiumWritten.Amount += p.Premium.Amount
			cost, _ := b.cost(p.ID)
			incurred += cost
		}
	}
	for _, c := range b.claims {
		if c.Determination.Amount.Currency != currency {
			continue
		}
		if in(&c.OpenedAt) {
			want.ClaimsOpened++
		}
		if c.Amount != nil && in(&c.Decision.DecidedAt) {
			want.ClaimsApproved.Amount += c.Amount.Amount
		}
		for _, payout := range c.Payouts {
			if in(payout.ReleasedAt) {
				want.PayoutsReleased.Amount += payout.Amount.Amount
			}
		}
	}
	if want.PremiumWritten.Amount > 0 {
		want.LossRatio = new(decimal.NewFromInt(incurred).DivRound(decimal.NewFromInt(want.PremiumWritten.Amount), 4).StringFixed(4))
	}
	for _, m := range []*wire.Money{&want.PremiumWritten, &want.ClaimsApproved, &want.PayoutsReleased} {
		m.Currency = currency
	}
	require.Equal(t, want, point)
}

func TestAPortfolioIsBounded(t *testing.T) {
	t.Parallel()
	b := book{Bundle: modeltest.New(t)}
	now := b.Now()
	long, year := now.Add(-portfolio.MaxPortfolioSpan-time.Second), now.AddDate(-2, 0, 0)
	for _, f := range []portfolio.Filter{{From: &long, To: &now}, {From: &now, To: &year}, {From: &now, To: &now}} {
		_, err := b.Service.Portfolio.Open(t.Context(), b.Operator, f)
		require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	}
	p := b.open(t, b.Operator, portfolio.Filter{From: &year})
	_, err := p.Series(t.Context(), portfolio.Daily)
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, err = p.Series(t.Context(), "hour")
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, _, err = p.Book(t.Context(), []portfolio.Dimension{"colour"}, 1)
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, _, err = p.Book(t.Context(), nil, portfolio.MaxBookLines+1)
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
}

func TestASumBeyond64BitsIsRefused(t *testing.T) {
	t.Parallel()
	b := book{Bundle: modeltest.New(t, modeltest.WithoutChecks())}
	for range 2 {
		b.QuoteAndBind("quake-circle", nil)
	}
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set limit_amount = 5e18::bigint, limit_remaining = 5e18::bigint")
	require.NoError(t, err)
	_, _, err = b.open(t, b.Operator, portfolio.Filter{}).Book(t.Context(), nil, 1)
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
}
