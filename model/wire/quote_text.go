package wire

import "slices"

// EncodeMembers returns the members of a record as Encode writes them, without the braces
// of the object. The record has at least one member.
func EncodeMembers(record any) ([]byte, error) {
	text, err := marshal(record)
	if err != nil {
		return nil, err
	}
	return text[1 : len(text)-1 : len(text)-1], nil
}

// EncodeQuoteOnce is EncodeOnce for a quote whose QuoteTerms and QuotePricing were encoded
// before, by EncodeMembers. It does not read these parts of the record. It returns the
// text of QuoteHead, and where the members of QuotePricing begin in the text of the record.
func EncodeQuoteOnce(quote *Quote, terms, pricing []byte) (head []byte, pricingAt int, err error) {
	if head, err = marshal(&quote.QuoteHead); err != nil {
		return nil, 0, err
	}
	after, err := marshal(&quote.QuoteTail)
	if err != nil {
		return nil, 0, err
	}
	comma := []byte{','}
	quote.setEncodedText(slices.Concat(head[:len(head)-1], comma, terms, comma, pricing, comma, after[1:]))
	return head, len(head) + len(terms) + 1, nil
}
