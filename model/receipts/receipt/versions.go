package receipt

import (
	"cmp"
	"time"

	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// TriggerVersion is the version of the trigger function that determinations have now.
const TriggerVersion = 2

// evaluateFunc computes what a cover owes for an occurrence.
type evaluateFunc func(trigger.Cover, trigger.Period, time.Time, trigger.Occurrence) trigger.Determination

// triggerVersions are the trigger functions by version. A version is added only when the
// results of the function change; the one before stays. Version 2 pays only for storms of
// the cover's basin.
var triggerVersions = map[int]evaluateFunc{1: trigger.EvaluateReportOfAnyBasin, 2: trigger.EvaluateReport}

// priceFunc computes a price and the figures of its basis from the basis' sums.
type priceFunc func(c trigger.Cover, b pricing.Basis, asOf time.Time) (pricing.Price, pricing.Basis, error)

// priceVersions are the price functions by the formula of the basis.
var priceVersions = map[int]priceFunc{2: pricing.Recompute}

// ToDetermination returns the v1 record of a trigger's result, without its receipt_hash.
func ToDetermination(c trigger.Cover, termsHash string, facts trigger.Occurrence, d trigger.Determination) wire.Determination {
	public := wire.Determination{
		Threshold: wire.Measure{Value: d.Threshold.String(), Unit: c.Trigger.Unit}, OccurredAt: d.OccurredAt,
		DistanceKM: d.DistanceKM, Factor: d.Factor.String(),
		Amount: money.New(d.Amount, c.Limit.Currency), Stage: string(trigger.Preliminary),
		SourceVersion: facts.SourceVersion, TermsHash: termsHash,
	}
	if d.Stage == trigger.Final {
		public.Stage = string(trigger.Final)
	}
	if d.Index != nil {
		public.Index = &wire.Measure{Value: d.Index.String(), Unit: cmp.Or(facts.Unit, c.Trigger.Unit)}
	}
	if !d.FirstDay.IsZero() {
		public.FirstDay, public.LastDay = new(formatDay(d.FirstDay)), new(formatDay(d.LastDay))
	}
	return public
}

// Recompute evaluates the readings again for the terms and the inputs of a determination.
// It returns nil steps when this release does not have the version of the trigger.
func (h *Hashed) Recompute(c trigger.Cover, facts *Facts) (wire.Determination, *Steps, error) {
	evaluate, known := triggerVersions[h.TriggerVersion]
	if !known || h.PayableFrom == nil {
		return wire.Determination{}, nil, nil
	}
	o, err := facts.Occurrence(h.PaidDays)
	if err != nil {
		return wire.Determination{}, nil, err
	}
	d := evaluate(c, trigger.Period{From: h.CoverFrom, To: h.CoverTo}, *h.PayableFrom, o)
	return ToDetermination(c, h.TermsHash, o, d), &Steps{
		Met: d.Met, Reason: d.Reason, MissedBy: d.Missed.String(), RadiusKM: d.RadiusKM, OutsideKM: d.OutsideKM, LimitAmount: c.Limit,
	}, nil
}
