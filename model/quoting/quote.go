package quoting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/partners"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/pricing"
	"parapet/model/quoting/product"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// QuoteRow is a priced offer. Its members were computed once and are stored as they
// were answered.
type QuoteRow struct {
	bun.BaseModel `bun:"table:quotes,alias:q"`
	store.RowHeader
	store.PartnerFields

	Status         QuoteStatus
	Product        string
	ProductVersion int
	Context        jsontext.Value `bun:"type:json"`
	IgnoredContext []string       `bun:",array"`
	Cover          trigger.Cover  `bun:"type:json"`
	TermsHash      string
	Price          pricing.Price       `bun:"type:json"`
	Basis          pricing.Basis       `bun:"type:json"`
	History        []pricing.PastEvent `bun:"type:json"`
	PremiumAmount  int64
	Currency       string
	ExpiresAt      time.Time
	PolicyID       *uuid.UUID `bun:"type:uuid"`
	Offer          []byte     // compressed, the fields of quoteOffer; null for a row that has them in their own columns
	offerText      []byte     // the JSON text of Offer, once it is read
}

// Request requests a quote.
type Request struct {
	Product          string
	Context          jsontext.Value // a JSON object
	PartnerReference *string
	Metadata         map[string]string
}

// Create prices cover. Errors: product_unknown, validation_failed with every
// invalid member of the context, partner_mismatch, risk_uninsurable, reference_taken.
func (s *Service) Create(ctx context.Context, caller actor.Actor, in Request) (*wire.Quote, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeQuotesWrite); err != nil {
		return nil, err
	}
	history, err := catalog.LoadHistory(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	p, err := s.checkQuoteRequest(ctx, caller, in, history)
	if err != nil {
		return nil, err
	}
	terms, err := partners.LoadTerms(ctx, s.Store, caller.Partner)
	if err != nil {
		return nil, err
	}
	var quote *wire.Quote
	var moratoria []capacity.MoratoriumRow
	err = s.InGroupTx(ctx, caller, func(tx *store.Tx) { capacity.QueueMoratoria(tx, &moratoria) }, func(ctx context.Context, tx *store.Tx) error {
		// Pricing runs inside the transaction, so that a repeated request gets its
		// first response although its cover could not start any more, and so that the
		// clock is read once.
		row, priced, err := priceQuote(tx, p, in, terms, history)
		if err != nil {
			return err
		}
		quote = row.ToRecordAt(tx.Now, moratoria)
		if err := insertQuote(ctx, tx, row, quote, priced.Derived); err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusCreated, quote.ID, quote)
	})
	return quote, s.AddReferenceHolder(ctx, caller, err, store.ResourceQuote, (*QuoteRow)(nil), in.PartnerReference)
}

// checkQuoteRequest finds the product and validates the members outside the context. If
// one is invalid, the context is validated too, as far as it and its product are known,
// to report all errors at once. An unknown product has its own error code if it is the
// only error.
func (s *Service) checkQuoteRequest(ctx context.Context, actor actor.Actor, in Request, history *hazard.History) (*product.Product, error) {
	v := apperr.NewValidator(ctx)
	if v.IsParsed("/context") {
		if err := checkContextPartner(actor, in.Context); err != nil {
			return nil, err
		}
	}
	v.RequireReferences(in.PartnerReference, in.Metadata)
	if !v.IsParsed("/product") {
		return nil, v.Err()
	}
	p, err := catalog.LoadProductOnSale(ctx, s.Store, actor.Partner, in.Product)
	switch unknown := (*apperr.Error)(nil); {
	case errors.As(err, &unknown) && unknown.Code == apperr.CodeProductUnknown && len(v.AllErrors()) > 0:
		v.FieldErrors = append(v.FieldErrors, unknown.Fields...)
		return nil, v.Err()
	case err != nil:
		return nil, err
	}
	if len(v.AllErrors()) > 0 && v.IsParsed("/context") {
		now, err := s.ReadClock(ctx)
		if err != nil {
			return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
		}
		requireContext(v, actor.Partner, p, in.Context, now, history, nil)
	}
	return p, v.Err()
}

// requireContext validates the context by its product, and the policyholder in it by
// the rule for policies. The cache may be nil.
func requireContext(v *apperr.Validator, partner string, p *product.Product, given jsontext.Value, now time.Time, h *hazard.History, cache *product.PriceCache) *product.Request {
	asked, err := cache.Read(p, partner, given, now, h)
	if faulty := (*product.ContextError)(nil); errors.As(err, &faulty) {
		for _, f := range faulty.Fields {
			v.Unparsed = append(v.Unparsed, apperr.NewFieldError(f.Pointer, f.Code, f.Detail))
		}
	}
	RequirePerson(v, toPerson(asked.Policyholder), "/context/policyholder")
	return asked
}

func priceQuote(tx *store.Tx, p *product.Product, in Request, terms wire.PartnerTerms, history *hazard.History) (row *QuoteRow, priced product.QuoteResult, err error) {
	v, cache := new(apperr.Validator), store.Local[product.PriceCache](tx.Store)
	asked := requireContext(v, tx.Actor.Partner, p, in.Context, tx.Now, history, cache)
	if err := v.Err(); err != nil {
		return nil, priced, err
	}
	if err := requireLimit(terms, asked.Limit()); err != nil {
		return nil, priced, err
	}
	if share := terms.CommissionShare; share != nil && !p.Document().Loadings.ExpenseShare.Add(*share).LessThan(decimal.NewFromInt(1)) {
		return nil, priced, apperr.Fail(apperr.CodeRiskUninsurable, "Your commission and the costs of this product take the whole premium; ask Parapet's operators.")
	}
	priced, err = asked.Price(terms.CommissionShare, cache)
	if err != nil {
		return nil, priced, translatePriceError(err)
	}
	expires, err := trigger.AddDuration(tx.Now, p.Document().Times.QuoteValidity)
	if err != nil {
		return nil, priced, fmt.Errorf("validity of %s: %w", p.Key(), err)
	}
	row = &QuoteRow{
		RowHeader:      tx.NewHeader(tx.Actor.Partner),
		PartnerFields:  store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata},
		Status:         QuotePriced,
		Product:        p.Key(),
		ProductVersion: p.Version(),
		Context:        priced.Context,
		IgnoredContext: append([]string{}, priced.Ignored...), // an empty array, not null
		Cover:          priced.Cover,
		TermsHash:      priced.TermsHash,
		Price:          priced.Price,
		Basis:          priced.Basis,
		History:        priced.History,
		PremiumAmount:  priced.Price.Premium.Amount,
		Currency:       priced.Price.Premium.Currency,
		ExpiresAt:      expires,
	}
	return row, priced, nil
}

// requireLimit returns validation_failed when a cover is larger than the partner may sell.
func requireLimit(terms wire.PartnerTerms, limit money.Money) error {
	for _, most := range terms.MaximumLimits {
		if most.Currency == limit.Currency && limit.Amount > most.Amount {
			return apperr.Invalid(apperr.NewFieldError("/context/limit", "maximum", fmt.Sprintf("The largest limit that you may sell is %s.", most)))
		}
	}
	return nil
}

// quoteView is a quote with the members of its record that depend on the present time.
type quoteView struct {
	QuoteRow `bun:",extend"`

	AskedAt   time.Time                `bun:",scanonly"`
	Moratoria []capacity.MoratoriumRow `bun:"type:json,scanonly"` // active moratoria, for a quote that can be bound
}

func (*quoteView) SelectJoined(q *bun.SelectQuery, _ func(string) bool) *bun.SelectQuery {
	return q.ColumnExpr(store.BusinessNowSQL+" as asked_at").ColumnExpr("case when q.status = ? then (select json_agg(r) from ("+
		capacity.ActiveMoratoriaSQL(q.DB())+") as r) end as moratoria", QuotePriced)
}

var quotes = &store.Collection[quoteView, wire.Quote]{
	Resource: store.ResourceQuote, Plural: "quotes", RequiredScope: store.FixedScope(actor.ScopeQuotesRead), Statuses: store.StatusesOf(QuoteTransitions), Index: store.IndexByStatusAndProduct,
	ToRecord: func(r *quoteView) wire.Quote { return *r.ToRecordAt(r.AskedAt, r.Moratoria) },
}

// Get returns one quote. Errors: not_found.
func (s *Service) Get(ctx context.Context, actor actor.Actor, id string) (*wire.Quote, error) {
	return quotes.Get(ctx, s.Store, actor, id)
}

// ByID returns the quotes with these ids and omits unknown ids.
func (s *Service) ByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Quote, error) {
	return quotes.GetMany(ctx, s.Store, actor, ids)
}

// List lists quotes, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) List(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.Quote], error) {
	return quotes.List(ctx, s.Store, actor, f, in)
}

// ToRecord returns the v1 record of a quote.
func (r *QuoteRow) ToRecord() *wire.Quote {
	return &wire.Quote{
		QuoteHead: wire.QuoteHead{
			Header: r.ToHeader(store.ResourceQuote), References: r.ToReferences(),
			Product: r.Product, ProductVersion: r.ProductVersion, Status: string(r.Status),
			Context: r.Context, IgnoredContext: r.IgnoredContext,
		},
		QuoteTerms:   wire.QuoteTerms{Cover: r.Cover, TermsHash: r.TermsHash},
		QuotePricing: wire.QuotePricing{Price: r.Price, Basis: r.Basis, History: r.History},
		QuoteTail:    wire.QuoteTail{ExpiresAt: r.ExpiresAt, PolicyID: store.ResourcePolicy.FormatOptionalID(r.PolicyID)},
	}
}

// checkContextPartner refuses a context that names another partner. The schema check
// reports a missing or malformed name.
func checkContextPartner(actor actor.Actor, context jsontext.Value) error {
	var named struct {
		Partner any `json:"partner"`
	}
	if err := json.Unmarshal(context, &named, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil //nolint:nilerr // not an object: the product check reports it, with a pointer
	}
	if name, ok := named.Partner.(string); ok && name != actor.Partner {
		e := apperr.Fail(apperr.CodePartnerMismatch, "context.partner must be the partner the token is for: %q.", actor.Partner)
		e.Fields = []apperr.FieldError{{Pointer: "/context/partner", Code: "mismatch", Detail: fmt.Sprintf("Use %q.", actor.Partner)}}
		return e
	}
	return nil
}

func translatePriceError(err error) error {
	var invalid *product.ContextError
	if errors.As(err, &invalid) {
		v := new(apperr.Validator)
		for _, f := range invalid.Fields {
			v.Unparsed = append(v.Unparsed, apperr.NewFieldError(f.Pointer, f.Code, f.Detail))
		}
		return v.Err()
	}
	var uninsurable *pricing.UninsurableError
	if errors.As(err, &uninsurable) {
		e := apperr.Fail(apperr.CodeRiskUninsurable, "The premium would be %s of the limit, more than the %s this product insures; %s.", uninsurable.RateOnLine, uninsurable.Maximum, uninsurable.Suggestion())
		e.Extra = map[string]any{"rate_on_line": uninsurable.RateOnLine.String(), "maximum_rate_on_line": uninsurable.Maximum.String(), "premium": uninsurable.Premium}
		return e
	}
	return fmt.Errorf("price: %w", err)
}

// ToRecordAt returns a quote's record at a time. While the quote can be bound, it shows
// the moratorium that would reject the bind.
func (r *QuoteRow) ToRecordAt(now time.Time, all []capacity.MoratoriumRow) *wire.Quote {
	quote := r.ToRecord()
	if r.Status == QuotePriced {
		starts := now
		if r.Cover.StartsAt != nil {
			starts = *r.Cover.StartsAt
		}
		quote.Moratorium = capacity.FindActiveMoratorium(all, r.Cover, starts)
	}
	return quote
}
