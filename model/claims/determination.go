package claims

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// DeterminationRow is the trigger's result for one policy and one occurrence at one
// version of the facts.
type DeterminationRow struct {
	bun.BaseModel `bun:"table:determinations,alias:d"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	Partner      string    `bun:",pk"`
	PolicyID     uuid.UUID `bun:"type:uuid"`
	OccurrenceID uuid.UUID `bun:"type:uuid"`
	CreatedAt    time.Time
	Met          bool
	Stage        trigger.Stage
	Amount       int64
	Body         wire.Determination `bun:"type:json"`
	Receipt      jsontext.Value     `bun:"type:json"`
	ReceiptHash  string
	FirstDay     *time.Time `bun:"type:date"` // first of the days at a station that make up the index
	LastDay      *time.Time `bun:"type:date"` // inclusive
}

// NewDetermination records the trigger's result for a policy. facts are those that were
// evaluated for the policy, and measured what the rule of its terms made of several
// sources, nil for one; the caller queues the readings (QueueReading).
func NewDetermination(tx *store.Tx, p *underwriting.PolicyRow, occ *occurrence.OccurrenceRow, facts trigger.Occurrence, d trigger.Determination, measured *wire.MeasurementResult) (*DeterminationRow, error) {
	body := ToDeterminationRecord(p, facts, d)
	body.Measurement = measured
	reading, err := occ.Reading(facts)
	if err != nil {
		return nil, err
	}
	text, err := receipt.Canonical(receipt.Hashed{
		Product: p.Product, ProductVersion: p.ProductVersion, TermsHash: p.TermsHash,
		CoverFrom: p.EffectiveAt, CoverTo: p.CoverEnd(), PayableFrom: &p.PayableFrom,
		Source: facts.Source, SourceEventID: facts.SourceEventID, OccurredAt: occ.OccurredAt, Determination: body,
		Recipe: receipt.Recipe, TriggerVersion: receipt.TriggerVersion, ReadingsDigest: reading.Digest, PaidDays: receipt.NewPaidDays(facts),
	})
	if err != nil {
		return nil, fmt.Errorf("write receipt: %w", err)
	}
	body.ReceiptHash = receipt.Digest(text)
	row := &DeterminationRow{
		ID: store.NewID(), Partner: p.Partner, PolicyID: p.ID, OccurrenceID: occ.ID, CreatedAt: tx.Now,
		Met: d.Met, Stage: d.Stage, Amount: d.Amount, Body: body, Receipt: text, ReceiptHash: body.ReceiptHash,
	}
	if !d.FirstDay.IsZero() {
		row.FirstDay, row.LastDay = &d.FirstDay, &d.LastDay
	}
	return row, nil
}

// ToDeterminationRecord returns the v1 record of a trigger evaluation.
func ToDeterminationRecord(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination) wire.Determination {
	public := receipt.ToDetermination(p.Cover, p.TermsHash, facts, d)
	public.Amount.Currency = p.Currency
	return public
}

// DeterminationStage is the stage of the values that decide a claim.
type DeterminationStage = string

// The source may still revise preliminary values. Final values are confirmed.
const (
	DeterminationPreliminary DeterminationStage = "preliminary"
	DeterminationFinal       DeterminationStage = "final"
)

// TriggerNotMetError is the error for a trigger that is not met, with every number that
// explains it.
func TriggerNotMetError(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination) *apperr.Error {
	public := ToDeterminationRecord(p, facts, d)
	e := apperr.Fail(apperr.CodeTriggerNotMet, "The trigger is not met: %s.", ReasonClause(p, facts, d, public))
	e.Extra = map[string]any{
		"reason": string(d.Reason), "index": public.Index, "threshold": public.Threshold, "missed_by": MissedBy(p, facts, d, public),
		"distance_km": d.DistanceKM, "stage": public.Stage,
	}
	return e
}

// MissedBy returns how far the index is from the threshold, how far outside the place
// the occurrence is, or how far below the covered depth; nil when no number was missed.
func MissedBy(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination, public wire.Determination) *wire.Measure {
	switch {
	case d.Missed.IsPositive():
		return &wire.Measure{Value: d.Missed.String(), Unit: public.Threshold.Unit}
	case d.Reason != trigger.OutsidePlace:
		return nil
	case d.OutsideKM != nil:
		return &wire.Measure{Value: decimal.NewFromFloat(*d.OutsideKM).StringFixed(2), Unit: "km"}
	case tooDeep(p, facts):
		return &wire.Measure{Value: facts.Quake.DepthKM.Sub(*p.Cover.Trigger.MaximumDepthKM).String(), Unit: "km"}
	}
	return nil
}

func tooDeep(p *underwriting.PolicyRow, facts trigger.Occurrence) bool {
	limit := p.Cover.Trigger.MaximumDepthKM
	return limit != nil && facts.Quake != nil && facts.Quake.DepthKM != nil && facts.Quake.DepthKM.GreaterThan(*limit)
}

// OutsidePlaceClause explains how an occurrence is outside the insured place.
func OutsidePlaceClause(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination) string {
	switch {
	case p.Cover.IsOtherBasin(facts):
		return otherBasinClause(p.Cover.StormBasin(), facts.Storm)
	case d.OutsideKM != nil && d.RadiusKM != nil:
		return fmt.Sprintf("it happened %.2f km outside the insured circle of %g km", *d.OutsideKM, *d.RadiusKM)
	case d.OutsideKM != nil:
		return fmt.Sprintf("it happened %.2f km outside the insured box", *d.OutsideKM)
	case tooDeep(p, facts):
		return fmt.Sprintf("it was %s km deep; the policy covers earthquakes down to %s km", facts.Quake.DepthKM, p.Cover.Trigger.MaximumDepthKM)
	default:
		return "nothing that the policy covers was measured at the insured place"
	}
}

// otherBasinClause explains why a storm is not of the basin that the policy covers.
func otherBasinClause(covered *hazard.Basin, storm *hazard.Storm) string {
	if code := hazard.BasinCode(storm.ID); code != "" {
		return fmt.Sprintf("the storm %s is of the basin %s; the policy covers storms of the basin %s, %s", storm.ID, code, covered.Code, covered.Name)
	}
	first := storm.FirstFix().Where
	return fmt.Sprintf("the storm began in another basin, at latitude %g and longitude %g; the policy covers storms of the basin %s, %s",
		first.Latitude, first.Longitude, covered.Code, covered.Name)
}

// ReasonClause explains why the trigger is not met, as the rest of a sentence.
func ReasonClause(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination, public wire.Determination) string {
	switch d.Reason {
	case trigger.ThresholdNotMet:
		if d.Missed.GreaterThan(decimal.Zero) && public.Index != nil {
			return fmt.Sprintf("the index %s %s misses the threshold %s %s by %s", public.Index.Value, public.Index.Unit, public.Threshold.Value, public.Threshold.Unit, d.Missed)
		}
		return "the index stays on the wrong side of its threshold"
	case trigger.OutsidePeriod:
		return fmt.Sprintf("it happened outside the period of cover, from %s to %s: at %s",
			p.EffectiveAt.UTC().Format(trigger.TimeFormat), p.CoverEnd().UTC().Format(trigger.TimeFormat), d.OccurredAt.UTC().Format(trigger.TimeFormat))
	case trigger.OutsidePlace:
		return OutsidePlaceClause(p, facts, d)
	case trigger.WaitingPeriod:
		return fmt.Sprintf("it happened in the waiting period, which ends at %s", p.PayableFrom.UTC().Format(trigger.TimeFormat))
	case trigger.EvidenceNeeded:
		return "days of the month or dekad are missing"
	case trigger.SourcePreliminary:
		return "the month or dekad is judged when every day of it is final"
	case trigger.SourceNotNamed:
		return fmt.Sprintf("the policy is decided by %s, and %s reported the occurrence", namedSources(p), facts.Source)
	case trigger.ThresholdMet:
	}
	return "the amount owed rounds to nothing"
}

// namedSources lists the sources of a policy's terms in order of rank.
func namedSources(p *underwriting.PolicyRow) string {
	var names []string
	if p.Cover.Measurement != nil {
		for _, s := range p.Cover.Measurement.Sources {
			names = append(names, s.Source)
		}
	}
	return JoinWords(names)
}
