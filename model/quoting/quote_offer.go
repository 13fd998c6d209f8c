package quoting

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/store"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// offerMigration is the number of the migration since which every release reads offers.
const offerMigration = 43

// quoteOffer is the content of a quote's column offer: the large members of its record,
// which never change. Stored together and compressed they take a quarter of the bytes.
type quoteOffer struct {
	Cover   trigger.Cover       `json:"cover"`
	Price   pricing.Price       `json:"price"`
	Basis   pricing.Basis       `json:"basis"`
	History []pricing.PastEvent `json:"history"`
}

// packOffer moves the members of an offer from the encoded record to the column offer,
// unless an older release may read the row.
func packOffer(ctx context.Context, tx *store.Tx, row *QuoteRow, written map[string]jsontext.Value) error {
	known, err := store.AllReleasesKnow(ctx, tx, offerMigration)
	if err != nil || !known {
		return err
	}
	text := []byte{'{'}
	for i, member := range []string{"cover", "price", "basis", "history"} {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", member, written[member])
		written[member] = nil // null
	}
	text = append(text, '}')
	row.Offer = compress.Compress(text)
	return nil
}

// Unpack implements rowscan.Packed.
func (r *QuoteRow) Unpack() error {
	if r.Offer == nil {
		return nil
	}
	var offer quoteOffer
	if err := wire.Decode(r.Offer, &offer); err != nil {
		return fmt.Errorf("read the offer of a quote: %w", err)
	}
	r.Cover, r.Price, r.Basis, r.History = offer.Cover, offer.Price, offer.Basis, offer.History
	return nil
}

// AfterScanRow implements bun's hook.
func (r *QuoteRow) AfterScanRow(context.Context) error { return r.Unpack() }
