package underwriting

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/money"
	"parapet/model/quoting"
	"parapet/model/quoting/pricing"
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

// BindRequest binds a quote as a policy.
type BindRequest struct {
	QuoteID          string
	Policyholder     *wire.Person // overrides the policyholder of the quote's context
	PartnerReference *string
	Metadata         map[string]string
}

// Bind binds the quoted cover as a policy. Errors: not_found, quote_already_bound
// with the policy's id, quote_expired, reference_taken, capacity_exceeded,
// moratorium_active.
func (s *Service) Bind(ctx context.Context, caller actor.Actor, in BindRequest) (*wire.Policy, error) {
	if err := s.Authorize(ctx, caller, actor.ScopePoliciesWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	store.RequireReferences(v, in.PartnerReference, in.Metadata)
	quoting.RequirePerson(v, in.Policyholder, "/policyholder")
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, err := store.ResourceQuote.ParseID(in.QuoteID)
	if err != nil {
		return nil, err
	}
	var policy *wire.Policy
	err = s.InBindTx(ctx, caller, func(ctx context.Context, u store.BindTx) error {
		quote := new(quoting.QuoteRow)
		if err := u.LockRow(ctx, quote, id, store.ResourceQuote); err != nil {
			return err
		}
		if err := checkBindable(u.Tx, quote); err != nil {
			return err
		}
		row := insertPolicy(u, quote, in)
		if policy, err = recordBind(ctx, u.Tx, quote, row); err != nil {
			return err
		}
		return u.StoreResponse(store.StatusCreated, policy.ID, policy)
	})
	return policy, s.AddReferenceHolder(ctx, caller, err, store.ResourcePolicy, (*PolicyRow)(nil), in.PartnerReference)
}

func checkBindable(tx *store.Tx, quote *quoting.QuoteRow) error {
	starts := quote.Cover.StartsAt
	switch {
	case quote.Status == quoting.QuoteBound:
		e := apperr.Fail(apperr.CodeQuoteAlreadyBound, "This quote is already bound; see resource_id for its policy.")
		e.ResourceID = store.ResourcePolicy.FormatID(*quote.PolicyID)
		return e
	case quote.Status == quoting.QuoteExpired || !tx.Now.Before(quote.ExpiresAt):
		return apperr.Fail(apperr.CodeQuoteExpired, "This quote expired at %s; ask for a new one.", quote.ExpiresAt.Format(time.RFC3339))
	case starts != nil && starts.Before(tx.Now):
		return apperr.Fail(apperr.CodeQuoteExpired, "Cover was to start at %s, which has passed; ask for a new quote.", starts.Format(time.RFC3339))
	default:
		return nil
	}
}

func insertPolicy(u store.BindTx, quote *quoting.QuoteRow, in BindRequest) *PolicyRow {
	row := &PolicyRow{
		RowHeader:     u.NewHeader(quote.Partner),
		PartnerFields: store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata},
		Status:        PolicyActive,
		QuoteID:       quote.ID,
		Product:       quote.Product, ProductVersion: quote.ProductVersion,
		Policyholder:  in.Policyholder,
		Cover:         quote.Cover,
		TermsHash:     quote.TermsHash,
		Currency:      quote.Currency,
		PremiumAmount: quote.PremiumAmount,
		LimitAmount:   quote.Cover.Limit.Amount, LimitRemaining: quote.Cover.Limit.Amount,
		Kind: quote.Cover.Trigger.Kind,
	}
	if row.Policyholder == nil {
		row.Policyholder = contextPolicyholder(quote)
	}
	row.setPeriod(u.Now)
	row.setMatchKeys(quote.Cover)
	u.QueueInsert(row)
	capacity.QueueCapacityCheck(u.Tx, capacity.Use{Product: row.Product, Limit: money.New(row.LimitAmount, row.Currency), Footprint: row.Footprint, Station: row.Station})
	capacity.QueueMoratoriumCheck(u.Tx, row.Cover, row.EffectiveAt)
	return row
}

// recordBind changes the quote's status and records the events of quote and policy,
// cause before effect.
func recordBind(ctx context.Context, tx *store.Tx, quote *quoting.QuoteRow, row *PolicyRow) (*wire.Policy, error) {
	quote.PolicyID = &row.ID
	occurred, err := store.ChangeStatus(ctx, tx, quote, quoting.QuoteTransitions, &quote.Status, quoting.QuoteBound, "policy_id")
	if err != nil {
		return nil, err
	}
	if _, err := tx.AppendEvent(occurred, &quote.RowHeader, store.ResourceQuote, quote.ToRecord()); err != nil {
		return nil, err
	}
	policy := row.ToRecord(tx.Now, PolicyClaims{})
	if _, err := wire.EncodeOnce(policy); err != nil {
		return nil, err
	}
	activated, err := tx.AppendEvent(event.PolicyActivated, &row.RowHeader, store.ResourcePolicy, policy)
	ledger.AddPostings(tx, row.premiumPostings(activated, tx.Now, &quote.Price))
	return policy, err
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

// contextPolicyholder returns the policyholder of the quote's context, or nil.
func contextPolicyholder(r *quoting.QuoteRow) *wire.Person {
	var named struct {
		Policyholder *wire.Person `json:"policyholder"`
	}
	if err := json.Unmarshal(r.Context, &named); err != nil {
		return nil
	}
	return named.Policyholder
}

// premiumPostings returns the postings of an event for the premium of bound cover and the
// partner's commission.
func (r *PolicyRow) premiumPostings(event uuid.UUID, at time.Time, price *pricing.Price) ledger.PostingSet {
	set := ledger.PostingSet{Event: event, Policy: r.ID, Partner: r.Partner, Currency: r.Currency, At: at, Sides: make([]ledger.LedgerSide, 0, 4)}
	set.AddTransfer(ledger.Transfer{Debit: ledger.AccountPremiumReceivable, Credit: ledger.AccountPremiumWritten}, r.PremiumAmount)
	for _, line := range price.Lines {
		if line.Kind == pricing.Commission {
			set.AddTransfer(ledger.Transfer{Debit: ledger.AccountCommission, Credit: ledger.AccountCommissionPayable}, line.Amount.Amount)
		}
	}
	return set
}

// PolicyIDs returns the ids of policies.
func PolicyIDs(policies []*PolicyRow) []uuid.UUID {
	ids := make([]uuid.UUID, len(policies))
	for i, p := range policies {
		ids[i] = p.ID
	}
	return ids
}
