package underwriting

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// boundAt is when the policies of these tests are bound.
var boundAt = time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC)

func TestPhaseOfCoverChangesAtItsTimes(t *testing.T) {
	t.Parallel()
	p := &PolicyRow{EffectiveAt: boundAt, PayableFrom: boundAt.AddDate(0, 0, 7), ExpiresAt: boundAt.AddDate(1, 0, 0)}
	const moment = time.Microsecond
	for at, want := range map[time.Time]CoverPhase{
		boundAt.Add(-moment): CoverScheduled, boundAt: CoverWaiting, p.PayableFrom.Add(-moment): CoverWaiting, p.PayableFrom: CoverInForce,
		p.ExpiresAt.Add(-moment): CoverInForce, p.ExpiresAt: CoverEnded,
	} {
		require.Equal(t, want, p.coverPhase(at), at)
	}
	p.PayableFrom = boundAt
	require.Equal(t, CoverInForce, p.coverPhase(boundAt), "without a waiting period")
	cancelled := boundAt.AddDate(0, 1, 0)
	p.CancelledAt = &cancelled
	require.Equal(t, CoverInForce, p.coverPhase(cancelled.Add(-moment)))
	require.Equal(t, CoverEnded, p.coverPhase(cancelled))
	p.CancelledAt = new(boundAt.Add(-time.Hour))
	require.Equal(t, CoverEnded, p.coverPhase(boundAt.Add(-30*time.Minute)), "cover that never began has ended")
}

func TestCoverEndsAtItsTermOrEarlierCancellation(t *testing.T) {
	t.Parallel()
	p := &PolicyRow{EffectiveAt: boundAt, ExpiresAt: boundAt.AddDate(1, 0, 0)}
	require.Equal(t, p.ExpiresAt, p.CoverEnd())
	p.CancelledAt = new(boundAt.AddDate(2, 0, 0))
	require.Equal(t, p.ExpiresAt, p.CoverEnd(), "a later cancellation lengthens nothing")
	p.CancelledAt = new(boundAt.AddDate(0, 1, 0))
	require.Equal(t, trigger.Period{From: boundAt, To: *p.CancelledAt}, p.CoverPeriod())
}

func TestTimesOfCoverCountFromItsStart(t *testing.T) {
	t.Parallel()
	cover := trigger.Cover{Term: "P1M", WaitingPeriod: "P7D", ReportingWindow: "P30D"}
	p := &PolicyRow{Cover: cover}
	p.setPeriod(boundAt)
	require.Equal(t, []time.Time{boundAt, boundAt.AddDate(0, 0, 7), boundAt.AddDate(0, 1, 0), boundAt.AddDate(0, 1, 30)}, []time.Time{p.EffectiveAt, p.PayableFrom, p.ExpiresAt, p.ReportableUntil})
	later := boundAt.AddDate(0, 2, 0)
	p.Cover.StartsAt = &later
	p.setPeriod(boundAt)
	require.Equal(t, []time.Time{later, later.AddDate(0, 0, 7), later.AddDate(0, 1, 0), later.AddDate(0, 1, 30)}, []time.Time{p.EffectiveAt, p.PayableFrom, p.ExpiresAt, p.ReportableUntil})
}

func TestMatchKeysAreThoseOfThePlace(t *testing.T) {
	t.Parallel()
	circle := &PolicyRow{}
	circle.setMatchKeys(trigger.Cover{Place: trigger.Place{Kind: trigger.Circle, Latitude: 10, Longitude: 20, RadiusKM: 50}})
	require.NotNil(t, circle.Footprint)
	require.Nil(t, circle.Station)
	require.Nil(t, circle.Days)
	rain := trigger.Cover{
		Place:   trigger.Place{Kind: trigger.AtStation, Station: "Seattle"},
		Trigger: trigger.Trigger{Kind: trigger.Rainfall, Index: "precipitation_sum", Direction: trigger.AtLeast, Days: 3, WetMM: new(decimal.NewFromInt(1)), DryDays: 3},
		Payout:  trigger.Payout{Shape: trigger.Linear, Attach: new(decimal.NewFromInt(120)), Exhaust: new(decimal.NewFromInt(240))},
	}
	spell := &PolicyRow{}
	spell.setMatchKeys(rain)
	require.Nil(t, spell.Footprint)
	require.Equal(t, []any{"Seattle", "spell/1/3", 3, "120"}, []any{*spell.Station, *spell.Definition, *spell.Days, spell.Threshold.String()})
	rain.Trigger.Direction, rain.Trigger.Calendar = trigger.AtMost, trigger.Month
	month := &PolicyRow{}
	month.setMatchKeys(rain)
	require.Equal(t, 0, *month.Days, "a month counts as a whole")
}

func TestQuoteIsBoundOnceBeforeItExpiresAndBegins(t *testing.T) {
	t.Parallel()
	policy := uuid.New()
	tx := &store.Tx{Now: boundAt}
	check := func(change func(*quoting.QuoteRow)) *apperr.Error {
		quote := &quoting.QuoteRow{Status: quoting.QuotePriced, ExpiresAt: boundAt.Add(time.Microsecond)}
		change(quote)
		err := checkBindable(t.Context(), tx, quote)
		if err == nil {
			return nil
		}
		refused := new(apperr.Error)
		require.ErrorAs(t, err, &refused)
		return refused
	}
	require.Nil(t, check(func(*quoting.QuoteRow) {}))
	require.Nil(t, check(func(q *quoting.QuoteRow) { q.Cover.StartsAt = &boundAt }), "cover may begin now")
	require.Equal(t, apperr.CodeQuoteExpired, check(func(q *quoting.QuoteRow) { q.ExpiresAt = boundAt }).Code)
	require.Equal(t, apperr.CodeQuoteExpired, check(func(q *quoting.QuoteRow) { q.Status = quoting.QuoteExpired }).Code)
	late := check(func(q *quoting.QuoteRow) { q.Cover.StartsAt = new(boundAt.Add(-time.Microsecond)) })
	require.Equal(t, apperr.CodeQuoteExpired, late.Code)
	require.Contains(t, late.Detail, "Cover was to start at")
	bound := check(func(q *quoting.QuoteRow) { q.Status, q.PolicyID, q.ExpiresAt = quoting.QuoteBound, &policy, boundAt })
	require.Equal(t, apperr.CodeQuoteAlreadyBound, bound.Code, "also after it would have expired")
	require.Equal(t, store.ResourcePolicy.FormatID(policy), bound.ResourceID)
}

func TestRecordKeepsTheNewestClaimsAndCountsAll(t *testing.T) {
	t.Parallel()
	var claims PolicyClaims
	var want []wire.ClaimBrief
	for range store.MaxEmbedded + 3 {
		id := store.NewID()
		claims.AddNewest(id, "opened")
		want = append(want, wire.ClaimBrief{ID: store.ResourceClaim.FormatID(id), Status: "opened"})
	}
	record := (&PolicyRow{}).ToRecord(boundAt, claims)
	require.Equal(t, want[3:], record.Claims)
	require.EqualValues(t, store.MaxEmbedded+3, record.ClaimsCount)
}

func TestPremiumIsPostedWithTheCommissionOfItsPrice(t *testing.T) {
	t.Parallel()
	p := &PolicyRow{PremiumAmount: 1000, Currency: "USD"}
	p.ID, p.Partner = uuid.New(), "acme"
	event := uuid.New()
	price := &pricing.Price{Lines: []pricing.Line{{Kind: "risk", Amount: wire.Money{Amount: 700}}, {Kind: pricing.Commission, Amount: wire.Money{Amount: 150}}}}
	set := p.premiumPostings(event, boundAt, price)
	require.Equal(t, []any{event, p.ID, "acme", "USD", boundAt}, []any{set.Event, set.Policy, set.Partner, set.Currency, set.At})
	require.Len(t, set.Sides, 4)
	require.Len(t, p.premiumPostings(event, boundAt, &pricing.Price{}).Sides, 2, "without a commission")
	require.Nil(t, set.Claim)
	require.Nil(t, set.Payout)
}

func TestPolicyholderComesFromTheContext(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Lin", *contextPolicyholder(&quoting.QuoteRow{Context: []byte(`{"policyholder":{"name":"Lin"}}`)}).Name)
	for _, context := range []string{`{}`, `{"policyholder":null}`, `{"policyholder":7}`, ``} {
		require.Nil(t, contextPolicyholder(&quoting.QuoteRow{Context: []byte(context)}), context)
	}
	first, second := &PolicyRow{}, &PolicyRow{}
	first.ID, second.ID = uuid.New(), uuid.New()
	require.Equal(t, []uuid.UUID{first.ID, second.ID}, PolicyIDs([]*PolicyRow{first, second}))
}
