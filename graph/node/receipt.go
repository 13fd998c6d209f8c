package node

import (
	"context"

	"parapet/model/wire"
)

// QuoteReceipt returns the receipt of a quote. Errors: not_found, unavailable.
func (r *Reader) QuoteReceipt(ctx context.Context, quote string) (*wire.Receipt, error) {
	return r.Service.Receipts.Quote(ctx, r.Actor, quote)
}

// ClaimReceipt returns the receipt of a claim's decisions, or of those up to a part.
// Errors: not_found, state_conflict, parameter_invalid, unavailable.
func (r *Reader) ClaimReceipt(ctx context.Context, claim string, part *int) (*wire.Receipt, error) {
	return r.Service.Receipts.Claim(ctx, r.Actor, claim, part)
}
