package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/internal/adjudicate"
	"parapet/model/money"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// judging decides one occurrence for a slice of locked policies: at most one
// claim a policy, written in a few statements however many policies there are.
type judging struct {
	*unit

	occurrence *occurrenceRow
	facts      trigger.Occurrence
	request    *ClaimRequest // set when a partner asked, nil when matching found out

	policies []*policyRow
	existing map[uuid.UUID]*claimRow // by policy: the claim for this occurrence
	others   map[uuid.UUID][]*claimRow
	sources  map[uuid.UUID]string // of the occurrences of others
	restsOn  map[uuid.UUID]string // the source version of the determinations of existing
	methods  map[uuid.UUID][]*payoutMethodRow

	determinations []*determinationRow
	opened, moved  []*claimRow
	shrunk         []*policyRow
	payouts        []*payoutRow
}

// judge locks the policies, decides and writes.
func (u *unit) judge(ctx context.Context, occ *occurrenceRow, facts trigger.Occurrence, ids []uuid.UUID) error {
	var policies []*policyRow
	err := u.NewSelect().Model(&policies).Where("p.id in (?)", bun.List(ids)).Where("p.status <> ?", PolicyArchived).
		OrderExpr("p.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return fmt.Errorf("lock policies: %w", err)
	}
	for _, p := range policies {
		u.since(&p.header)
	}
	j := judging{unit: u, occurrence: occ, facts: facts}
	if err := j.read(ctx, policies); err != nil {
		return err
	}
	return j.settle(ctx)
}

// read fetches what a decision needs to know, in one statement a kind.
func (j *judging) read(ctx context.Context, policies []*policyRow) error {
	j.policies = policies
	j.existing, j.others = make(map[uuid.UUID]*claimRow), make(map[uuid.UUID][]*claimRow)
	if len(policies) == 0 {
		return nil
	}
	same, err := j.names(ctx)
	if err != nil {
		return err
	}
	var claims []*claimRow
	err = j.NewSelect().Model(&claims).Where("c.policy_id in (?)", bun.List(policyIDs(policies))).
		OrderExpr("c.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return fmt.Errorf("lock claims: %w", err)
	}
	for _, c := range claims {
		j.since(&c.header)
		j.others[c.PolicyID] = append(j.others[c.PolicyID], c)
		if c.OccurrenceID != nil && same[*c.OccurrenceID] {
			j.existing[c.PolicyID] = c
		}
	}
	if err := j.readSources(ctx, claims); err != nil {
		return err
	}
	if err := j.readVersions(ctx); err != nil {
		return err
	}
	j.methods, err = j.methodsOf(ctx, policies)
	return err
}

// names are the occurrence and everything that was merged into it.
func (j *judging) names(ctx context.Context) (map[uuid.UUID]bool, error) {
	var merged []uuid.UUID
	err := j.NewSelect().Model((*occurrenceRow)(nil)).Column("id").Where("merged_into = ?", j.occurrence.ID).Scan(ctx, &merged)
	if err != nil {
		return nil, fmt.Errorf("read merged occurrences: %w", err)
	}
	same := map[uuid.UUID]bool{j.occurrence.ID: true}
	for _, id := range merged {
		same[id] = true
	}
	return same, nil
}

func (j *judging) readSources(ctx context.Context, claims []*claimRow) error {
	j.sources = make(map[uuid.UUID]string)
	var ids []uuid.UUID
	for _, c := range claims {
		if c.OccurrenceID != nil {
			ids = append(ids, *c.OccurrenceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []occurrenceRow
	if err := j.NewSelect().Model(&rows).Column("id", "source").Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read sources of claims: %w", err)
	}
	for _, row := range rows {
		j.sources[row.ID] = row.Source
	}
	return nil
}

func (j *judging) readVersions(ctx context.Context) error {
	j.restsOn = make(map[uuid.UUID]string)
	var ids []uuid.UUID
	for _, c := range j.existing {
		ids = append(ids, *c.DeterminationID)
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []determinationRow
	if err := j.NewSelect().Model(&rows).Column("id", "body").Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return fmt.Errorf("read determinations: %w", err)
	}
	for _, row := range rows {
		j.restsOn[row.ID] = row.Body.SourceVersion
	}
	return nil
}

// settle decides every policy and writes the outcome.
func (j *judging) settle(ctx context.Context) error {
	for _, p := range j.policies {
		d := trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, j.facts)
		claim := j.existing[p.ID]
		switch {
		case claim == nil && (!d.Met || d.Amount == 0):
			continue
		case claim == nil:
			if err := j.open(p, d); err != nil {
				return err
			}
		case claim.Status == ClaimDeferred && claim.provisional():
			if err := j.revise(p, claim, d); err != nil {
				return err
			}
		}
	}
	return j.write(ctx)
}

// provisional tells whether a claim waits for the source's final word, and for
// nothing else.
func (r *claimRow) provisional() bool {
	return len(r.ReasonCodes) == 1 && r.ReasonCodes[0] == adjudicate.ReasonSourceProvisional
}

func (j *judging) open(p *policyRow, d trigger.Determination) error {
	row := &claimRow{
		header: j.fresh(p.Partner), PolicyID: p.ID, Status: ClaimOpened, Origin: OriginTrigger,
		OccurrenceID: &j.occurrence.ID, OccurredAt: &d.OccurredAt, Currency: p.Currency,
		ReasonCodes: []string{}, OpenedAt: j.now,
	}
	if in := j.request; in != nil {
		row.references = references{in.PartnerReference, in.Metadata}
		row.Description = in.Description
		if in.RequestedAmount != nil && in.RequestedAmount.Currency == p.Currency {
			row.RequestedAmount = &in.RequestedAmount.Amount
		}
	}
	det, err := j.determine(p, j.occurrence, j.facts, d)
	if err != nil {
		return err
	}
	row.DeterminationID = &det.ID
	j.determinations = append(j.determinations, det)
	j.opened = append(j.opened, row)
	j.existing[p.ID] = row
	j.others[p.ID] = append(j.others[p.ID], row)
	if err := j.observed(p, row, d); err != nil {
		return err
	}
	if err := j.say(row, det, EventClaimOpened, "The claim was opened because the trigger is met.", map[string]any{"determination": det.Body}); err != nil {
		return err
	}
	return j.decide(p, row, det, d)
}

// observed is the first sentence: what happened, before anything was claimed.
func (j *judging) observed(p *policyRow, row *claimRow, d trigger.Determination) error {
	return j.tell(row, timelineObserved, nil, observedSentence(p, j.facts, d), map[string]any{
		"occurrence": j.occurrence.brief(d.OccurredAt), "stage": j.facts.Stage, "source_version": j.facts.SourceVersion,
		"index": publicDetermination(p, j.facts, d).Index, "distance_km": d.DistanceKM,
	})
}

// revise judges a deferred claim again by what the source says now.
func (j *judging) revise(p *policyRow, row *claimRow, d trigger.Determination) error {
	settled := j.settled(p)
	if !settled && !j.changed(row) {
		return nil
	}
	det, err := j.determine(p, j.occurrence, j.facts, d)
	if err != nil {
		return err
	}
	j.determinations = append(j.determinations, det)
	j.moved = append(j.moved, row)
	row.DeterminationID, row.OccurredAt = &det.ID, &d.OccurredAt
	if settled {
		return j.decide(p, row, det, d)
	}
	j.touch(&row.header)
	return j.say(row, det, EventClaimUpdated, "The source revised its preliminary values.", map[string]any{"determination": det.Body})
}

// changed tells whether the source's word is another one than the claim rests
// on; a second pass over the same facts changes nothing.
func (j *judging) changed(row *claimRow) bool {
	return j.restsOn[*row.DeterminationID] != j.facts.SourceVersion
}

func (j *judging) settled(p *policyRow) bool {
	return j.facts.Stage == trigger.Final || p.Cover.Trigger.DecidesOn == trigger.Preliminary
}

// decide applies the private rules and moves claim, policy and payout.
func (j *judging) decide(p *policyRow, row *claimRow, det *determinationRow, d trigger.Determination) error {
	decision := adjudicate.Decide(adjudicate.Facts{
		Met: d.Met && d.Amount > 0, Reason: string(d.Reason), Owed: d.Amount, Remaining: p.LimitRemaining,
		Settled: j.settled(p), Duplicate: j.duplicate(p, row, d.OccurredAt),
	})
	outcome := string(decision.Outcome)
	row.Outcome, row.ReasonCodes, row.DecidedAt, row.NextReviewAt = &outcome, decision.Reasons, &j.now, nil
	if decision.Outcome == adjudicate.Defer {
		review := j.now.Add(reviewAfter)
		row.NextReviewAt = &review
	}
	if decision.Outcome == adjudicate.Approve {
		row.Amount = &decision.Amount
	}
	event, err := step(j.unit, &row.header, ClaimArrows, &row.Status, ClaimStatus(outcome))
	if err != nil {
		return err
	}
	err = j.say(row, det, event, decisionSentence(row), map[string]any{"decision": row.public(claimParts{}).Decision, "amount": row.money(row.Amount)})
	if err != nil || decision.Outcome != adjudicate.Approve {
		return err
	}
	return j.owe(p, row, decision.Amount)
}

// reviewAfter is when a deferred claim is looked at again at the latest.
const reviewAfter = 24 * time.Hour

// owe reserves the limit and makes the payout.
func (j *judging) owe(p *policyRow, row *claimRow, amount int64) error {
	p.LimitRemaining -= amount
	event := EventPolicyUpdated
	if p.LimitRemaining == 0 && p.Status == PolicyActive {
		var err error
		if event, err = step(j.unit, &p.header, PolicyArrows, &p.Status, PolicyExhausted); err != nil {
			return err
		}
	} else {
		j.touch(&p.header)
	}
	j.shrunk = append(j.shrunk, p)
	if _, err := j.record(event, &p.header, nounPolicy, p.public(j.now, j.briefs(p.ID))); err != nil {
		return err
	}
	payout := &payoutRow{
		header: j.fresh(p.Partner), ClaimID: row.ID, PolicyID: p.ID, Status: PayoutPending,
		Amount: amount, Currency: p.Currency, KeyNumber: 1,
	}
	j.payouts = append(j.payouts, payout)
	return j.startPayout(p, row, payout, j.methods[p.ID])
}

func (j *judging) briefs(policy uuid.UUID) []wire.ClaimBrief {
	briefs := make([]wire.ClaimBrief, 0, len(j.others[policy]))
	for _, c := range j.others[policy] {
		briefs = append(briefs, wire.ClaimBrief{ID: nounClaim.id(c.ID), Status: string(c.Status)})
	}
	return briefs
}

// say writes one event and its sentence in the claim's story.
func (j *judging) say(row *claimRow, det *determinationRow, kind EventType, summary string, data any) error {
	event, err := j.record(kind, &row.header, nounClaim, row.public(claimParts{occurrence: j.occurrence, determination: &det.Body}))
	if err != nil {
		return err
	}
	return j.tell(row, kind, &event, summary, data)
}

// duplicateWithin is how close in time two sources' reports of one quake lie.
// Agencies date the same quake seconds apart; two minutes is generous.
const duplicateWithin = 2 * time.Minute

// duplicate tells whether another source's report of the same event is claimed
// already: nobody is paid twice because two sources saw one quake.
func (j *judging) duplicate(p *policyRow, row *claimRow, at time.Time) bool {
	within := duplicateWithin
	if p.Cover.Trigger.Kind != hazard.Earthquake {
		within = 3 * 24 * time.Hour // a storm or a wet spell lasts days
	}
	for _, c := range j.others[p.ID] {
		if c == row || c.OccurrenceID == nil || c.Status == ClaimDeclined || c.Status == ClaimWithdrawn {
			continue
		}
		if j.sources[*c.OccurrenceID] != j.occurrence.Source && c.OccurredAt.Sub(at).Abs() <= within {
			return true
		}
	}
	return false
}

// write puts the slice into the database: one statement a table.
func (j *judging) write(ctx context.Context) error {
	writes := []struct {
		rows  int
		write func() error
	}{
		{len(j.determinations), func() error { return insert(ctx, j.unit, &j.determinations) }},
		{len(j.opened), func() error { return insert(ctx, j.unit, &j.opened) }},
		{len(j.moved), func() error {
			return j.update(ctx, &j.moved, "status", "determination_id", "occurred_at", "amount", "outcome", "reason_codes", "decided_at", "next_review_at", "timeline_sequence")
		}},
		{len(j.shrunk), func() error { return j.update(ctx, &j.shrunk, "status", "limit_remaining") }},
		{len(j.payouts), func() error { return insert(ctx, j.unit, &j.payouts) }},
	}
	for _, w := range writes {
		if w.rows == 0 {
			continue
		}
		if err := w.write(); err != nil {
			return fmt.Errorf("write claims: %w", err)
		}
	}
	return nil
}

func insert(ctx context.Context, u *unit, rows any) error {
	_, err := u.NewInsert().Model(rows).Exec(ctx)
	return err
}

// update writes locked rows back; their versions cannot have moved.
func (j *judging) update(ctx context.Context, rows any, columns ...string) error {
	_, err := j.NewUpdate().Model(rows).Column(append(columns, "version", "updated_at")...).Bulk().Exec(ctx)
	return err
}

func policyIDs(policies []*policyRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(policies))
	for i, p := range policies {
		ids[i] = p.ID
	}
	return ids
}

func observedSentence(p *policyRow, facts trigger.Occurrence, d trigger.Determination) string {
	public := publicDetermination(p, facts, d)
	what := fmt.Sprintf("%s reported %s", facts.Source, facts.SourceEventID)
	if public.Index != nil {
		what += fmt.Sprintf(": %s %s %s", p.Cover.Trigger.Index, public.Index.Value, public.Index.Unit)
	}
	if d.DistanceKM != nil {
		what += fmt.Sprintf(", %.2f km from the insured place's centre", *d.DistanceKM)
	}
	return what + fmt.Sprintf(" (%s values).", facts.Stage)
}

func decisionSentence(row *claimRow) string {
	switch row.Status {
	case ClaimApproved:
		return fmt.Sprintf("The claim was approved: %s is owed.", money.New(*row.Amount, row.Currency))
	case ClaimDeferred:
		return "The claim waits: " + row.ReasonCodes[0] + "."
	case ClaimDeclined:
		return "The claim was declined: " + row.ReasonCodes[len(row.ReasonCodes)-1] + "."
	case ClaimOpened, ClaimWithdrawn, ClaimClosed:
	}
	return "The claim is " + string(row.Status) + "."
}
