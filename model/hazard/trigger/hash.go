package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hash returns the digest of all terms of the cover: "sha256:" and the hex SHA-256 of
// its JSON, as the API returns it, in the canonical form of RFC 8785. Anyone with the
// quote can recompute it; rest/hashes.md describes how. It panics on a cover that has
// no JSON (a position that is not a number), which Validate refuses.
func (c Cover) Hash() string { return hashJSON(c) }

// TermsHash returns the Hash of the cover together with its product version: the digest of
// {"cover", "product", "product_version"}.
func TermsHash(product string, version int, c Cover) string {
	return hashJSON(struct {
		Product string `json:"product"`
		Version int    `json:"product_version"`
		Cover   Cover  `json:"cover"`
	}{product, version, c})
}

// TimeFormat is the format of times in the API: UTC with microseconds.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// timeMarshaler writes times as wire.FormatTime does, so that the record of a quote or
// a policy has the bytes that were hashed.
var timeMarshaler = json.WithMarshalers(json.MarshalToFunc(func(out *jsontext.Encoder, at time.Time) error {
	return out.WriteToken(jsontext.String(at.UTC().Format(TimeFormat)))
}))

func hashJSON(terms any) string {
	text, err := json.Marshal(terms, timeMarshaler)
	if err == nil {
		err = (*jsontext.Value)(&text).Canonicalize()
	}
	if err != nil {
		panic(fmt.Errorf("terms without a JSON form: %w", err))
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
