package model

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

func TestWeeklyBucketsBeginOnMonday(t *testing.T) {
	t.Parallel()
	for day, monday := range map[string]string{
		"2026-11-23": "2026-11-23", "2026-11-24": "2026-11-23", "2026-11-29": "2026-11-23", // Monday, Tuesday, Sunday
		"2027-01-01": "2026-12-28", "2027-03-01": "2027-03-01",
	} {
		at, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		require.Equal(t, monday, Weekly.bucketStart(at.Add(time.Hour)).Format(time.DateOnly), day)
	}
}

func TestLongestPortfolioIsFiveYearsWithTwoLeapDays(t *testing.T) {
	t.Parallel()
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // 2020 and 2024 are leap years
	require.Equal(t, MaxPortfolioSpan, begin.AddDate(5, 0, 0).Sub(begin))
}

func TestClaimAwaitsTheSourceOnlyWithoutAnotherReason(t *testing.T) {
	t.Parallel()
	require.True(t, onlyAwaitsSource([]string{string(ReasonSourcePreliminary)}))
	require.False(t, onlyAwaitsSource([]string{string(ReasonSourcePreliminary), string(ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource([]string{string(ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource(nil))
}

func TestOccurrenceReferenceNamesItsMembers(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"":            "Give exactly one of occurrence_id, source_event and as_if.",
		"/occurrence": "Give exactly one of id, source_event and as_if.",
	} {
		v := apperr.NewValidator(t.Context())
		(&OccurrenceRef{Pointer: pointer}).validate(v)
		var invalid *apperr.Error
		require.ErrorAs(t, v.Err(), &invalid)
		require.Len(t, invalid.Fields, 1)
		require.Equal(t, want, invalid.Fields[0].Detail)
	}
}

func TestReplacedMethodIsNotSelected(t *testing.T) {
	t.Parallel()
	claim := uuid.New()
	for status, selected := range map[PayoutMethodStatus]bool{MethodVerified: true, MethodPending: true, MethodReplaced: false, MethodRejected: false} {
		require.Equal(t, selected, selectMethod([]*payoutMethodRow{{Status: status}}, claim) != nil, status)
	}
}
