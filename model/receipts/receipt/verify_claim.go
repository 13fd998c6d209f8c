package receipt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/wire"
)

// claimCheck is the verification of a claim's receipt.
type claimCheck struct {
	*Report
	*ClaimPayload

	data     Data
	cover    trigger.Cover
	hashed   []*Hashed         // of the parts; nil without a determination
	readings map[string]*Facts // by digest
}

func (r *Report) verifyClaim(payload jsontext.Value, data Data) error {
	c := claimCheck{Report: r, ClaimPayload: new(ClaimPayload), data: data, readings: map[string]*Facts{}}
	if err := parsePayload(payload, c.ClaimPayload); err != nil {
		return err
	}
	r.ID = c.ClaimID
	var err error
	if c.cover, err = r.verifyTerms(&c.Head); err != nil {
		return err
	}
	r.verifyPrice(&c.Head, c.cover, data.History)
	r.sameTime("/payable_from", c.PayableFrom, c.cover.PayableFrom(c.EffectiveAt))
	r.sameTime("/expires_at", c.ExpiresAt, c.cover.Period(c.EffectiveAt).To)
	for i := range c.Readings {
		reading, facts := &c.Readings[i], new(Facts)
		if err := parsePayload(reading.Facts, facts); err != nil {
			return err
		}
		r.compare(fmt.Sprintf("/readings/%d/digest", i), reading.Digest, Digest(reading.Facts))
		c.readings[reading.Digest] = facts
		c.verifyRecords(fmt.Sprintf("/readings/%d", i), reading, facts)
	}
	if c.hashed, err = c.parseHashed(); err != nil {
		return err
	}
	if len(c.Parts) == 0 {
		r.requireTrue("/parts", false, "[]", "a decision")
	}
	for i := range c.Parts {
		c.verifyPart(i)
	}
	return nil
}

// parseHashed reads the inputs of the determinations.
func (c *claimCheck) parseHashed() ([]*Hashed, error) {
	all := make([]*Hashed, len(c.Parts))
	for i := range c.Parts {
		if d := c.Parts[i].Determination; d != nil {
			all[i] = new(Hashed)
			if err := parsePayload(d.Hashed, all[i]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// verifyPart computes the determination and the amount of a part.
func (c *claimCheck) verifyPart(i int) {
	at, part := "/parts/"+strconv.Itoa(i), &c.Parts[i]
	c.compare(at+"/part", part.Part, i+1)
	c.verifyEvents(at+"/events", part.Events)
	limit := c.cover.Limit
	for _, paid := range part.PaidBefore {
		limit.Amount -= paid.Amount.Amount
	}
	c.compare(at+"/limit_before", part.LimitBefore, limit)
	owed := money.New(0, limit.Currency)
	if i > 0 && c.hashed[i-1] != nil {
		owed = c.hashed[i-1].Determination.Amount
	}
	c.compare(at+"/owed_before", part.OwedBefore, owed)
	c.verifyPayouts(at, part)
	steps := c.verifyDetermination(at+"/determination", i)
	computable := part.IsComputable(c.hashed[i])
	c.compare(at+"/computable", part.Computable, computable)
	switch {
	case !computable && !part.Computable:
		c.Decided = append(c.Decided, Remark{at, part.decidedReason()})
	case steps != nil:
		c.verifyOutcome(at, part, c.hashed[i].Determination, steps)
	}
}

// decidedReason says why a part is not computable.
func (p *Part) decidedReason() string {
	if len(p.OtherClaims) > 0 {
		return "less what other claims for the same event owed: " + strings.Join(p.OtherClaims, ", ")
	}
	return "decided by the " + p.DecidedBy + ": " + strings.Join(p.ReasonCodes, ", ")
}

// verifyPayouts checks that the payouts of a part pay its amount.
func (c *claimCheck) verifyPayouts(at string, part *Part) {
	sum := int64(0)
	for _, payout := range part.Payouts {
		sum += payout.Amount.Amount
	}
	approved := int64(0)
	if part.Amount != nil {
		approved = part.Amount.Amount
	}
	c.requireTrue(at+"/payouts", sum == approved, strconv.FormatInt(sum, 10), strconv.FormatInt(approved, 10))
}

// verifyDetermination evaluates the trigger again. It returns nil when the readings are
// not in the receipt.
func (c *claimCheck) verifyDetermination(at string, part int) *Steps {
	d, h := c.Parts[part].Determination, c.hashed[part]
	if d == nil {
		return nil
	}
	c.compare(at+"/receipt_hash", d.ReceiptHash, Digest(d.Hashed))
	c.compare(at+"/hashed/product", h.Product, c.Product)
	c.compare(at+"/hashed/product_version", h.ProductVersion, c.ProductVersion)
	c.compare(at+"/hashed/terms_hash", h.TermsHash, c.TermsHash)
	c.sameTime(at+"/hashed/cover_from", h.CoverFrom, c.EffectiveAt)
	c.requireTrue(at+"/hashed/cover_to", !h.CoverTo.After(c.ExpiresAt), h.CoverTo.String(), "at most "+c.ExpiresAt.String())
	if h.Recipe != Recipe {
		c.compare(at+"/steps", d.Steps, (*Steps)(nil))
		c.compare(at+"/hashed/recipe", h.Recipe, RecipeWithoutReadings)
		return nil
	}
	c.compare(at+"/hashed/payable_from", h.PayableFrom, &c.PayableFrom)
	facts, known := c.readings[h.ReadingsDigest]
	if !known {
		c.requireTrue(at+"/hashed/readings_digest", false, h.ReadingsDigest, "the digest of a reading of this receipt")
		return nil
	}
	c.compare(at+"/hashed/source", h.Source, facts.Source)
	c.compare(at+"/hashed/source_event_id", h.SourceEventID, facts.SourceEventID)
	computed, steps, err := h.Recompute(c.cover, facts)
	if err == nil {
		computed.Measurement, err = c.recomputeMeasurement(at, part)
	}
	switch {
	case err != nil:
		c.requireTrue(at+"/hashed", false, "readings", err.Error())
		return nil
	case steps == nil:
		c.notChecked(at, fmt.Sprintf("this release does not have version %d of the trigger", h.TriggerVersion))
		return nil
	case d.Steps == nil && h.TriggerVersion > 1: // signed by an older server, which does not have the version
		c.notChecked(at, fmt.Sprintf("the release that signed it did not have version %d of the trigger", h.TriggerVersion))
		return nil
	}
	c.compare(at+"/hashed/determination", h.Determination, computed)
	c.compare(at+"/steps", d.Steps, steps)
	return steps
}

// sourceBefore returns the source of the approval before the determination of a part, which
// stays selected; empty without one. Parts after a challenge repeat a determination.
func (c *claimCheck) sourceBefore(part int) string {
	for i := part - 1; i >= 0; i-- {
		switch d := c.Parts[i].Determination; {
		case d == nil || d.ReceiptHash == c.Parts[part].Determination.ReceiptHash:
		case c.Parts[i].Outcome == "approved":
			return c.hashed[i].Source
		}
	}
	return ""
}

// recomputeMeasurement applies the rule of the terms to the readings of a part.
func (c *claimCheck) recomputeMeasurement(at string, part int) (*wire.MeasurementResult, error) {
	h, before := c.hashed[part], c.sourceBefore(part)
	if c.cover.HasSeveralSources() && h.Determination.Measurement == nil {
		c.notChecked(at+"/hashed/source", "that the rule of the terms selects this source: the determination was made before it had the readings of all sources")
	}
	m, err := h.RecomputeMeasurement(c.cover, c.readings, before)
	if m != nil && m.SelectedSource != nil {
		c.compare(at+"/hashed/source", h.Source, *m.SelectedSource)
	}
	return m, err
}

// Reason codes that follow from the trigger and the limit.
const (
	reasonThresholdMet   = string(trigger.ThresholdMet)
	reasonLimitExhausted = "limit_exhausted"
	reasonLongStop       = "long_stop_reached"
)

// IsComputable reports whether the decision follows from the terms and the readings: it
// was not an operator's, the readings are known and no other claim or retraction decided.
// hashed is that of the part's determination; nil without one.
func (p *Part) IsComputable(hashed *Hashed) bool {
	if p.DecidedBy != "system" || hashed == nil || hashed.Recipe != Recipe || len(p.ReasonCodes) == 0 || len(p.OtherClaims) > 0 {
		return false
	}
	computable := []string{
		reasonThresholdMet, string(trigger.ThresholdNotMet), string(trigger.OutsidePlace), string(trigger.OutsidePeriod), string(trigger.WaitingPeriod), string(trigger.SourceNotNamed),
	}
	if m := hashed.Determination.Measurement; m != nil && m.State == string(MeasuredStopped) {
		computable = append(computable, reasonLongStop)
	}
	return slices.Contains(computable, p.ReasonCodes[0])
}

// verifyOutcome computes outcome, reasons and amount: what the determination owes beyond
// the part before, up to what was left of the limit.
func (c *claimCheck) verifyOutcome(at string, part *Part, determined wire.Determination, steps *Steps) {
	outcome, reasons := "declined", []string{string(steps.Reason)}
	var amount *money.Money
	stopped := determined.Measurement != nil && determined.Measurement.State == string(MeasuredStopped)
	if stopped {
		reasons = []string{reasonLongStop}
	}
	if owed := determined.Amount.Amount - part.OwedBefore.Amount; steps.Met && owed > 0 && !stopped {
		reasons = []string{reasonThresholdMet}
		if owed > part.LimitBefore.Amount {
			owed, reasons = part.LimitBefore.Amount, append(reasons, reasonLimitExhausted)
		}
		if owed > 0 {
			outcome, amount = "approved", new(money.New(owed, c.cover.Limit.Currency))
		}
	}
	c.compare(at+"/outcome", part.Outcome, outcome)
	c.compare(at+"/reason_codes", part.ReasonCodes, reasons)
	c.compare(at+"/amount", part.Amount, amount)
}
