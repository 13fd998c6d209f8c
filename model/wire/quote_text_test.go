package wire_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/wire"
)

// A quote that is encoded from its parts has the bytes of the whole record.
func TestPartsOfAQuoteAreItsText(t *testing.T) {
	t.Parallel()
	quotes := recordOf[wire.Quote]()
	rapid.Check(t, func(t *rapid.T) {
		quote := quotes.draw(t).(*wire.Quote)
		want, err := wire.Encode(quote)
		require.NoError(t, err)
		terms, err := wire.EncodeMembers(&quote.QuoteTerms)
		require.NoError(t, err)
		pricing, err := wire.EncodeMembers(&quote.QuotePricing)
		require.NoError(t, err)
		head, at, err := wire.EncodeQuoteOnce(quote, terms, pricing)
		require.NoError(t, err)
		text, err := wire.Encode(quote)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))
		require.Equal(t, string(pricing), string(text[at:at+len(pricing)]))
		require.Equal(t, string(terms), string(text[at-1-len(terms):at-1]), "a comma is between them")
		var members map[string]jsontext.Value
		require.NoError(t, wire.Decode(want, &members))
		inHead, err := wire.SplitMembers(head)
		require.NoError(t, err)
		for name, value := range inHead {
			require.Equal(t, string(members[name]), string(value), name)
		}
		require.Len(t, inHead, 13)
	})
}

func TestQuoteThatCannotBeEncodedKeepsNoText(t *testing.T) {
	t.Parallel()
	quote := &wire.Quote{QuoteHead: wire.QuoteHead{Context: jsontext.Value("{")}}
	_, _, err := wire.EncodeQuoteOnce(quote, []byte(`"cover":1`), []byte(`"price":1`))
	require.Error(t, err)
	quote.Context = jsontext.Value("{}")
	text, err := wire.Encode(quote)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"cover":1`)
	_, err = wire.EncodeMembers(wire.Message{Body: "\xff"})
	require.Error(t, err)
	quote.Moratorium = &wire.QuoteMoratorium{Reason: "\xff"}
	_, _, err = wire.EncodeQuoteOnce(quote, nil, nil)
	require.Error(t, err)
}
