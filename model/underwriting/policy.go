package underwriting

import (
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// PolicyRow is a bound policy. Its terms never change; its remaining limit decreases.
type PolicyRow struct {
	bun.BaseModel `bun:"table:policies,alias:p"`
	store.RowHeader
	store.PartnerFields

	Status          PolicyStatus
	QuoteID         uuid.UUID `bun:"type:uuid"`
	Product         string
	ProductVersion  int
	Policyholder    *wire.Person  `bun:"type:json"`
	Cover           trigger.Cover `bun:"type:json"`
	TermsHash       string
	Currency        string
	PremiumAmount   int64
	LimitAmount     int64
	LimitRemaining  int64
	EffectiveAt     time.Time
	PayableFrom     time.Time
	ExpiresAt       time.Time
	ReportableUntil time.Time
	CancelledAt     *time.Time
	Kind            hazard.Peril
	Footprint       *string `bun:"type:box"`
	Station         *string
	Definition      *string          // definition of an occurrence at the station; nil for a circle
	Days            *int             // days summed in a wet spell, 0 for months and dekads; nil for a circle
	Threshold       *decimal.Decimal // lowest threshold of the terms; nil for a circle
	// For the occurrence being matched: whether its claims are waiting, how many claims
	// it has on the policy, and the facts the approved ones were granted on; nil if
	// there are none.
	Waits  bool   `bun:",scanonly"`
	Claims int    `bun:",scanonly"`
	Owed   *int64 `bun:",scanonly"`
}

// policyKeyRow is what identifies a policy; the trigger policies_key writes it.
type policyKeyRow struct {
	bun.BaseModel `bun:"table:policy_keys,alias:pk"`
}

// setPeriod sets the times of cover, counted from the instant of binding.
func (r *PolicyRow) setPeriod(boundAt time.Time) {
	start := boundAt
	if r.Cover.StartsAt != nil {
		start = *r.Cover.StartsAt
	}
	period := r.Cover.Period(start)
	r.EffectiveAt, r.ExpiresAt = period.From, period.To
	r.PayableFrom = r.Cover.PayableFrom(start)
	r.ReportableUntil = r.Cover.ReportableUntil(r.ExpiresAt)
}

// setMatchKeys sets the columns that matching searches.
func (r *PolicyRow) setMatchKeys(c trigger.Cover) {
	if box, ok := trigger.Footprint(c.Place); ok {
		text := capacity.PgBox(box)
		r.Footprint = &text
		return
	}
	r.Station, r.Definition = &c.Place.Station, new(c.Trigger.Definition().String())
	r.Days, r.Threshold = new(c.Trigger.Days), new(c.Payout.LowestThreshold())
	if c.Trigger.Direction == trigger.AtMost {
		r.Days = new(0)
	}
}

// ToRecord returns the v1 record of a policy at an instant, with its newest claims.
func (r *PolicyRow) ToRecord(now time.Time, claims PolicyClaims) *wire.Policy {
	return &wire.Policy{PolicyHead: r.toHead(now), PolicyCover: wire.PolicyCover{Cover: r.Cover}, PolicyTail: r.toTail(claims)}
}

func (r *PolicyRow) toHead(now time.Time) wire.PolicyHead {
	return wire.PolicyHead{
		Header: r.ToHeader(store.ResourcePolicy), References: r.ToReferences(),
		Status: string(r.Status), CoverPhase: string(r.coverPhase(now)),
		QuoteID: store.ResourceQuote.FormatID(r.QuoteID), Product: r.Product, ProductVersion: r.ProductVersion,
		Policyholder: r.Policyholder,
	}
}

func (r *PolicyRow) toTail(claims PolicyClaims) wire.PolicyTail {
	return wire.PolicyTail{
		TermsHash:      r.TermsHash,
		Premium:        money.New(r.PremiumAmount, r.Currency),
		Limit:          money.New(r.LimitAmount, r.Currency),
		LimitRemaining: money.New(r.LimitRemaining, r.Currency),
		EffectiveAt:    r.EffectiveAt, ExpiresAt: r.ExpiresAt,
		Claims: claims.Newest, ClaimsCount: claims.count, CancelledAt: r.CancelledAt,
	}
}

// CoverEnd returns when cover ends: at the end of the term or at cancellation.
func (r *PolicyRow) CoverEnd() time.Time {
	if r.CancelledAt != nil && r.CancelledAt.Before(r.ExpiresAt) {
		return *r.CancelledAt
	}
	return r.ExpiresAt
}

// CoverPeriod returns the period in which occurrences count.
func (r *PolicyRow) CoverPeriod() trigger.Period {
	return trigger.Period{From: r.EffectiveAt, To: r.CoverEnd()}
}

func (r *PolicyRow) coverPhase(now time.Time) CoverPhase {
	switch {
	case !now.Before(r.CoverEnd()):
		return CoverEnded
	case now.Before(r.EffectiveAt):
		return CoverScheduled
	case now.Before(r.PayableFrom):
		return CoverWaiting
	default:
		return CoverInForce
	}
}

// PolicyIDs returns the ids of policies.
func PolicyIDs(policies []*PolicyRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(policies))
	for i, p := range policies {
		ids[i] = p.ID
	}
	return ids
}
