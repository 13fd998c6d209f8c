package quoting

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/uptrace/bun"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// offerMigration is the number of the migration since which every release reads offers and
// their frames.
const offerMigration = 47

// quoteOffer is the content of a quote's column offer: the large members of its record,
// which never change. Stored together and compressed they take a quarter of the bytes.
type quoteOffer struct {
	Cover trigger.Cover `json:"cover"`
	wire.QuotePricing
}

// encodedOffer is an offer as it is written to the quote's row and events.
type encodedOffer struct {
	terms   []byte // the members of wire.QuoteTerms
	pricing []byte // the members of wire.QuotePricing
	frame   []byte // pricing compressed, which row and events have in common
	stored  []byte // the column offer
}

// closeObject is the last frame of a stored offer.
var closeObject = sync.OnceValue(func() []byte { return compress.Frame([]byte("}")) })

// encodeOffer encodes and compresses the offer of a quote. The stored offer has three
// frames: the cover, the members of wire.QuotePricing, and the end of the object.
func encodeOffer(quote *wire.Quote) (*encodedOffer, error) {
	cover, err := wire.Encode(quote.Cover)
	if err != nil {
		return nil, err
	}
	priced, err := wire.EncodeMembers(&quote.QuotePricing)
	if err != nil {
		return nil, err
	}
	begin := slices.Concat([]byte(`{"cover":`), cover, []byte(","))
	frame := compress.Frame(priced)
	return &encodedOffer{
		terms: encodeTerms(begin, quote.TermsHash), pricing: priced, frame: frame,
		stored: slices.Concat(compress.Frame(begin), frame, closeObject()),
	}, nil
}

// encodeTerms returns the members of wire.QuoteTerms. The beginning of an offer is its
// cover.
func encodeTerms(begin []byte, hash string) []byte {
	return fmt.Appendf(slices.Clip(begin[1:]), `"terms_hash":%q`, hash)
}

// insertQuote queues the insert of a new quote and its event. Quotes of one cover and price
// have the same encoded offer. If an older release may read the row, the offer is in columns
// of its own.
func insertQuote(ctx context.Context, tx *store.Tx, row *QuoteRow, quote *wire.Quote, priced *atomic.Value) error {
	known, err := store.AllReleasesKnow(ctx, tx, offerMigration)
	if err != nil {
		return err
	}
	if !known {
		text, err := wire.EncodeOnce(quote)
		if err != nil {
			return err
		}
		members, err := wire.SplitMembers(text)
		if err != nil {
			return err
		}
		tx.QueueInsertEncoded(row, members)
		_, err = tx.AppendEvent(event.QuoteCreated, &row.RowHeader, store.ResourceQuote, quote)
		return err
	}
	offer, encoded := priced.Load().(*encodedOffer)
	if !encoded {
		if offer, err = encodeOffer(quote); err != nil {
			return err
		}
		priced.Store(offer)
	}
	head, err := offer.appendEvent(tx, event.QuoteCreated, row, quote)
	if err != nil {
		return err
	}
	members, err := wire.SplitMembers(head)
	if err != nil {
		return err
	}
	for _, member := range []string{"cover", "price", "basis", "history"} {
		members[member] = nil // null
	}
	row.Offer = offer.stored
	tx.QueueInsertEncoded(row, members)
	return nil
}

// appendEvent encodes the record of a quote with the offer and appends an event about it.
// It returns the text of wire.QuoteHead.
func (o *encodedOffer) appendEvent(tx *store.Tx, kind event.Type, row *QuoteRow, quote *wire.Quote) (head []byte, err error) {
	head, pricingAt, err := wire.EncodeQuoteOnce(quote, o.terms, o.pricing)
	if err != nil {
		return nil, err
	}
	return head, wire.EncodeObject(quote, func(data []byte) error { // encoded already
		from := len(wire.ObjectStart) + pricingAt
		before, after := data[:from], data[from+len(o.pricing):]
		_, err := tx.AppendEventData(kind, &row.RowHeader, store.ResourceQuote, data, compress.Frame(before), o.frame, compress.Frame(after))
		return err
	})
}

// AppendEvent appends an event about a quote with its record. It reuses the stored offer,
// if that has the frames of encodeOffer: one of an older release has none.
func (r *QuoteRow) AppendEvent(tx *store.Tx, kind event.Type) error {
	offer, err := r.splitOffer()
	if err != nil {
		return err
	}
	if offer == nil {
		if err := r.Unpack(); err != nil { // with the history and the whole basis
			return err
		}
		_, err = tx.AppendEvent(kind, &r.RowHeader, store.ResourceQuote, r.ToRecord())
		return err
	}
	_, err = offer.appendEvent(tx, kind, r, r.ToRecord()) // takes basis and history from the offer
	return err
}

// splitOffer returns the parts of a stored offer, or nil if it has not the frames of
// encodeOffer.
func (r *QuoteRow) splitOffer() (*encodedOffer, error) {
	frames, err := compress.Split(r.Offer)
	if err != nil || len(frames) != 3 || !bytes.Equal(frames[2], closeObject()) {
		return nil, err
	}
	begin, err := compress.Decompress(frames[0])
	if err != nil {
		return nil, err
	}
	priced := r.offerText[len(begin) : len(r.offerText)-1]
	return &encodedOffer{terms: encodeTerms(begin, r.TermsHash), pricing: priced, frame: frames[1], stored: r.Offer}, nil
}

// Unpack implements rowscan.Packed.
func (r *QuoteRow) Unpack() error {
	if r.Offer == nil {
		return nil
	}
	var offer quoteOffer
	if err := r.readOffer(&offer); err != nil {
		return err
	}
	r.Cover, r.Price, r.Basis, r.History = offer.Cover, offer.Price, offer.Basis, offer.History
	return nil
}

// AfterScanRow implements bun's hook.
func (r *QuoteRow) AfterScanRow(context.Context) error { return r.Unpack() }

// BindableQuote is a QuoteRow for a bind. Of the offer, it has the cover, the price and the
// season of the basis; QuoteRow.Unpack decodes the rest.
type BindableQuote struct {
	QuoteRow `bun:",extend"`

	Limited bool `bun:",scanonly"` // there is a capacity for its product and currency
}

// SelectColumns is called by store.Tx.LockRow and QueueLock.
func (r *BindableQuote) SelectColumns(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("?TableColumns").
		ColumnExpr("exists (select from capacities c where c.product = ?TableAlias.product and c.currency = ?TableAlias.currency) as limited")
}

// Unpack implements rowscan.Packed.
func (r *BindableQuote) Unpack() error {
	if r.Offer == nil {
		return nil
	}
	var offer struct {
		Cover trigger.Cover `json:"cover"`
		Price pricing.Price `json:"price"`
		Basis struct {
			Season *pricing.Season `json:"season"`
		} `json:"basis"`
	}
	if err := r.readOffer(&offer); err != nil {
		return err
	}
	r.Cover, r.Price, r.Basis = offer.Cover, offer.Price, pricing.Basis{Season: offer.Basis.Season}
	return nil
}

// AfterScanRow implements bun's hook.
func (r *BindableQuote) AfterScanRow(context.Context) error { return r.Unpack() }

// readOffer decodes members of the offer.
func (r *QuoteRow) readOffer(members any) (err error) {
	if r.offerText, err = compress.Decompress(r.Offer); err == nil {
		err = wire.Decode(r.offerText, members)
	}
	if err != nil {
		return fmt.Errorf("read the offer of a quote: %w", err)
	}
	return nil
}
