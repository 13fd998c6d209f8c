package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

func TestDelayVariesByAFifth(t *testing.T) {
	t.Parallel()
	shorter, longer := 0, 0
	for range 1000 {
		wait := withJitter(time.Hour)
		require.GreaterOrEqual(t, wait, 48*time.Minute)
		require.LessOrEqual(t, wait, 72*time.Minute)
		if wait < 54*time.Minute {
			shorter++
		}
		if wait > 66*time.Minute {
			longer++
		}
	}
	require.Positive(t, shorter)
	require.Positive(t, longer)
}

func TestDelaysAreDividedInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	for divisor, want := range map[int]time.Duration{0: time.Hour, 1: time.Hour, 60: time.Minute} {
		require.Equal(t, want, Config{DelayDivisor: divisor}.scaleDelay(time.Hour))
	}
}

func TestLongestPauseOfFailedAttemptsCountsForADayAtMost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent []AttemptResult
		want time.Duration
	}{
		"none":             {nil, 0},
		"longest":          {[]AttemptResult{{RetryAfter: time.Minute}, {RetryAfter: time.Hour}, {RetryAfter: time.Second}}, time.Hour},
		"of a delivered":   {[]AttemptResult{{Delivered: true, RetryAfter: time.Hour}, {RetryAfter: time.Second}}, time.Second},
		"more than a day":  {[]AttemptResult{{RetryAfter: 25 * time.Hour}}, 24 * time.Hour},
		"before the reply": {[]AttemptResult{{RetryAfter: -time.Hour}}, 0},
	} {
		require.Equal(t, tc.want, requestedPause(tc.sent), name)
	}
}

// Items of one group are sent one after the other, so an ordered endpoint needs one group
// per subject.
func TestGroupsKeepTheOrderOfEachSubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subjects := rapid.SliceOf(rapid.ByteRange(1, 4)).Draw(t, "subjects")
		batch := DeliveryBatch{Ordered: rapid.Bool().Draw(t, "ordered")}
		for _, subject := range subjects {
			batch.Items = append(batch.Items, Outgoing{delivery: &deliveryRow{SubjectID: uuid.UUID{subject}}})
		}
		seen := map[int]bool{}
		groupOf := map[byte]int{}
		for g, group := range batch.ParallelGroups() {
			for k, item := range group {
				require.False(t, seen[item])
				seen[item] = true
				require.True(t, k == 0 || group[k-1] < item, "in the order of the events")
				if batch.Ordered {
					other, known := groupOf[subjects[item]]
					require.True(t, !known || other == g, "a subject has one group")
					groupOf[subjects[item]] = g
				}
			}
			require.True(t, batch.Ordered || len(group) == 1)
		}
		require.Len(t, seen, len(subjects))
	})
}

// attemptResult returns the result of an attempt of a stored delivery with n earlier ones.
func attemptResult(n int, delivered bool) *AttemptResult {
	d := &deliveryRow{RowHeader: store.RowHeader{ID: uuid.Max, Partner: "acme", Version: 3}, Status: DeliveryPending, AttemptsInRound: n, NextAttemptAt: &noon}
	for i := range n {
		d.Attempts = append(d.Attempts, wire.Attempt{Answer: fmt.Sprint(i)})
	}
	return &AttemptResult{Outgoing: Outgoing{delivery: d}, Attempt: &wire.Attempt{Answer: "last"}, Delivered: delivered}
}

func TestAttemptMovesTheDeliveryAlongTheSchedule(t *testing.T) {
	t.Parallel()
	tx, progress := &store.Tx{Now: noon}, &progressRow{Partner: "acme"}
	for n, wait := range DeliverySchedule() {
		d := recordAttempt(tx, progress, attemptResult(n, false), false, Config{})
		require.Equal(t, DeliveryPending, d.Status)
		require.Equal(t, n+1, d.AttemptsInRound)
		require.InDelta(t, wait.Seconds(), d.NextAttemptAt.Sub(noon).Seconds(), wait.Seconds()/5+1e-9)
	}
	last := recordAttempt(tx, progress, attemptResult(9, false), false, Config{})
	require.Equal(t, DeliveryFailed, last.Status)
	require.Nil(t, last.NextAttemptAt)
	for _, n := range []int{0, 9} {
		delivered := recordAttempt(tx, progress, attemptResult(n, true), false, Config{})
		require.Equal(t, DeliveryDelivered, delivered.Status)
		require.Nil(t, delivered.NextAttemptAt)
	}
}

// A deadlock repeats the transaction with the same batch.
func TestRecordingAnAttemptTwiceGivesTheSameDelivery(t *testing.T) {
	t.Parallel()
	result := attemptResult(25, true)
	for range 2 {
		d := recordAttempt(&store.Tx{Now: noon}, &progressRow{Partner: "acme"}, result, false, Config{})
		require.EqualValues(t, 4, d.Version)
		require.Equal(t, 26, d.AttemptsInRound)
		require.Len(t, d.Attempts, 20, "the newest 20 are kept")
		require.Equal(t, []string{"6", "last"}, []string{d.Attempts[0].Answer, d.Attempts[19].Answer})
	}
	require.Len(t, result.Outgoing.delivery.Attempts, 25)
}

func TestUnsentEventWaitsForTheNextProbe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		probe   *time.Time
		ordered bool
		want    time.Duration
	}{
		"works":                {nil, false, 0},
		"fails":                {new(noon.Add(time.Minute)), false, time.Minute},
		"fails, with a pause":  {new(noon.Add(time.Hour)), false, 5 * time.Minute},
		"fails and is ordered": {new(noon.Add(time.Minute)), true, 0},
	} {
		d := recordAttempt(&store.Tx{Now: noon}, &progressRow{Partner: "acme", NextProbeAt: tc.probe, EndpointID: uuid.Max},
			&AttemptResult{Outgoing: Outgoing{delivery: &deliveryRow{Sequence: 7}}}, tc.ordered, Config{})
		require.Equal(t, noon.Add(tc.want), *d.NextAttemptAt, name)
		require.Equal(t, []any{"acme", uuid.Max, int64(7), DeliveryPending, 0, int64(1)}, []any{d.Partner, d.EndpointID, d.Sequence, d.Status, d.AttemptsInRound, d.Version}, name)
		require.NotNil(t, d.Attempts, "an empty list, not null")
	}
}

func TestChangedMetadataIsReplacedOrMerged(t *testing.T) {
	t.Parallel()
	was := map[string]string{"a": "1", "b": "2"}
	for name, tc := range map[string]struct {
		in   EndpointRequest
		want map[string]string
	}{
		"replaced": {EndpointRequest{Metadata: map[string]string{"c": "3"}}, map[string]string{"c": "3"}},
		"emptied":  {EndpointRequest{Metadata: map[string]string{}}, map[string]string{}},
		"merged":   {EndpointRequest{MergeMetadata: map[string]*string{"a": nil, "b": new("4"), "c": new(""), "d": nil}}, map[string]string{"b": "4", "c": ""}},
	} {
		row := EndpointRow{PartnerFields: store.PartnerFields{Metadata: was}}
		require.Equal(t, []string{"metadata"}, row.applyRequest(tc.in), name)
		require.Equal(t, tc.want, row.Metadata, name)
	}
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, was)
	row := EndpointRow{PartnerFields: store.PartnerFields{PartnerReference: new("ref")}}
	require.Empty(t, row.applyRequest(EndpointRequest{}))
	require.Equal(t, []string{"partner_reference"}, row.applyRequest(EndpointRequest{ClearReference: true}))
	require.Nil(t, row.PartnerReference)
}
