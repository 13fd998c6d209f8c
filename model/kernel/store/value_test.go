package store_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/money"
)

func TestIDsOfEveryTypeHaveTheirOwnPrefix(t *testing.T) {
	t.Parallel()
	id, prefixes := store.NewID(), map[string]bool{}
	for _, kind := range append(slices.Clone(store.PartnerResources), store.ResourceReport, store.ResourceException, store.ResourceMoratorium,
		store.ResourceAuditEntry, store.ResourceRailAdoption, store.ResourceReleaseResumption) {
		text := kind.FormatID(id)
		prefix, _, _ := strings.Cut(text, "_")
		require.Regexp(t, `^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$`, text)
		require.False(t, prefixes[prefix], prefix)
		prefixes[prefix] = true
		back, err := kind.ParseID(text)
		require.NoError(t, err)
		require.Equal(t, id, back)
		require.Equal(t, text, *kind.FormatOptionalID(&id))
		require.Nil(t, kind.FormatOptionalID(nil))
	}
}

func TestTextsNameTypesInWords(t *testing.T) {
	t.Parallel()
	for kind, name := range map[store.ResourceType]string{
		store.ResourceTimelineEntry: "timeline entry", store.ResourcePayoutMethod: "payout method", store.ResourceEndpoint: "webhook endpoint",
		store.ResourceReleaseResumption: "resumption of releases", store.ResourceQuote: "quote",
	} {
		require.Equal(t, "There is no "+name+" with this id.", kind.NotFoundError().Detail)
	}
	for _, subject := range store.EventSubjects {
		require.Equal(t, subject, store.FindEventSubject(subject.Name))
		prefix, _, _ := strings.Cut(subject.FormatID(uuid.Max), "_")
		require.Equal(t, subject, store.FindEventSubject(prefix))
	}
	for _, text := range []string{"", "observation", "obs", "Quote"} {
		require.Equal(t, store.ResourceType{}, store.FindEventSubject(text), text)
	}
}

func TestParseIDsReturnsValidIDsOnce(t *testing.T) {
	t.Parallel()
	a, b := uuid.UUID{1}, uuid.UUID{2}
	text := store.ResourceClaim.FormatID
	require.Equal(t, []uuid.UUID{a, b}, store.ResourceClaim.ParseIDs([]string{text(b), "", text(a), store.ResourceQuote.FormatID(uuid.Max), text(b), "clm_x"}))
	require.Empty(t, store.ResourceClaim.ParseIDs(nil))
}

func TestSumsAboveSixtyFourBitsAreErrors(t *testing.T) {
	t.Parallel()
	var sum sums.Amount
	sum.AddAmount(math.MaxInt64)
	total, err := sum.ToMinorUnits()
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64, total)
	sum.AddAmount(1)
	_, err = sum.ToMinorUnits()
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))
	sum.AddAmount(-1)
	_, err = sum.ToMinorUnits()
	require.NoError(t, err, "only the result counts")

	convert := sums.Converter{Currency: "USD"}
	require.Equal(t, money.New(7, "USD"), convert.ToMoney(decimal.NewFromInt(7)))
	require.NoError(t, convert.Err)
	convert.ToMoney(decimal.New(1, 30))
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(convert.Err))
	first := convert.Err
	convert.ToMoney(decimal.New(1, 31))
	convert.ToMoney(decimal.Zero)
	require.Same(t, first, convert.Err, "the first error is kept")
}

func TestEmptyValuesAreNull(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]string{}, store.PartnerFields{}.ToReferences().Metadata)
}
