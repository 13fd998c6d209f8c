package adjudication_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

func TestRetractedQuakeDeclinesDeferredClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, other := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)

	require.Equal(t, occurrence.ResultRevised, b.Observe(modeltest.NewRetraction("us1"))[0].Result)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "declined", claim.Status)
	require.Equal(t, []string{"source_retracted"}, claim.Decision.ReasonCodes)
	require.Equal(t, "6.4", claim.Determination.Index.Value, "what the claim was opened on stays")
	require.Equal(t, []string{"trigger.observed", "claim.opened", "claim.deferred", "trigger.observed", "claim.declined"}, b.TimelineKinds(claim.ID))
	require.Equal(t, "retracted", modeltest.OccurrenceStage(t, b, "us1"))
	require.Equal(t, *modeltest.NewUSD(10_000_000), b.Policy(policy.ID).LimitRemaining)

	before := b.CountRows()
	require.Equal(t, occurrence.ResultUnchanged, b.Observe(modeltest.NewRetraction("us1"))[0].Result, "a retraction is idempotent")
	b.RunJobs()
	require.Equal(t, before, b.CountRows())
	record, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.NewRetraction("us1"), false)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, trigger.Retracted, record.Stage)
	require.Equal(t, "6.4", record.Measures["magnitude"].Value, "the record shows what was retracted")
	require.Equal(t, 1, before["observation_revisions"])

	again, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, claim.ID, again.ID)
	_, _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(other, "usgs", "us1"))
	require.Equal(t, "source_retracted", modeltest.DomainError(t, err).Extra["reason"])
}

func TestRetractionDeclinesUndecidedClaimForAnyReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonEvidenceNeeded))
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)
}

func TestReviewAppliesRetractionOfLostJob(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	b.Observe(modeltest.NewRetraction("us1"))
	_, err := b.DB.Pool.Exec(t.Context(), "delete from modeltest_jobs")
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	b.AdvanceClock(25 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)
}

func TestRetractionHoldsUnreleasedPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason, "a verified account does not lift it")
	require.Empty(t, b.Rail.Orders)

	_, err := b.Service.Payouts.Unblock(t.Context(), b.Operator, payouts.LiftHoldRequest{PayoutID: claim.Payouts[0].ID, Note: "The quake was felt."})
	require.NoError(t, err)
	newer := modeltest.NewRetraction("us1")
	newer.Revision = new(int64(1))
	b.Observe(newer)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status, "what an operator lifted stays lifted")
}

func TestRetractionKeepsReleasedPayoutsAndHoldsReturnedOnes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	claim := b.OnlyClaim(policy)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, "approved", b.Claim(claim.ID).Status)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)

	payout := modeltest.OnlyPayout(t, b, claim)
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
	modeltest.Reconcile(t, b, "tuesday", modeltest.ReportLine(b, payout, "returned"))
	again := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "compliance_hold", *again.BlockedReason)
}

func TestARetractionWhileAPayoutIsReleasing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Unknown }
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	claim := b.OnlyClaim(policy)
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, claim).Status)
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, claim).Status, "what is with the rail cannot be held")

	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Refused }
	b.AdvanceClock(time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "rail_rejected", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason, "it did not go out, so it is held")
}

func TestRetractionBeforeReleaseHoldsPendingPayout(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	claim := b.OnlyClaim(policy)
	require.Equal(t, "pending", modeltest.OnlyPayout(t, b, claim).Status)
	_, err := b.DB.Pool.Exec(t.Context(), "update claims set retraction = 'held'") // this simulates a hold that is about to be written
	require.NoError(t, err)
	_, _, err = b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", claim.Payouts[0].ID)
	require.NoError(t, err)
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}

func TestReportedAgainAfterRetractionOpensNewClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	waiting, paid := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("quake-circle", nil)
	first := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	first.Stage, first.Revision = trigger.Preliminary, new(int64(3))
	b.Observe(first)
	b.RunJobs()
	decideClaim(t, b, approvalDecision(b.OnlyClaim(paid)))
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, b.OnlyClaim(paid)).BlockedReason)

	require.Equal(t, occurrence.ResultUnchanged, b.Observe(first)[0].Result, "a file that is read again does not undo a retraction")
	first.Revision, first.Stage = new(int64(4)), trigger.Final
	require.Equal(t, occurrence.ResultRevised, b.Observe(first)[0].Result)
	b.RunJobs()
	require.Equal(t, "final", modeltest.OccurrenceStage(t, b, "us1"))
	claims := b.Claims(waiting)
	require.Len(t, claims, 2)
	require.Equal(t, "declined", claims[0].Status)
	require.Equal(t, "approved", claims[1].Status)
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(waiting.ID).LimitRemaining)
	require.Len(t, b.Claims(paid), 1, "an approved claim holds its occurrence")

	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, "compliance_hold", *b.Claims(waiting)[1].Payouts[0].BlockedReason, "retracted once more, held once more")
	first.Revision = new(int64(5))
	b.Observe(first)
	b.RunJobs()
	require.Len(t, b.Claims(waiting), 2)
	var held int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from claims where retraction is not null").Scan(&held))
	require.Zero(t, held)
}

func TestRetractedReadingWithoutRevisionsMayReturnWithOtherValues(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	b.Observe(report)
	b.Observe(modeltest.NewRetraction("us1"))
	require.Equal(t, occurrence.ResultUnchanged, b.Observe(report)[0].Result)
	report.Measures = map[string]wire.Measure{"magnitude": {Value: "6.5", Unit: "mw"}}
	require.Equal(t, occurrence.ResultRevised, b.Observe(report)[0].Result)
	late := modeltest.NewRetraction("us1")
	late.Revision = new(int64(1))
	b.Observe(late)
	report.Revision = new(int64(0))
	require.Equal(t, occurrence.ResultUnchanged, b.Observe(report)[0].Result, "an older revision is late mail")
}

func TestRetractionIsLimitedToItsScope(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.NewRetraction("us1"), true)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "a rehearsal retracts rehearsals only")
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.NewRetraction("us2"), false)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, []wire.ObservationInput{modeltest.NewRetraction("us2"), modeltest.NewRetraction("us1")}, false)
	require.NoError(t, err)
	require.Equal(t, occurrence.ResultRejected, results[0].Result)
	require.Equal(t, "not_found", results[0].Errors[0].Code)
	require.Equal(t, occurrence.ResultRevised, results[1].Result)
	b.RunJobs()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)

	rehearsed := modeltest.Quake("us3", b.Now(), modeltest.Epicentre, "6.4")
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, rehearsed, true)
	require.NoError(t, err)
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Globex, modeltest.NewRetraction("us3"), true)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "another partner's")
	_, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.NewRetraction("us3"), true)
	require.NoError(t, err)
	require.True(t, created)
}

func TestRetractionRequiresIdentifyingMembers(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	fix := wire.ObservationInput{Source: "nhc", SourceEventID: "AL01", Kind: hazard.StormFix, Stage: trigger.Retracted}
	day := wire.ObservationInput{Source: "ghcn", SourceEventID: "x", Kind: hazard.StationDay, Stage: trigger.Retracted}
	for pointer, in := range map[string]wire.ObservationInput{"/occurred_at": fix, "/station": day} {
		_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, in, false)
		require.Equal(t, []string{pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	}
	report := modeltest.Quake("us1", time.Time{}, modeltest.Epicentre, "6.4")
	report.Measures = nil
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, report, false)
	require.ElementsMatch(t, []string{"/occurred_at", "/measures", "/measures/magnitude"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "only a retraction goes without")
}

func TestARetractedOccurrenceIsExplained(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"), modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Empty(t, b.Claims(policy), "reported and retracted before anybody looked")
	explanation := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{SourceEvent: &adjudication.SourceEvent{Source: "usgs", ID: "us1"}})
	require.False(t, explanation.Pays)
	require.Equal(t, []string{"source_retracted"}, explanation.Reasons)
	require.Equal(t, "usgs retracted its report of us1.", explanation.Sentences[0])
}

func TestRetractedOccurrenceAffectsPoliciesWithClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	id := b.OnlyClaim(policy).Occurrence.ID
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	pages, err := b.Service.Scenarios.AffectedPolicies(t.Context(), b.Acme, []string{id}, true, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, pages[id].Data, 1)
	require.False(t, pages[id].Data[0].Pays)
	require.Equal(t, []string{"source_retracted"}, pages[id].Data[0].Reasons)
	pages, err = b.Service.Scenarios.AffectedPolicies(t.Context(), b.Globex, []string{id}, true, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, pages[id].Data, "another partner's claim")
}

func TestDayRevisedToDryDoesNotDeferClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	day := modeltest.StationDay(policy.Cover.Place.Station, b.Now().Truncate(24*time.Hour).AddDate(0, 0, 10), "400")
	day.Stage = trigger.Preliminary
	b.AdvanceClock(20 * 24 * time.Hour)
	b.Observe(append(dryAfter(day), day)...)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	day.Measures = map[string]wire.Measure{"temperature_max": {Value: "20", Unit: "degC"}}
	b.Observe(day)
	b.RunJobs()
	require.Equal(t, []string{"source_retracted"}, b.OnlyClaim(policy).Decision.ReasonCodes)
}

func TestRetractedFixDeclinesOrHoldsByRemainingFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	waiting := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	near, far := modeltest.Fix("AL01", at, modeltest.Miami, "140"), modeltest.Fix("AL01", at.Add(time.Hour), hazard.Point{Latitude: 20, Longitude: -60}, "140")
	near.Stage = trigger.Preliminary
	b.Observe(near, far)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(waiting).Status)
	gone := near
	gone.Stage, gone.Location, gone.Measures = trigger.Retracted, nil, nil
	b.Observe(gone)
	b.RunJobs()
	require.Equal(t, []string{"source_retracted"}, b.OnlyClaim(waiting).Decision.ReasonCodes)

	paid := b.QuoteAndBind("cyclone-circle", nil)
	at = b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	weak, strong := modeltest.Fix("AL02", at, modeltest.Miami, "70"), modeltest.Fix("AL02", at.Add(time.Hour), modeltest.Miami, "140")
	b.Observe(weak, strong)
	b.RunJobs()
	blocked := func() string { return *modeltest.OnlyPayout(t, b, b.OnlyClaim(paid)).BlockedReason }
	require.Equal(t, "payout_method_missing", blocked())
	weak.Stage = trigger.Retracted
	b.Observe(weak)
	b.RunJobs()
	require.Equal(t, "payout_method_missing", blocked(), "the other fix owes as much")
	strong.Stage = trigger.Retracted
	b.Observe(strong)
	b.RunJobs()
	require.Equal(t, "compliance_hold", blocked())
}

func TestARetractedDayDeclinesAndHolds(t *testing.T) {
	t.Parallel()
	for name, stage := range map[string]trigger.Stage{"waiting": trigger.Preliminary, "approved": trigger.Final} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
			first := b.Now().Truncate(24*time.Hour).AddDate(0, 0, 10)
			b.AdvanceClock(20 * 24 * time.Hour)
			var days []wire.ObservationInput
			for i := range 2 {
				day := modeltest.StationDay(policy.Cover.Place.Station, first.AddDate(0, 0, i), "100")
				day.Stage, day.Revision = stage, new(int64(1))
				days = append(days, day)
			}
			b.Observe(append(dryAfter(days[1]), days...)...)
			b.RunJobs()
			b.Observe(wire.ObservationInput{Source: "ghcn", SourceEventID: days[0].SourceEventID, Kind: hazard.StationDay, Stage: trigger.Retracted})
			b.RunJobs()
			claim := b.OnlyClaim(policy)
			if stage == trigger.Final {
				require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
				return
			}
			require.Equal(t, []string{"source_retracted"}, claim.Decision.ReasonCodes)
			days[0].Revision, days[0].Stage = new(int64(2)), trigger.Final
			days[1].Revision, days[1].Stage = new(int64(2)), trigger.Final
			b.Observe(append(dryAfter(days[1]), days...)...)
			b.RunJobs()
			require.Equal(t, "approved", b.Claims(policy)[1].Status)
		})
	}
}

func TestRetractionDuringMatchingIsApplied(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	var policies []*wire.Policy
	for range 3 {
		policies = append(policies, b.QuoteAndBind("quake-circle", nil))
	}
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	ctx := context.WithoutCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() {
		if err := b.Service.Adjudication.Evaluate(ctx, job); err != nil {
			t.Error(err)
		}
	})
	both.Go(func() {
		if _, _, err := b.Service.Occurrences.RecordObservation(ctx, b.Source, modeltest.NewRetraction("us1"), false); err != nil {
			t.Error(err)
		}
	})
	both.Wait()
	b.RunJobs()
	for _, policy := range policies {
		for _, claim := range b.Claims(policy) {
			require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
		}
	}
}

func TestMergeDuringMatchingDeclinesNoClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us0", "5.0", trigger.Preliminary)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	merging := b.BlockOccurrence("us1")
	done := make(chan error, 1)
	job := occurrence.EvaluateOccurrences{Occurrences: []string{b.OnlyClaim(policy).Occurrence.ID}}
	go func() { done <- b.Service.Adjudication.Evaluate(context.WithoutCancel(t.Context()), job) }()
	merging.AwaitWaiter()
	merging.Commit(
		"update occurrences set merged_into = (select id from occurrences where source_event_id = 'us0') where source_event_id = 'us1'",
		"update observations set occurrence_id = (select id from occurrences where source_event_id = 'us0')",
		"update occurrence_aliases set occurrence_id = (select id from occurrences where source_event_id = 'us0')",
	)
	require.NoError(t, <-done)
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status, "the merged occurrence has the preliminary reading too")
}

func TestRetractionOfDayWaitsForDecisionThatReadIt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	day := modeltest.StationDay(policy.Cover.Place.Station, b.Now().Truncate(24*time.Hour).AddDate(0, 0, 10), "400")
	b.AdvanceClock(20 * 24 * time.Hour)
	b.Observe(append(dryAfter(day), day)...)
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	ctx := context.WithoutCancel(t.Context())
	deciding := b.BlockRows("policies") // a decision that has read the day waits for the policy
	decided, retracted := make(chan error, 1), make(chan error, 1)
	go func() { decided <- b.Service.Adjudication.Evaluate(ctx, job) }()
	deciding.AwaitWaiter()
	go func() {
		gone := day
		gone.Stage = trigger.Retracted
		_, _, err := b.Service.Occurrences.RecordObservation(ctx, b.Source, gone, false)
		retracted <- err
	}()
	deciding.AwaitWaiters(2)
	deciding.Release()
	require.NoError(t, <-decided)
	require.NoError(t, <-retracted)
	b.RunJobs()
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, b.OnlyClaim(policy)).BlockedReason)
}
