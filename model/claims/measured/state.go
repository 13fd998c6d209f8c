package measured

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/hazard"
	"parapet/model/hazard/measurement"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// SourceStatus is the state of one source for a claim.
type SourceStatus string

const (
	// SourceReported sources reported in time what their terms ask for.
	SourceReported SourceStatus = "reported"
	// SourceWaiting sources have not reported it yet.
	SourceWaiting SourceStatus = "waiting"
	// SourceLate sources did not report before the deadline or the decision.
	SourceLate SourceStatus = "late"
	// SourceNotApplicable sources are none of the terms and decide nothing.
	SourceNotApplicable SourceStatus = "not_applicable"
)

// claimState is what the measurement state of a claim is computed from.
type claimState struct {
	ID               uuid.UUID `bun:"type:uuid"`
	PolicyID         uuid.UUID `bun:"type:uuid"`
	OccurrenceID     uuid.UUID `bun:"type:uuid"` // after merges
	Status           claims.ClaimStatus
	ReasonCodes      []string `bun:",array"`
	DecidedAt        *time.Time
	NextReviewAt     *time.Time
	Terms            trigger.Measurement `bun:"type:json"`
	Kind             hazard.Kind
	LastAt           time.Time
	ReportedAt       time.Time          // of the last change of the occurrence
	DeterminedSource string             // whose report the determination evaluates
	Determined       wire.Determination `bun:"type:json"`

	ChallengeStatus    *string
	ChallengeOpenedAt  *time.Time
	ChallengeDecidedAt *time.Time
	ChallengeReasons   []string `bun:",array"`
}

// LoadStates returns the measurement states of the claims that the actor may see, by id.
// Claims without an occurrence and those of policies without a measurement have none.
func LoadStates(ctx context.Context, db bun.IDB, caller actor.Actor, now time.Time, ids []uuid.UUID) (map[uuid.UUID]*wire.MeasurementState, error) {
	var rows []claimState
	q := db.NewSelect().Model((*claims.ClaimRow)(nil)).ColumnExpr("c.id, c.policy_id, c.status, c.reason_codes, c.decided_at, c.next_review_at").
		ColumnExpr("p.cover::json->'measurement' as terms, oc.id as occurrence_id, oc.kind, oc.last_at, oc.updated_at as reported_at, dc.source as determined_source, d.body as determined").
		ColumnExpr("ch.status as challenge_status, ch.opened_at as challenge_opened_at, ch.decided_at as challenge_decided_at, ch.reason_codes as challenge_reasons").
		Join("join policies p on p.id = c.policy_id and p.partner = c.partner").
		Join("join occurrences first on first.id = c.occurrence_id").Join("join occurrences oc on oc.id = coalesce(first.merged_into, first.id)").
		Join("join determinations d on d.id = c.determination_id and d.partner = c.partner").Join("join occurrences dc on dc.id = d.occurrence_id").
		Join(`left join lateral (select * from claim_challenges x where x.claim_id = c.id and x.partner = c.partner order by x.opened_at desc limit 1) ch on true`).
		Where("c.id in (?)", bun.List(ids)).Where("p.cover::json->'measurement'->'sources' is not null")
	if err := store.RestrictToTenant(caller, q).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read the measurement of claims: %w", err))
	}
	states := make(map[uuid.UUID]*wire.MeasurementState, len(rows))
	if len(rows) == 0 {
		return states, nil
	}
	policies, events, err := loadEvents(ctx, db, caller, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		states[rows[i].ID] = rows[i].toState(policies[rows[i].PolicyID], events[rows[i].OccurrenceID], now)
	}
	return states, nil
}

// loadEvents reads the reports of the claims' events that have several sources, in the
// terms or in fact, with the policies that they are evaluated for.
func loadEvents(ctx context.Context, db bun.IDB, caller actor.Actor, rows []claimState) (map[uuid.UUID]*underwriting.PolicyRow, map[uuid.UUID]map[string]*reports.Report, error) {
	var occurrences []uuid.UUID
	for i := range rows {
		occurrences = append(occurrences, rows[i].OccurrenceID)
	}
	others, err := reports.FindOtherSources(ctx, db, occurrences)
	if err != nil {
		return nil, nil, err
	}
	needed, policyIDs := make(map[uuid.UUID]bool), []uuid.UUID{}
	for i := range rows {
		if len(rows[i].Terms.Sources) > 1 || len(others[rows[i].OccurrenceID]) > 0 {
			needed[rows[i].OccurrenceID] = true
			policyIDs = append(policyIDs, rows[i].PolicyID)
		}
	}
	if len(needed) == 0 {
		return nil, nil, nil
	}
	events, err := reports.LoadEvents(ctx, db, slices.Collect(maps.Keys(needed)), others)
	if err != nil {
		return nil, nil, err
	}
	var list []*underwriting.PolicyRow
	q := db.NewSelect().Model(&list).Where("p.id in (?)", bun.List(policyIDs))
	if err := store.RestrictToTenant(caller, q).Scan(ctx); err != nil {
		return nil, nil, store.TranslateError(fmt.Errorf("read policies: %w", err))
	}
	policies := make(map[uuid.UUID]*underwriting.PolicyRow, len(list))
	for _, p := range list {
		policies[p.ID] = p
	}
	return policies, events, nil
}

// toState computes the state. p and found are nil when only the source of the terms
// reported the event.
func (s *claimState) toState(p *underwriting.PolicyRow, found map[string]*reports.Report, now time.Time) *wire.MeasurementState {
	readings := s.readings(p, found, now)
	outcome := measurement.Select(s.Terms, readings, now)
	state := &wire.MeasurementState{LongStopAt: outcome.LongStopAt, Challenge: s.toChallenge()}
	selected := s.selectedRank(outcome)
	if selected >= 0 {
		state.SelectedSource = &s.Terms.Sources[selected].Source
	}
	for rank, terms := range s.Terms.Sources {
		source := wire.SourceState{Source: terms.Source, State: string(s.statusOf(rank, selected, readings, outcome, now))}
		switch report := found[terms.Source]; {
		case terms.Source == s.DeterminedSource && (s.isDecided() || report == nil):
			source.Index, source.Amount = s.Determined.Index, &s.Determined.Amount
		case report != nil && report.Facts.IsMeasured():
			source.Index, source.Amount = evaluate(p, report)
		}
		state.Sources = append(state.Sources, source)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if report := found[name]; s.Terms.Rank(name) < 0 && report.Facts.IsMeasured() {
			source := wire.SourceState{Source: name, State: string(SourceNotApplicable)}
			source.Index, source.Amount = evaluate(p, report)
			state.Sources = append(state.Sources, source)
		}
	}
	s.setDueTimes(state, outcome)
	return state
}

// evaluate returns the index and the amount that a report alone gives, also one of a source
// that the terms do not name.
func evaluate(p *underwriting.PolicyRow, report *reports.Report) (*wire.Measure, *wire.Money) {
	d := trigger.Evaluate(p.Cover, p.CoverPeriod(), p.PayableFrom, report.Facts)
	record := claims.ToDeterminationRecord(p, report.Facts, d)
	return record.Index, &record.Amount
}

// readings returns the readings of the sources of the terms. With one source it is that of
// the determination.
func (s *claimState) readings(p *underwriting.PolicyRow, found map[string]*reports.Report, now time.Time) (readings []measurement.Reading) {
	for rank, terms := range s.Terms.Sources {
		if report := found[terms.Source]; len(s.Terms.Sources) > 1 && report != nil && report.Facts.IsMeasured() {
			readings = append(readings, NewReading(p, rank, report, now))
		}
	}
	if len(readings) > 0 {
		return readings
	}
	row := occurrence.OccurrenceRow{Kind: s.Kind, LastAt: s.LastAt}
	only := measurement.Reading{Rank: max(0, s.Terms.Rank(s.DeterminedSource)), CountedAt: s.ReportedAt, EndedAt: row.EndedAt()}
	only.Counts = s.Determined.Stage == string(trigger.Final) || s.Terms.Sources[only.Rank].Stage == trigger.Preliminary
	only.Determination.Amount = s.Determined.Amount.Amount
	if s.Determined.Index != nil {
		if index, err := decimal.NewFromString(s.Determined.Index.Value); err == nil {
			only.Determination.Index = &index
		}
	}
	return []measurement.Reading{only}
}

// isDecided reports whether the readings decide nothing any more.
func (s *claimState) isDecided() bool {
	return s.Status != claims.ClaimOpened && s.Status != claims.ClaimDeferred
}

// selectedRank returns the rank of the source that decided the claim, or that the rule
// selects now; -1 without one.
func (s *claimState) selectedRank(outcome measurement.Outcome) int {
	switch {
	case !s.isDecided():
		return outcome.Selected
	case s.Status == claims.ClaimWithdrawn, slices.Contains(s.ReasonCodes, string(claims.ReasonLongStopReached)), slices.Contains(s.ReasonCodes, string(claims.ReasonSourceRetracted)):
		return -1
	default:
		return s.Terms.Rank(s.DeterminedSource)
	}
}

// statusOf returns the state of the source of a rank. Once the claim is decided, a source
// that did not report before is late.
func (s *claimState) statusOf(rank, selected int, readings []measurement.Reading, outcome measurement.Outcome, now time.Time) SourceStatus {
	limit := outcome.DeadlineAt
	if s.isDecided() && s.DecidedAt != nil && s.DecidedAt.Before(limit) {
		limit = *s.DecidedAt
	}
	at := slices.IndexFunc(readings, func(r measurement.Reading) bool { return r.Rank == rank && r.Counts })
	switch {
	case rank == selected, at >= 0 && !readings[at].CountedAt.After(limit):
		return SourceReported
	case at >= 0, s.isDecided(), !now.Before(outcome.LongStopAt):
		return SourceLate
	default:
		return SourceWaiting
	}
}

// setDueTimes sets when a decision and a payout are due. The terms name no time between a
// decision and its payout, so that both are due together. A claim that waits for an
// operator, for evidence or for the end of a growing occurrence is decided at its review.
func (s *claimState) setDueTimes(state *wire.MeasurementState, outcome measurement.Outcome) {
	switch {
	case !s.isDecided() && outcome.State == measurement.Waiting:
		state.DecisionDueAt, state.PayoutDueAt = &outcome.DueAt, &outcome.DueAt
	case !s.isDecided():
		state.DecisionDueAt, state.PayoutDueAt = s.NextReviewAt, s.NextReviewAt
	case s.Status == claims.ClaimApproved:
		state.PayoutDueAt = s.DecidedAt
	}
}

func (s *claimState) toChallenge() *wire.Challenge {
	if s.ChallengeStatus == nil {
		return nil
	}
	return &wire.Challenge{Status: *s.ChallengeStatus, OpenedAt: *s.ChallengeOpenedAt, DecidedAt: s.ChallengeDecidedAt, ReasonCodes: append([]string{}, s.ChallengeReasons...)}
}
