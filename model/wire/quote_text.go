package wire

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

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
// members of QuoteHead, and where those of QuotePricing begin in the text.
func EncodeQuoteOnce(quote *Quote, terms, pricing []byte) (head map[string]jsontext.Value, pricingAt int, err error) {
	before, err := marshal(&quote.QuoteHead)
	if err != nil {
		return nil, 0, err
	}
	after, err := marshal(&quote.QuoteTail)
	if err != nil {
		return nil, 0, err
	}
	if head, err = splitMembers(before); err != nil {
		return nil, 0, err
	}
	comma := []byte{','}
	quote.setEncodedText(slices.Concat(before[:len(before)-1], comma, terms, comma, pricing, comma, after[1:]))
	return head, len(before) + len(terms) + 1, nil
}
