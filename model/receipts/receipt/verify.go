package receipt

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// Verify checks the signature of a receipt and computes every computed member again. What
// needs data that is missing is in NotChecked. The error says why the receipt proves
// nothing; a right receipt has a report without differences.
func Verify(text []byte, trust Trust, data Data) (*Report, error) {
	signed, err := ParseSigned(text)
	if err != nil {
		return nil, err
	}
	key, err := CheckSignature(signed, trust)
	if err != nil {
		return nil, err
	}
	r, err := VerifyPayload(signed.Payload, data)
	if err != nil {
		return nil, err
	}
	r.KeyID, r.KeyStatus = thumbprintOf(key.X), key.Status
	return r, nil
}

// VerifyPayload is Verify for a payload whose signature is not checked.
func VerifyPayload(payload jsontext.Value, data Data) (*Report, error) {
	var kind struct {
		Type   string `json:"type"`
		Format int    `json:"format"`
	}
	if err := json.Unmarshal(payload, &kind); err != nil {
		return nil, fmt.Errorf("read payload: %w", wire.JSONError(err))
	}
	r := &Report{Type: kind.Type, Differences: []Difference{}, NotChecked: []Remark{}, Decided: []Remark{}}
	switch {
	case kind.Format != Format:
		return nil, fmt.Errorf("the payload has format %d; this release knows %d: use a newer one", kind.Format, Format)
	case kind.Type == TypeQuote:
		return r, r.verifyQuote(payload, data.History)
	case kind.Type == TypeClaim:
		return r, r.verifyClaim(payload, data)
	}
	return nil, fmt.Errorf("the payload has the type %q; known are quote and claim", kind.Type)
}

// parsePayload reads a payload strictly, so that no member is left unverified.
func parsePayload(payload jsontext.Value, into any) error {
	if err := json.Unmarshal(payload, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("read payload: %w", wire.JSONError(err))
	}
	return nil
}

func (r *Report) verifyQuote(payload jsontext.Value, history *hazard.History) error {
	var q QuotePayload
	if err := parsePayload(payload, &q); err != nil {
		return err
	}
	r.ID = q.QuoteID
	cover, err := r.verifyTerms(&q.Head)
	if err != nil {
		return err
	}
	past := r.verifyPrice(&q.Head, cover, history)
	switch {
	case past != nil:
		r.compare("/history", q.History, past)
	default:
		r.notChecked("/history", "it follows from the history alone")
	}
	r.verifyEvents("/events", q.Events)
	return nil
}

func (r *Report) notChecked(pointer, reason string) {
	r.NotChecked = append(r.NotChecked, Remark{pointer, reason})
}

// verifyTerms checks terms_hash and returns the cover.
func (r *Report) verifyTerms(h *Head) (trigger.Cover, error) {
	var cover trigger.Cover
	if err := json.Unmarshal(h.Cover, &cover); err != nil {
		return cover, fmt.Errorf("read cover: %w", err)
	}
	if err := cover.Validate(); err != nil {
		return cover, fmt.Errorf("these are no terms: %w", err)
	}
	hash, err := TermsHash(h.Product, h.ProductVersion, h.Cover)
	if err != nil {
		return cover, err
	}
	r.compare("/terms_hash", h.TermsHash, hash)
	return cover, nil
}

// verifyPrice computes the price from the basis and, if the history of its digest is
// there, the basis from the history. It returns what would have paid, nil without history.
func (r *Report) verifyPrice(h *Head, cover trigger.Cover, history *hazard.History) []pricing.PastEvent {
	compute, known := priceVersions[h.Basis.Formula]
	if !known {
		r.notChecked("/price", fmt.Sprintf("this release does not have formula %d", h.Basis.Formula))
		return nil
	}
	price, basis, err := compute(cover, h.Basis, h.QuotedAt)
	if err != nil {
		r.Differences = append(r.Differences, Difference{Pointer: "/basis", Stated: "a basis", Computed: err.Error()})
		return nil
	}
	r.compare("/price", h.Price, price)
	if history == nil {
		r.compare("/basis", h.Basis, basis)
		r.notChecked("/basis", "its sums and counts follow from the history with the digest "+h.Basis.DatasetDigest)
		return nil
	}
	_, whole, past, err := pricing.Reprice(cover, h.Basis, history, h.QuotedAt)
	var other *pricing.OtherBasis
	switch {
	case errors.As(err, &other):
		r.compare("/basis", h.Basis, basis)
		r.notChecked("/basis", other.Error())
		return nil
	case err != nil:
		r.Differences = append(r.Differences, Difference{Pointer: "/basis", Stated: "a basis", Computed: err.Error()})
		return nil
	}
	r.compare("/basis", h.Basis, whole)
	return past
}

// verifyEvents computes the hash of every event from the hash before it.
func (r *Report) verifyEvents(pointer string, events []EventLink) {
	for i, e := range events {
		r.compare(fmt.Sprintf("%s/%d/hash", pointer, i), e.Hash, e.chainHash())
	}
}

// chainHash returns the hash that an event must have: the SHA-256 of six lines.
func (e *EventLink) chainHash() string {
	lines := fmt.Sprintf("%s\n%d\n%s\n%s\n%s\n%s", e.PreviousHash, e.Sequence, e.ID, e.Type, e.OccurredAt.UTC().Format(trigger.TimeFormat), e.DataHash)
	return Digest([]byte(lines))[len("sha256:"):]
}

// sameTime compares instants as records show them.
func (r *Report) sameTime(pointer string, stated, computed time.Time) {
	r.compare(pointer, stated, computed)
}
