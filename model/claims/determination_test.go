package claims_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// coveredFrom is the start of the cover of these tests.
var coveredFrom = time.Date(2027, 1, 2, 3, 4, 5, 678000, time.UTC)

// quakePolicy is a policy on earthquakes down to 100 km.
func quakePolicy() *underwriting.PolicyRow {
	return &underwriting.PolicyRow{
		Currency: "USD", TermsHash: "sha256:terms", EffectiveAt: coveredFrom, PayableFrom: coveredFrom.AddDate(0, 0, 7), ExpiresAt: coveredFrom.AddDate(1, 0, 0),
		Cover: trigger.Cover{Trigger: trigger.Trigger{Kind: trigger.Earthquake, Unit: "mw", MaximumDepthKM: new(decimal.NewFromInt(100))}},
	}
}

func quakeAt(depth string) trigger.Occurrence {
	if depth == "" {
		return trigger.Occurrence{Quake: &hazard.Quake{}, Unit: "mb", SourceVersion: "3.1"}
	}
	return trigger.Occurrence{Quake: &hazard.Quake{DepthKM: new(decimal.RequireFromString(depth))}, Unit: "mb", SourceVersion: "3.1"}
}

func TestDeterminationRecordHasTheUnitThatWasMeasured(t *testing.T) {
	t.Parallel()
	d := trigger.Determination{
		OccurredAt: coveredFrom, Index: new(decimal.RequireFromString("6.50")), Threshold: decimal.RequireFromString("6.0"), Factor: decimal.RequireFromString("0.2"),
		Amount: 200, DistanceKM: new(12.34), Stage: trigger.Final,
	}
	got := claims.ToDeterminationRecord(quakePolicy(), quakeAt("10"), d)
	require.Equal(t, wire.Determination{
		Index: &wire.Measure{Value: "6.50", Unit: "mb"}, Threshold: wire.Measure{Value: "6.0", Unit: "mw"}, OccurredAt: coveredFrom, DistanceKM: new(12.34),
		Factor: "0.2", Amount: money.New(200, "USD"), Stage: "final", SourceVersion: "3.1", TermsHash: "sha256:terms",
	}, got)
	require.Equal(t, "mw", claims.ToDeterminationRecord(quakePolicy(), trigger.Occurrence{}, d).Index.Unit, "the policy's without another")
	d.Index, d.Stage = nil, trigger.Preliminary
	d.FirstDay, d.LastDay = coveredFrom, coveredFrom.AddDate(0, 0, 2)
	got = claims.ToDeterminationRecord(quakePolicy(), quakeAt(""), d)
	require.Nil(t, got.Index)
	require.Equal(t, "preliminary", got.Stage)
	require.Equal(t, []string{"2027-01-02", "2027-01-04"}, []string{*got.FirstDay, *got.LastDay})
	d.Stage = trigger.Retracted
	require.Equal(t, "preliminary", claims.ToDeterminationRecord(quakePolicy(), quakeAt(""), d).Stage, "only final values are final")
}

func TestWhyATriggerIsNotMet(t *testing.T) {
	t.Parallel()
	five := new(decimal.NewFromInt(5))
	outside := func(by *float64, radius *float64) trigger.Determination {
		return trigger.Determination{Reason: trigger.OutsidePlace, DistanceKM: new(62.5), RadiusKM: radius, OutsideKM: by}
	}
	inside := outside(nil, new(50.0))
	for name, tc := range map[string]struct {
		facts    trigger.Occurrence
		d        trigger.Determination
		detail   string
		missedBy *wire.Measure
	}{
		"too weak": {
			quakeAt("10"),
			trigger.Determination{Reason: trigger.ThresholdNotMet, Index: five, Threshold: decimal.RequireFromString("6.0"), Missed: decimal.NewFromInt(1)},
			"the index 5 mb misses the threshold 6.0 mw by 1", &wire.Measure{Value: "1", Unit: "mw"},
		},
		"too weak by nothing": {quakeAt("10"), trigger.Determination{Reason: trigger.ThresholdNotMet, Index: five}, "the index stays on the wrong side of its threshold", nil},
		"too weak without an index": {
			quakeAt("10"),
			trigger.Determination{Reason: trigger.ThresholdNotMet, Missed: decimal.NewFromInt(2)},
			"the index stays on the wrong side of its threshold", &wire.Measure{Value: "2", Unit: "mw"},
		},
		"too far":            {quakeAt("500"), outside(new(12.5), new(50.0)), "it happened 12.50 km outside the insured circle of 50 km", &wire.Measure{Value: "12.50", Unit: "km"}},
		"outside a box":      {quakeAt("500"), outside(new(7.0), nil), "it happened 7.00 km outside the insured box", &wire.Measure{Value: "7.00", Unit: "km"}},
		"inside, deep":       {quakeAt("100.5"), inside, "it was 100.5 km deep; the policy covers earthquakes down to 100 km", &wire.Measure{Value: "0.5", Unit: "km"}},
		"inside, not deeper": {quakeAt("100"), inside, "nothing that the policy covers was measured at the insured place", nil},
		"depth unknown":      {quakeAt(""), inside, "nothing that the policy covers was measured at the insured place", nil},
		"no distance":        {trigger.Occurrence{}, trigger.Determination{Reason: trigger.OutsidePlace}, "nothing that the policy covers was measured at the insured place", nil},
		"too early": {
			quakeAt("10"),
			trigger.Determination{Reason: trigger.OutsidePeriod, OccurredAt: coveredFrom.Add(-time.Microsecond)},
			"it happened outside the period of cover, from 2027-01-02T03:04:05.000678Z to 2028-01-02T03:04:05.000678Z: at 2027-01-02T03:04:05.000677Z", nil,
		},
		"waiting":     {quakeAt("500"), trigger.Determination{Reason: trigger.WaitingPeriod}, "it happened in the waiting period, which ends at 2027-01-09T03:04:05.000678Z", nil},
		"days lost":   {quakeAt("10"), trigger.Determination{Reason: trigger.EvidenceNeeded}, "days of the month or dekad are missing", nil},
		"days open":   {quakeAt("10"), trigger.Determination{Reason: trigger.SourcePreliminary}, "the month or dekad is judged when every day of it is final", nil},
		"owed a mite": {quakeAt("10"), trigger.Determination{Reason: trigger.ThresholdMet}, "the amount owed rounds to nothing", nil},
	} {
		err := claims.TriggerNotMetError(quakePolicy(), tc.facts, tc.d)
		require.Equal(t, apperr.CodeTriggerNotMet, err.Code, name)
		require.Equal(t, "The trigger is not met: "+tc.detail+".", err.Detail, name)
		public := claims.ToDeterminationRecord(quakePolicy(), tc.facts, tc.d)
		require.Equal(t, map[string]any{
			"reason": string(tc.d.Reason), "index": public.Index, "threshold": public.Threshold, "missed_by": tc.missedBy, "distance_km": tc.d.DistanceKM, "stage": public.Stage,
		}, err.Extra, name)
	}
	cancelled := quakePolicy()
	cancelled.CancelledAt = new(coveredFrom.AddDate(0, 1, 0))
	late := claims.TriggerNotMetError(cancelled, quakeAt("10"), trigger.Determination{Reason: trigger.OutsidePeriod, OccurredAt: coveredFrom.AddDate(0, 2, 0)})
	require.Contains(t, late.Detail, "to 2027-02-02T03:04:05.000678Z: at 2027-03-02", "cover ends when it is cancelled")
	deep := quakePolicy()
	deep.Cover.Trigger.MaximumDepthKM = nil
	require.Nil(t, claims.MissedBy(deep, quakeAt("600"), inside, wire.Determination{}), "without a limit no earthquake is too deep")
}

// Anyone who has the receipt can compute its hash, which the claim shows.
func TestReceiptOfADeterminationHashesToWhatTheClaimShows(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	policy := b.Policy(claim.PolicyID)
	var receipt, hash string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select receipt::text, receipt_hash from determinations").Scan(&receipt, &hash))
	sum := sha256.Sum256([]byte(receipt))
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), hash)
	require.Equal(t, hash, claim.Determination.ReceiptHash)
	canonical := jsontext.Value(receipt)
	require.NoError(t, canonical.Canonicalize())
	require.Equal(t, []string{receipt}, []string{string(canonical)}, "in RFC 8785 form")
	var has struct {
		Product       string             `json:"product"`
		TermsHash     string             `json:"terms_hash"`
		CoverFrom     time.Time          `json:"cover_from"`
		CoverTo       time.Time          `json:"cover_to"`
		Source        string             `json:"source"`
		SourceEventID string             `json:"source_event_id"`
		OccurredAt    time.Time          `json:"occurred_at"`
		Determination wire.Determination `json:"determination"`
	}
	require.NoError(t, json.Unmarshal([]byte(receipt), &has))
	require.Equal(t, []string{policy.Product, policy.TermsHash}, []string{has.Product, has.TermsHash})
	require.Equal(t, []time.Time{policy.EffectiveAt, policy.ExpiresAt, claim.Occurrence.OccurredAt}, []time.Time{has.CoverFrom, has.CoverTo, has.OccurredAt})
	require.Equal(t, []string{claim.Occurrence.Source, claim.Occurrence.SourceEventID}, []string{has.Source, has.SourceEventID})
	shown := *claim.Determination
	shown.ReceiptHash = ""
	require.Equal(t, shown, has.Determination)
}

func TestReasonsOfADecisionAreListedOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"operator_decision"}, claims.DistinctReasons(nil))
	require.Equal(t, []string{"goodwill", "threshold_met"}, claims.DistinctReasons([]claims.ReasonCode{"goodwill", "threshold_met", "goodwill"}))
	require.Equal(t, "approved, declined, deferred", claims.JoinWords(claims.DecisionOutcomes()))
	require.Empty(t, claims.JoinWords([]string(nil)))
	for outcome, reasons := range claims.OperatorReasons {
		require.NotContains(t, reasons, claims.ReasonSourceRetracted, "%s: only the system says so", outcome)
		require.Contains(t, reasons, claims.ReasonOperatorDecision, outcome)
	}
}

func TestStatesOfARetractedClaim(t *testing.T) {
	t.Parallel()
	held, lifted := claims.RetractionHeld, claims.RetractionLifted
	require.True(t, (&claims.ClaimRow{Retraction: &held}).IsHeldByRetraction())
	require.False(t, (&claims.ClaimRow{Retraction: &lifted}).IsHeldByRetraction())
	require.False(t, (&claims.ClaimRow{}).IsHeldByRetraction())
	require.True(t, (&claims.ClaimRow{Status: claims.ClaimDeclined, ReasonCodes: []string{"source_retracted"}}).IsRetracted())
	require.False(t, (&claims.ClaimRow{Status: claims.ClaimDeferred, ReasonCodes: []string{"source_retracted"}}).IsRetracted())
	require.False(t, (&claims.ClaimRow{Status: claims.ClaimDeclined, ReasonCodes: []string{"source_retracted", "duplicate_event"}}).IsRetracted())
	for status, undecided := range map[claims.ClaimStatus]bool{"opened": true, "deferred": true, "approved": false, "declined": false, "withdrawn": false, "closed": false} {
		require.Equal(t, undecided, (&claims.ClaimRow{Status: status}).IsUndecided(), status)
	}
	for status, sent := range map[claims.PayoutStatus]bool{"pending": false, "releasing": true, "released": false, "blocked": false, "reconciling": true, "reconciled": false, "returned": false, "cancelled": false} {
		require.Equal(t, sent, (&claims.PayoutRow{Status: status}).IsInFlight(), status)
	}
}
