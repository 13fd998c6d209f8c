package release_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// owedToTwo makes payouts of two partners that are due.
func owedToTwo(t *testing.T, b *modeltest.Bundle, acme, globex int) {
	t.Helper()
	for i := range acme + globex {
		as := b.ActingAs(b.Acme)
		if i >= acme {
			as = b.ActingAs(b.Globex)
		}
		as.RecordPayoutMethod(modeltest.PolicyIBANMethod(as.QuoteAndBind("quake-circle", nil).ID))
	}
	b.RunAccountChecks()
	quake, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.Quake("us1000chhc", b.Now(), modeltest.Epicentre, "6.4"), false)
	require.NoError(t, err)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*quake.OccurrenceID}}))
}

// releasedBySlice releases one slice and returns how many payouts of each partner it took.
func releasedBySlice(t *testing.T, b *modeltest.Bundle, size int) map[string]int {
	t.Helper()
	released := map[string]int{}
	_, _, err := b.Service.Releases.ReleaseBatch(t.Context(), modeltest.ScriptedRail, size, func(_ context.Context, _ *pgx.Conn, orders []*release.Release) ([]payouts.RailAnswer, error) {
		answers := make([]payouts.RailAnswer, len(orders))
		for i, order := range orders {
			released[order.Partner]++
			answers[i] = modeltest.Accepted
		}
		return answers, nil
	})
	require.NoError(t, err)
	return released
}

func TestReleaseBatchTakesPayoutsOfEveryPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	owedToTwo(t, b, 9, 4)
	_, err := b.DB.Pool.Exec(t.Context(), "update payouts set next_attempt_at = next_attempt_at - interval '1 minute' where partner = 'acme'")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"acme": 3, "globex": 3}, releasedBySlice(t, b, 6), "equal shares, although all of acme's were due before")
	require.Equal(t, map[string]int{"acme": 5, "globex": 1}, releasedBySlice(t, b, 6), "what globex leaves is acme's")
	require.Equal(t, map[string]int{"acme": 1}, releasedBySlice(t, b, 6))
}

func TestFewPayoutsOfEachOtherPartnerStandAhead(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	owedToTwo(t, b, 2, 6)
	advance := func(partner string) int {
		return modeltest.Must(b.Service.Releases.AdvanceOtherPartners(t.Context(), partner))
	}
	require.Equal(t, 4, advance("acme"))
	last, is := b.LastJob().(payouts.ReleasePayout)
	require.True(t, is)
	require.Equal(t, "globex", last.Partner)
	require.Zero(t, advance("acme"), "the four still stand ahead")
	require.Equal(t, 2, advance("globex"))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, last.Partner, last.ID)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, 1, advance("acme"), "one follows")
	b.AdvanceClock(2 * time.Minute)
	require.Equal(t, 4, advance("acme"), "their jobs may have been lost")
}

// twoEvents makes nine payouts of acme for a large event, due first, and nine for a later
// one.
func twoEvents(t *testing.T) (b *modeltest.Bundle, releasedOf func(event string) int) {
	t.Helper()
	b = modeltest.New(t)
	owedToTwo(t, b, 9, 0)
	b.AdvanceClock(24 * time.Hour)
	small, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.Quake("us2small", b.Now(), modeltest.Epicentre, "6.4"), false)
	require.NoError(t, err)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*small.OccurrenceID}}))
	_, err = b.DB.Pool.Exec(t.Context(), "update matchings set candidates = 100000 where occurrence_id = (select occurrence_id from observations where source_event_id = 'us1000chhc')")
	require.NoError(t, err)
	return b, func(event string) (count int) {
		err := b.DB.Pool.QueryRow(t.Context(), `select count(*) from payouts po join claims c on c.id = po.claim_id and c.partner = po.partner
			where po.status = 'released' and c.occurrence_id = (select occurrence_id from observations where source_event_id = $1)`, event).Scan(&count)
		require.NoError(t, err)
		return count
	}
}

func TestPayoutsOfSmallEventGoAheadOfLargeOneOfTheSamePartner(t *testing.T) {
	t.Parallel()
	b, releasedOf := twoEvents(t)
	require.Equal(t, map[string]int{"acme": 8}, releasedBySlice(t, b, 8))
	require.Equal(t, []int{6, 2}, []int{releasedOf("us1000chhc"), releasedOf("us2small")}, "a quarter of the batch")
	releasedBySlice(t, b, 8)
	require.Equal(t, []int{9, 7}, []int{releasedOf("us1000chhc"), releasedOf("us2small")})
}

// Revisions of the large event and later events without candidates do not count.
func TestSmallEventGoesAheadAfterManyRevisionsAndAftershocks(t *testing.T) {
	t.Parallel()
	b, releasedOf := twoEvents(t)
	_, err := b.DB.Pool.Exec(t.Context(), `insert into matchings (occurrence_id, version, candidates, started_at, completed_at)
		select occurrence_id, 100 + n, candidates, started_at, completed_at from matchings, generate_series(1, 20) as n where candidates > 0`)
	require.NoError(t, err)
	for i := range 20 {
		quake := modeltest.Quake(fmt.Sprintf("us3after%d", i), b.Now(), hazard.Point{Latitude: 52.5, Longitude: 13.4}, "6.4")
		seen, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, quake, false)
		require.NoError(t, err)
		require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*seen.OccurrenceID}}))
	}
	require.Equal(t, map[string]int{"acme": 8}, releasedBySlice(t, b, 8))
	require.Equal(t, []int{6, 2}, []int{releasedOf("us1000chhc"), releasedOf("us2small")})
	_, err = b.DB.Pool.Exec(t.Context(), "delete from matchings where version > 100")
	require.NoError(t, err)
}

// A claim may have several payouts that are due.
func TestReleaseBatchTakesAtMostItsSize(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	owedToTwo(t, b, 3, 0)
	_, err := b.DB.Pool.Exec(t.Context(), `with first as (select c.id, c.policy_id from claims c order by c.id limit 1), placed as (select id, 10 + row_number() over (order by id) as place from payouts)
		update payouts po set claim_id = first.id, policy_id = first.policy_id, installment = placed.place, claim_sequence = placed.place from first, placed where placed.id = po.id`)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"acme": 2}, releasedBySlice(t, b, 2))
}

func TestSinglePayoutsOfSmallEventStandAheadOfLargeOne(t *testing.T) {
	t.Parallel()
	b, releasedOf := twoEvents(t)
	require.Equal(t, 4, modeltest.Must(b.Service.Releases.AdvanceOtherPartners(t.Context(), "acme")))
	last, is := b.LastJob().(payouts.ReleasePayout)
	require.True(t, is)
	require.True(t, last.HighPriority)
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, last.Partner, last.ID)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{releasedOf("us1000chhc"), releasedOf("us2small")})
}

// A large event fills the queue after the plans of the statements were made. A plan that
// begins with every due payout would read the whole queue for each batch.
func TestPlansOfBatchDoNotReadTheQueue(t *testing.T) {
	t.Parallel()
	b, _ := twoEvents(t)
	_, err := b.DB.Pool.Exec(t.Context(), "analyze claims, payouts")
	require.NoError(t, err)
	const ofQueue = "payouts_partner_due_idx|payouts_due_idx|Seq Scan on (payouts|claims)"
	explain := func(ctx context.Context, conn *pgx.Conn, orders []*release.Release) ([]payouts.RailAnswer, error) {
		small := modeltest.ExplainPrepared(ctx, t, conn, "select c.id%recent.candidates%")
		require.Len(t, small, 1)
		require.NotRegexp(t, ofQueue, small[0])
		locks := modeltest.ExplainPrepared(ctx, t, conn, "SELECT%payouts%claim_id = any%")
		require.Len(t, locks, 1)
		require.NotRegexp(t, ofQueue, locks[0])
		shares := modeltest.ExplainPrepared(ctx, t, conn, "select due.*%")
		require.Len(t, shares, 1)
		require.Regexp(t, `Index Cond:.*partner = .*next_attempt_at <=`, shares[0])
		require.NotContains(t, shares[0], "Sort Key: po.next_attempt_at", "it stops when it has enough")
		answers := make([]payouts.RailAnswer, len(orders))
		for i := range answers {
			answers[i] = modeltest.Accepted
		}
		return answers, nil
	}
	taken, _, err := b.Service.Releases.ReleaseBatch(t.Context(), modeltest.ScriptedRail, 8, explain)
	require.NoError(t, err)
	require.Equal(t, 8, taken)
}

// A batch locks the payouts of a claim that has one that is due, and takes only those.
func TestReleaseBatchLeavesOtherPayoutsOfTheClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	owedToTwo(t, b, 5, 0)
	_, err := b.DB.Pool.Exec(t.Context(), `with first as (select c.id, c.policy_id from claims c order by c.id limit 1), placed as (select id, 10 + row_number() over (order by id) as place from payouts)
		update payouts po set claim_id = first.id, policy_id = first.policy_id, installment = placed.place, claim_sequence = placed.place,
			status = case placed.place when 11 then 'blocked' when 14 then 'releasing' else status end, blocked_reason = case placed.place when 11 then 'payout_method_missing' end,
			next_attempt_at = case placed.place when 11 then null when 12 then null when 13 then next_attempt_at + interval '1 day' else next_attempt_at end
		from first, placed where placed.id = po.id`)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"acme": 1}, releasedBySlice(t, b, 9))
}
