package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/product"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// quoteRow is a priced offer. What it shows was computed once and is kept as it
// was said.
type quoteRow struct {
	bun.BaseModel `bun:"table:quotes,alias:q"`
	header
	references

	Status         QuoteStatus
	Product        string
	ProductVersion int
	Context        jsontext.Value `bun:"type:json"`
	IgnoredContext []string       `bun:",array"`
	Cover          trigger.Cover  `bun:"type:json"`
	TermsHash      string
	Price          pricing.Price  `bun:"type:json"`
	Basis          pricing.Basis  `bun:"type:json"`
	History        []pricing.Past `bun:"type:json"`
	PremiumAmount  int64
	Currency       string
	ExpiresAt      time.Time
	PolicyID       *uuid.UUID `bun:"type:uuid"`
}

// QuoteRequest asks for a price.
type QuoteRequest struct {
	Product          string
	Context          jsontext.Value // a JSON object
	PartnerReference *string
	Metadata         map[string]string
}

// CreateQuote prices cover. Errors: product_unknown, validation_failed with
// every wrong member of the context, partner_mismatch, risk_uninsurable,
// reference_taken.
func (s *Service) CreateQuote(ctx context.Context, actor Actor, in QuoteRequest) (*wire.Quote, error) {
	if err := s.authorize(ctx, actor, ScopeQuotesWrite); err != nil {
		return nil, err
	}
	p, err := s.requested(ctx, actor, in)
	if err != nil {
		return nil, err
	}
	var quote *wire.Quote
	var moratoria []moratoriumRow
	err = s.changeAsking(ctx, actor, func(u *unit) { u.readMoratoria(&moratoria) }, func(_ context.Context, u *unit) error {
		// Priced in here, so that a repeated request has its first answer although its
		// cover could not start any more, and so that the clock is read once.
		row, err := u.price(p, in)
		if err != nil {
			return err
		}
		quote = row.offered(u.now, moratoria)
		written, err := wire.Keep(quote)
		if err != nil {
			return err
		}
		u.insertWritten(row, written)
		if _, err := u.record(EventQuoteCreated, &row.header, nounQuote, quote); err != nil {
			return err
		}
		return u.answered(statusCreated, quote.ID, quote)
	})
	return quote, s.naming(ctx, actor, err, nounQuote, (*quoteRow)(nil), in.PartnerReference)
}

// requested finds the product and judges what is beside the context. Where that
// is wrong, the context is judged with it, as far as it and its product are known.
// A product that is unknown has a code of its own when nothing else is wrong.
func (s *Service) requested(ctx context.Context, actor Actor, in QuoteRequest) (*product.Product, error) {
	c := checking(ctx)
	if c.readable("/context") {
		if err := ownContext(actor, in.Context); err != nil {
			return nil, err
		}
	}
	c.references(in.PartnerReference, in.Metadata)
	if !c.readable("/product") {
		return nil, c.refusal()
	}
	p, err := s.latestProduct(ctx, in.Product)
	switch unknown := (*Error)(nil); {
	case errors.As(err, &unknown) && unknown.Code == CodeProductUnknown && len(c.all()) > 0:
		c.fields = append(c.fields, unknown.Fields...)
		return nil, c.refusal()
	case err != nil:
		return nil, err
	}
	if len(c.all()) > 0 && c.readable("/context") {
		now, err := s.now(ctx)
		if err != nil {
			return nil, explain(fmt.Errorf("read clock: %w", err))
		}
		c.context(p, in.Context, now, s.history)
	}
	return p, c.refusal()
}

// context judges the context by its product, and the policyholder in it by the
// rule of policies.
func (c *fieldCheck) context(p *product.Product, given jsontext.Value, now time.Time, h *hazard.History) *product.Request {
	asked, err := p.Read(given, now, h)
	if faulty := (*product.ContextError)(nil); errors.As(err, &faulty) {
		for _, f := range faulty.Fields {
			c.unread = append(c.unread, wrong(f.Pointer, f.Code, f.Detail))
		}
	}
	c.person(holderOf(asked.Policyholder), "/context/policyholder")
	return asked
}

func (u *unit) price(p *product.Product, in QuoteRequest) (*quoteRow, error) {
	c := new(fieldCheck)
	asked := c.context(p, in.Context, u.now, u.svc.history)
	if err := c.refusal(); err != nil {
		return nil, err
	}
	priced, err := asked.Price()
	if err != nil {
		return nil, explainPrice(err)
	}
	expires, err := trigger.AddDuration(u.now, p.Document().Times.QuoteValidity)
	if err != nil {
		return nil, fmt.Errorf("validity of %s: %w", p.Key(), err)
	}
	row := &quoteRow{
		header:         u.fresh(u.actor.Partner),
		references:     references{in.PartnerReference, in.Metadata},
		Status:         QuotePriced,
		Product:        p.Key(),
		ProductVersion: p.Version(),
		Context:        priced.Context,
		IgnoredContext: append([]string{}, priced.Ignored...), // an empty array, not null
		Cover:          priced.Cover,
		TermsHash:      trigger.TermsHash(p.Key(), p.Version(), priced.Cover),
		Price:          priced.Price,
		Basis:          priced.Basis,
		History:        priced.History,
		PremiumAmount:  priced.Price.Premium.Amount,
		Currency:       priced.Price.Premium.Currency,
		ExpiresAt:      expires,
	}
	return row, nil
}

// quoteView is a quote with what its record tells of this moment.
type quoteView struct {
	quoteRow `bun:",extend"`

	AskedAt   time.Time       `bun:",scanonly"`
	Moratoria []moratoriumRow `bun:"type:json,scanonly"` // that stand, of a quote that can be bound
}

func (*quoteView) view(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(businessNow+" as asked_at").ColumnExpr("case when q.status = ? then (select json_agg(r) from (select ? from moratoria as mo where "+
		standing("("+transactionNow+")")+") as r) end as moratoria", QuotePriced, inGo(q.DB(), (*moratoriumRow)(nil)))
}

var quotes = &shelf[quoteView, wire.Quote]{
	kind: nounQuote, plural: "quotes", scope: always(ScopeQuotesRead), statuses: states(QuoteArrows), index: byStatusAndProduct,
	public: func(r *quoteView) wire.Quote { return *r.offered(r.AskedAt, r.Moratoria) },
}

// GetQuote is one quote. Errors: not_found.
func (s *Service) GetQuote(ctx context.Context, actor Actor, id string) (*wire.Quote, error) {
	return quotes.get(ctx, s, actor, id)
}

// QuotesByID are those quotes of the ids that there are.
func (s *Service) QuotesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Quote, error) {
	return quotes.named(ctx, s, actor, ids)
}

// ListQuotes are quotes, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListQuotes(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Quote], error) {
	return quotes.list(ctx, s, actor, f, in)
}

func (r *quoteRow) public() *wire.Quote {
	return &wire.Quote{
		Header: r.header.public(nounQuote), References: r.own(),
		Product: r.Product, ProductVersion: r.ProductVersion, Status: string(r.Status),
		Context: r.Context, IgnoredContext: r.IgnoredContext, Cover: r.Cover, TermsHash: r.TermsHash,
		Price: r.Price, Basis: r.Basis, History: r.History,
		ExpiresAt: r.ExpiresAt, PolicyID: nounPolicy.optional(r.PolicyID),
	}
}

func holderOf(p *product.Policyholder) *wire.Person {
	if p == nil {
		return nil
	}
	return &wire.Person{Name: &p.Name, Email: textOrNil(p.Email), Country: textOrNil(p.Country)}
}

// ownContext refuses a context that names another partner. A missing or wrong
// name is the schema's matter.
func ownContext(actor Actor, context jsontext.Value) error {
	var named struct {
		Partner any `json:"partner"`
	}
	if err := json.Unmarshal(context, &named, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil //nolint:nilerr // not an object: the product says so, with a pointer
	}
	if name, ok := named.Partner.(string); ok && name != actor.Partner {
		e := Fail(CodePartnerMismatch, "context.partner must be the partner the token is for: %q.", actor.Partner)
		e.Fields = []FieldError{{Pointer: "/context/partner", Code: "mismatch", Detail: fmt.Sprintf("Use %q.", actor.Partner)}}
		return e
	}
	return nil
}

func explainPrice(err error) error {
	var told *product.ContextError
	if errors.As(err, &told) {
		c := new(fieldCheck)
		for _, f := range told.Fields {
			c.unread = append(c.unread, wrong(f.Pointer, f.Code, f.Detail))
		}
		return c.refusal()
	}
	var dear *pricing.Uninsurable
	if errors.As(err, &dear) {
		e := Fail(CodeRiskUninsurable, "The premium would be %s of the limit, more than the %s this product insures; %s.", dear.RateOnLine, dear.Maximum, dear.Suggestion())
		e.Extra = map[string]any{"rate_on_line": dear.RateOnLine.String(), "maximum_rate_on_line": dear.Maximum.String(), "premium": dear.Premium}
		return e
	}
	return fmt.Errorf("price: %w", err)
}
