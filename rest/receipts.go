package rest

import (
	"context"
	"math"
	"net/http"

	"parapet/model/wire"
)

// receiptKeysPath is the address of the public keys of receipts.
const receiptKeysPath = "/.well-known/parapet-receipt-keys.json"

func (s *server) getReceiptKeys(_ context.Context, c *requestContext) error {
	return c.writeRecord(http.StatusOK, s.Service.Receipts.PublicKeys())
}

func (s *server) getQuoteReceipt(ctx context.Context, c *requestContext) (*wire.Receipt, error) {
	return s.Service.Receipts.Quote(ctx, c.actor, c.pathParam("quote_id"))
}

func (s *server) getClaimReceipt(ctx context.Context, c *requestContext) (*wire.Receipt, error) {
	var part *int
	if c.query.Has("part") {
		part = new(int(min(c.query.integerParam("part"), math.MaxInt32)))
	}
	if err := c.query.err(); err != nil {
		return nil, err
	}
	return s.Service.Receipts.Claim(ctx, c.actor, c.pathParam("claim_id"), part)
}
