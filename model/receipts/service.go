package receipts

import (
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// Service signs receipts. It may be used concurrently.
type Service struct {
	*store.Store

	keys receipt.Keys
}

// New returns the operations on a database. Without an active key, receipts are
// unavailable.
func New(s *store.Store, keys receipt.Keys) *Service { return &Service{Store: s, keys: keys} }

// PublicKeys returns the keys that verify receipts.
func (s *Service) PublicKeys() wire.ReceiptKeySet { return s.keys.Public() }
