package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/internal/adjudicate"
	"parapet/model/money"
	"parapet/model/trigger"
)

// judging decides one occurrence for a slice of locked policies: at most one
// claim a policy, written in a few statements however many policies there are.
type judging struct {
	*unit

	occurrence *occurrenceRow
	facts      trigger.Occurrence
	request    *ClaimRequest // set when a partner asked, nil when matching found out
	decided    uuid.UUID     // the claim that an operator decides; zero otherwise

	policies []*policyRow
	existing map[uuid.UUID]*claimRow      // by policy: the claim for this occurrence
	others   map[uuid.UUID][]*claimRow    // all that may be about the same event, these included
	shown    map[uuid.UUID]policyClaims   // by policy: what its record shows of its claims
	same     map[uuid.UUID]bool           // the occurrence and what was merged into it
	happened map[uuid.UUID]*occurrenceRow // the occurrences of others
	// possibleDuplicates are occurrences with claims that may be the judged event under
	// another id.
	possibleDuplicates map[uuid.UUID]bool
	restsOn            map[uuid.UUID]*determinationRow // what the claims for the occurrence rest on
	parts              map[uuid.UUID]int               // the highest part that the existing claims have a payout for
	paying             map[uuid.UUID]claimParts        // by claim: what the records of the existing claims show of their payouts
	methods            map[uuid.UUID][]*payoutMethodRow
	paid               map[uuid.UUID][]paidRun // by policy: days at stations that were paid for

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

// settle decides every policy and writes the outcome.
func (j *judging) settle(ctx context.Context) error {
	for _, p := range j.policies {
		d := j.evaluate(p)
		done, err := j.applyRetraction(ctx, p, d)
		if err != nil {
			return err
		}
		switch claim := j.existing[p.ID]; {
		case done:
		case claim == nil && !p.opens(d, j.clock):
			continue
		case claim == nil:
			err = j.open(p, d)
		default:
			err = j.settleClaims(p, d)
		}
		if err != nil {
			return err
		}
		if err := j.reportDoublePayment(ctx, p); err != nil {
			return err
		}
	}
	return j.write(ctx)
}

// settleClaims decides all of a policy's claims for the occurrence that wait; there are
// several where occurrences were merged. The first approved one is paid what a storm
// owes beyond all of them.
func (j *judging) settleClaims(p *policyRow, d trigger.Determination) error {
	var approved *claimRow
	for _, c := range j.others[p.ID] {
		switch {
		case !j.concerns(c):
		case c.Status == ClaimDeferred:
			if err := j.revise(p, c, d); err != nil {
				return err
			}
		case approved == nil && c.isApproved():
			approved = c
		}
	}
	if approved == nil || j.facts.Storm == nil || !p.settles(d) {
		return nil
	}
	return j.raise(p, approved, d)
}

// provisional tells whether a claim waits for the source's final word, and for
// nothing else.
func (r *claimRow) provisional() bool {
	return r.Status == ClaimDeferred && awaitsSource(r.ReasonCodes)
}

func awaitsSource(reasons []string) bool {
	return len(reasons) == 1 && reasons[0] == string(ReasonSourceProvisional)
}

func (j *judging) open(p *policyRow, d trigger.Determination) error {
	row := &claimRow{
		header: j.fresh(p.Partner), PolicyID: p.ID, Product: &p.Product, Status: ClaimOpened, Origin: OriginTrigger,
		OccurrenceID: &j.occurrence.ID, OccurrenceKey: new(j.occurrence.naturalKey()), OccurredAt: &j.occurrence.OccurredAt, Currency: p.Currency,
		ReasonCodes: []string{}, OpenedAt: j.now,
	}
	if in := j.request; in != nil {
		row.references = references{in.PartnerReference, in.Metadata}
		row.Description = in.Description
		if in.RequestedAmount != nil {
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
	shown := j.shown[p.ID]
	shown.add(row.ID, row.Status)
	j.shown[p.ID] = shown
	if err := j.observed(p, row, d); err != nil {
		return err
	}
	if err := j.say(row, det, EventClaimOpened, openedSentence(j.facts, d), map[string]any{"determination": det.Body}); err != nil {
		return err
	}
	return j.decide(p, row, det, d)
}

// observed is the first sentence: what happened, before anything was claimed.
func (j *judging) observed(p *policyRow, row *claimRow, d trigger.Determination) error {
	defer j.as(Actor{Kind: ActorSource, Name: j.occurrence.Source})()
	return j.tell(row, timelineObserved, nil, observedSentence(p, j.facts, d), map[string]any{
		"occurrence": j.occurrence.brief(*row.OccurredAt), "stage": d.Stage, "source_version": j.facts.SourceVersion,
		"index": publicDetermination(p, j.facts, d).Index, "distance_km": d.DistanceKM,
	})
}

// revise judges a deferred claim again by what the source says now. One that goes
// on waiting is written only when the source has news. One that waits for a human
// is decided here only when it was a possible duplicate and its source merged the two,
// or when no claim counts any more that it may duplicate.
// Its determination follows the source: the operator sees what is owed today.
func (j *judging) revise(p *policyRow, row *claimRow, d trigger.Determination) error {
	settled := p.settles(d) && (row.provisional() || j.awaitsDays(row)) || row.isPossibleDuplicate() && (j.claimedBy(p, row) || j.lostItsDuplicate(p, row))
	if waits := !settled || d.Amount == 0 && j.growing(p); waits && !j.changed(row) {
		return nil
	}
	det, err := j.determine(p, j.occurrence, j.facts, d)
	if err != nil {
		return err
	}
	j.determinations = append(j.determinations, det)
	j.moved = append(j.moved, row)
	row.DeterminationID, row.OccurredAt = &det.ID, &j.occurrence.OccurredAt
	if settled {
		return j.decide(p, row, det, d)
	}
	j.touch(&row.header)
	return j.say(row, det, EventClaimUpdated, "The source revised its values.", map[string]any{"determination": det.Body})
}

// changed tells whether the source's word is another one than the claim rests
// on; a second pass over the same facts changes nothing.
func (j *judging) changed(row *claimRow) bool {
	return j.restsOn[*row.DeterminationID].Body.SourceVersion != j.facts.SourceVersion
}

// evaluate is what the trigger says of a policy by the days that it was not paid for.
func (j *judging) evaluate(p *policyRow) trigger.Determination {
	return trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, j.occurrence.withoutPaid(j.facts, j.paid[p.ID]))
}

// awaitsDays tells whether a claim waits for missing days of its month or dekad, and
// not for evidence that an operator asked for.
func (j *judging) awaitsDays(row *claimRow) bool {
	return row.Status == ClaimDeferred && slices.Equal(row.ReasonCodes, []string{adjudicate.ReasonEvidenceNeeded}) &&
		j.facts.Rain != nil && !j.restsOn[*row.DeterminationID].Met
}

// decide applies the private rules and moves claim, policy and payout. Whoever
// asked, it is Parapet that decides.
func (j *judging) decide(p *policyRow, row *claimRow, det *determinationRow, d trigger.Determination) error {
	defer j.as(System())()
	weighed := p.weigh(d)
	weighed.Growing, weighed.Same, weighed.Duplicate = j.growing(p), j.claimedBy(p, row), j.duplicate(p, row)
	decision := adjudicate.Decide(weighed)
	var review *time.Time
	switch {
	case awaitsSource(decision.Reasons):
		review = new(j.reviewAt(p, d))
	case decision.Outcome == adjudicate.Defer:
		review = new(j.now.Add(reviewAfter)) // by a human, whom vitals remind
	}
	return j.rule(p, row, det, decision, review)
}

// reviewAfter is when a claim that waits for its source is looked at again, though
// the source said nothing.
const reviewAfter = 24 * time.Hour

// reviewAt is when a waiting claim is due: a storm's when it has passed.
func (j *judging) reviewAt(p *policyRow, d trigger.Determination) time.Time {
	if j.growing(p) && p.settles(d) {
		return j.passed(p)
	}
	return j.now.Add(reviewAfter)
}

// growing tells whether a storm may still bring fixes that join the ones it has.
func (j *judging) growing(p *policyRow) bool {
	return j.facts.Storm != nil && j.occurrence.FinalTrackAt == nil && j.clock.Before(j.passed(p))
}

// passed is when a storm is over: a fix any later would make no segment with the
// last one.
func (j *judging) passed(p *policyRow) time.Time {
	return j.occurrence.LastAt.Add(time.Duration(p.Cover.Trigger.MaximumGapHours) * time.Hour)
}

// raise pays what a storm owes beyond what was approved: it is one occurrence
// with all its fixes, whichever came when. A claim whose first part is paid and
// confirmed already is open again. Nothing is ever taken back.
func (j *judging) raise(p *policyRow, row *claimRow, d trigger.Determination) error {
	more := min(d.Amount-j.owedFor(p), p.LimitRemaining)
	if more <= 0 {
		return nil
	}
	defer j.as(System())()
	det, err := j.determine(p, j.occurrence, j.facts, d)
	if err != nil {
		return err
	}
	j.determinations, j.moved = append(j.determinations, det), append(j.moved, row)
	row.DeterminationID, row.OccurredAt, row.DecidedAt = &det.ID, &j.occurrence.OccurredAt, &j.now
	row.Amount, row.ClosedAt = new(*row.Amount+more), nil
	event, err := j.become(row, ClaimApproved)
	if err != nil {
		return err
	}
	summary := fmt.Sprintf("The storm grew: %s more is owed.", money.New(more, p.Currency))
	if err := j.say(row, det, event, summary, map[string]any{"determination": det.Body, "amount": row.money(row.Amount)}); err != nil {
		return err
	}
	return j.owe(p, row, more)
}

// say writes one event and its sentence in the claim's story; det is nil for a
// claim without an occurrence.
func (j *judging) say(row *claimRow, det *determinationRow, kind EventType, summary string, data any) error {
	parts := j.paying[row.ID]
	if det != nil {
		parts.occurrence, parts.determination = j.about(row), &det.Body
	}
	event, err := j.record(kind, &row.header, nounClaim, row.public(parts))
	if err != nil {
		return err
	}
	return j.tell(row, kind, &event, summary, data)
}

// about is the occurrence a claim was opened for, which may since have been
// merged into the one that is judged.
func (j *judging) about(row *claimRow) *occurrenceRow {
	if opened, ok := j.happened[*row.OccurrenceID]; ok {
		return opened
	}
	return j.occurrence
}
