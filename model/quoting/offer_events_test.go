package quoting_test

import (
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/compress"
	"parapet/model/modeltest"
	"parapet/model/quoting"
	"parapet/model/quoting/product"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// requireEventTexts checks that the events about quotes have the bytes that the whole
// record is encoded to, that their hash is of these bytes, and that all events of a quote
// have the same offer. It returns how many frames each has.
func requireEventTexts(t *testing.T, b *modeltest.Bundle) (frames []int) {
	t.Helper()
	rows, err := b.DB.Pool.Query(t.Context(), "select data, data_hash from events where subject_type = 'quote' order by occurred_at, id")
	require.NoError(t, err)
	defer rows.Close()
	offers := map[string]wire.QuotePricing{}
	for rows.Next() {
		var stored, hash []byte
		require.NoError(t, rows.Scan(&stored, &hash))
		split, err := compress.Split(stored)
		require.NoError(t, err)
		frames = append(frames, len(split))
		text, err := compress.Decompress(stored)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Equal(t, sum[:], hash)
		var data struct {
			Object wire.Quote `json:"object"`
		}
		require.NoError(t, wire.Decode(text, &data))
		whole, err := wire.Encode(data)
		require.NoError(t, err)
		require.Equal(t, string(whole), string(text))
		id := data.Object.ID
		if first, known := offers[id]; known {
			require.Equal(t, first, data.Object.QuotePricing)
		}
		offers[id] = data.Object.QuotePricing
	}
	require.NoError(t, rows.Err())
	return frames
}

func TestEventsOfQuotesHaveTheTextOfTheRecord(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	for _, p := range product.Shipped() {
		for _, example := range p.Document().Examples {
			var context modeltest.Context
			if example.Context != nil {
				require.NoError(t, wire.Decode(example.Context, &context))
			}
			for range 2 { // computed, and from the cache
				quote, err := b.Service.Quotes.Create(t.Context(), b.Acme, b.QuoteRequest(p.Key(), context))
				if err != nil {
					continue // an example of a refusal
				}
				read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
				require.NoError(t, err)
				want, err := wire.Encode(read)
				require.NoError(t, err)
				text, err := wire.Encode(quote)
				require.NoError(t, err)
				require.Equal(t, string(want), string(text))
			}
		}
	}
	frames := requireEventTexts(t, b)
	require.Greater(t, len(frames), 10)
}

func TestEventsOfABindHaveTheTextOfTheRecord(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	reference := "order \"1\""
	moratorium, err := b.Service.Capacity.DeclareMoratorium(t.Context(), b.Operator, capacity.MoratoriumRequest{EndsAt: b.Now().Add(time.Hour), Reason: "A \"storm\"."})
	require.NoError(t, err)
	quote, err := b.Service.Quotes.Create(t.Context(), b.Acme, quoting.Request{
		Product: "quake-circle", Context: jsontext.Value(`{"partner":"acme","policyholder":{"name":"Lin \u4e00"},"note":"<\u2028>"}`),
		PartnerReference: &reference, Metadata: map[string]string{"b": "1", "a": "é"},
	})
	require.NoError(t, err)
	require.NotNil(t, quote.Moratorium)
	_, err = b.Service.Capacity.LiftMoratorium(t.Context(), b.Operator, moratorium.ID)
	require.NoError(t, err)
	_, err = b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, requireEventTexts(t, b))
}

// Offers of older releases are Zstandard texts of one or three frames.
func TestOffersOfOlderReleasesAreBound(t *testing.T) {
	t.Parallel()
	dictionary, err := os.ReadFile("../kernel/compress/dictionary_1.txt")
	require.NoError(t, err)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(1, dictionary), zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	defer encoder.Close()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	var stored []byte
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select offer from quotes").Scan(&stored))
	frames, err := compress.Split(stored)
	require.NoError(t, err)
	require.Len(t, frames, 3)
	text, err := compress.Decompress(stored)
	require.NoError(t, err)
	var names []string
	var members map[string]jsontext.Value
	require.NoError(t, wire.Decode(text, &members))
	for name := range members {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"cover", "price", "basis", "history"}, names, "older releases read these members")
	for _, parts := range [][][]byte{{text}, {text[:9], text[9 : len(text)-1], text[len(text)-1:]}} {
		var older []byte
		for _, part := range parts {
			older = encoder.EncodeAll(part, older)
		}
		_, err = b.DB.Pool.Exec(t.Context(), "update quotes set offer = $1 where policy_id is null", older)
		require.NoError(t, err)
		require.Equal(t, quote.Cover, b.Bind(quote).Cover)
		quote = b.Quote("quake-circle", nil)
	}
	require.Equal(t, []int{3, 1, 3, 1, 3}, requireEventTexts(t, b))
}
