package receipts

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// Quote returns the receipt of a quote: its terms, price, basis and history. Errors:
// not_found, unavailable.
func (s *Service) Quote(ctx context.Context, caller actor.Actor, id string) (*wire.Receipt, error) {
	row := new(quoting.QuoteRow)
	if err := s.LoadRecord(ctx, caller, actor.ScopeQuotesRead, store.ResourceQuote, id, row); err != nil {
		return nil, err
	}
	head, err := newHead(receipt.TypeQuote, row, row.Cover)
	if err != nil {
		return nil, err
	}
	var created []uuid.UUID
	err = s.DB.NewRaw("select id from events where subject_id = ? and partner = ? and type = ?", row.ID, row.Partner, event.QuoteCreated).Scan(ctx, &created)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("find event: %w", err))
	}
	links, err := s.loadLinks(ctx, row.Partner, created)
	if err != nil {
		return nil, err
	}
	return s.sign(receipt.QuotePayload{Head: head, History: row.History, Events: linksOf(links, created)})
}

// newHead returns the members of every payload. The cover is the quote's or the policy's,
// which are the same terms.
func newHead(kind string, q *quoting.QuoteRow, cover trigger.Cover) (receipt.Head, error) {
	terms, err := receipt.Canonical(cover)
	return receipt.Head{
		Type: kind, Format: receipt.Format, Partner: q.Partner, QuoteID: store.ResourceQuote.FormatID(q.ID), QuotedAt: q.CreatedAt,
		Product: q.Product, ProductVersion: q.ProductVersion, Cover: terms, TermsHash: q.TermsHash, Price: q.Price, Basis: q.Basis,
	}, err
}

// sign signs a payload.
func (s *Service) sign(payload any) (*wire.Receipt, error) {
	if !s.keys.CanSign() {
		return nil, apperr.Fail(apperr.CodeUnavailable, "This server has no key that signs receipts yet. Ask its operators to set PARAPET_RECEIPT_KEYS.")
	}
	return s.keys.Sign(payload)
}
