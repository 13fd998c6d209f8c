package underwriting

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/money"
	"parapet/model/quoting"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/pricing"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

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
	v.RequireReferences(in.PartnerReference, in.Metadata)
	quoting.RequirePerson(v, in.Policyholder, "/policyholder")
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, err := store.ResourceQuote.ParseID(in.QuoteID)
	if err != nil {
		return nil, err
	}
	var policy *wire.Policy
	var read bindRead
	err = s.InBindTx(ctx, caller, func(tx *store.Tx) { read.queue(tx, id) }, func(ctx context.Context, u store.BindTx) error {
		if err := read.lock(ctx, u.Tx, id); err != nil {
			return err
		}
		if err := checkBindable(ctx, u.Tx, &read.quote.QuoteRow); err != nil {
			return err
		}
		row, err := insertPolicy(ctx, u, &read, in)
		if err != nil {
			return err
		}
		if policy, err = recordBind(u.Tx, &read.quote.QuoteRow, row); err != nil {
			return err
		}
		return u.StoreResponse(store.StatusCreated, policy.ID, policy)
	})
	return policy, s.AddReferenceHolder(ctx, caller, err, store.ResourcePolicy, (*policyKeyRow)(nil), in.PartnerReference)
}

// bindRead is what a bind reads before it writes.
type bindRead struct {
	quote     *quoting.BindableQuote
	locked    bool // the quote
	moratoria []capacity.MoratoriumRow
}

// queue queues the reads, which are sent with the beginning of the transaction.
func (r *bindRead) queue(tx *store.Tx, id uuid.UUID) {
	r.quote = new(quoting.BindableQuote)
	tx.QueueLock(r.quote, id, &r.locked)
	capacity.QueueMoratoria(tx, &r.moratoria)
}

// lock waits for another transaction that holds the quote, and reads again afterwards: a
// capacity or a moratorium may have been set meanwhile.
func (r *bindRead) lock(ctx context.Context, tx *store.Tx, id uuid.UUID) error {
	if r.locked {
		return nil
	}
	if err := tx.LockRow(ctx, r.quote, id, store.ResourceQuote); err != nil {
		return err
	}
	r.queue(tx, id)
	return tx.Flush(ctx)
}

func checkBindable(ctx context.Context, tx *store.Tx, quote *quoting.QuoteRow) error {
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
	case starts == nil && !quote.Basis.IsPricedFor(tx.Now):
		return checkPriceToday(ctx, tx, quote)
	default:
		return nil
	}
}

// checkPriceToday returns quote_expired if cover that starts now costs more than the quote
// says, or is not sold: the quote priced the season of an earlier day.
func checkPriceToday(ctx context.Context, tx *store.Tx, quote *quoting.QuoteRow) error {
	if err := tx.LeaveGroup(); err != nil { // the history may be read from the database
		return err
	}
	if err := quote.Unpack(); err != nil { // with the whole basis
		return err
	}
	history, err := catalog.LoadHistoryOf(ctx, tx.Store, quote.Basis.DatasetDigest)
	if err != nil {
		return err
	}
	today, _, _, err := pricing.Reprice(quote.Cover, quote.Basis, history, tx.Now)
	if err == nil && today.Premium.Amount <= quote.PremiumAmount {
		return nil
	}
	return apperr.Fail(apperr.CodeQuoteExpired, "This price is for cover that starts on %s (UTC), and cover that starts today costs more or is not sold; ask for a new quote. A quote with starts_at keeps its price.",
		quote.CreatedAt.UTC().Format(time.DateOnly)).WithCause(err)
}

// insertPolicy queues the insert of a quote's policy, after the rules that may forbid it.
func insertPolicy(ctx context.Context, u store.BindTx, read *bindRead, in BindRequest) (*PolicyRow, error) {
	quote := &read.quote.QuoteRow
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
	if m := capacity.FindActiveMoratorium(read.moratoria, row.Cover, row.EffectiveAt); m != nil {
		return nil, apperr.Fail(apperr.CodeMoratoriumActive, "No cover that starts before %s is sold at this place: %s", m.EndsAt.Format(time.RFC3339), m.Reason)
	}
	u.QueueInsert(row)
	if !read.quote.Limited { // a bind needs no check
		return row, nil
	}
	if err := u.LeaveGroup(); err != nil { // it waits for other binds
		return nil, err
	}
	capacity.QueueCapacityCheck(u.Tx, capacity.Use{Product: row.Product, Limit: money.New(row.LimitAmount, row.Currency), Footprint: row.Footprint, Station: row.Station})
	return row, u.Flush(ctx) // before the commit, which is too late to refuse
}

// recordBind changes the quote's status and records the events of quote and policy,
// cause before effect.
func recordBind(tx *store.Tx, quote *quoting.QuoteRow, row *PolicyRow) (*wire.Policy, error) {
	occurred, err := quote.QueueBind(tx, row.ID)
	if err != nil {
		return nil, err
	}
	if err := quote.AppendEvent(tx, occurred); err != nil {
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
