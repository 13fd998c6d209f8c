package rest

import (
	"context"
	"net/http"
)

// receiptKeysPath is the address of the public keys of receipts.
const receiptKeysPath = "/.well-known/parapet-receipt-keys.json"

func (s *server) getReceiptKeys(_ context.Context, c *requestContext) error {
	return c.writeRecord(http.StatusOK, s.Service.Receipts.PublicKeys())
}
