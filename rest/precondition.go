package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"parapet/model"
	"parapet/model/wire"
)

// entityTag is a strong ETag: a digest of the representation, embedded records
// included.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// known tells whether If-None-Match names the tag, by the weak comparison that
// RFC 9110 section 13.1.2 asks for.
func known(headers []string, tag string) bool {
	return tagged(headers, func(candidate string) bool { return strings.TrimPrefix(candidate, "W/") == tag })
}

// tagged tells whether a header's list of tags has one that fits, or is *.
func tagged(headers []string, fits func(candidate string) bool) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			if candidate = strings.TrimSpace(candidate); candidate == "*" || fits(candidate) {
				return true
			}
		}
	}
	return false
}

// matched has a write refused whose If-Match does not name the version that its
// record has then, by the strong comparison of RFC 9110 section 13.1.1. A write
// that is about no record fulfils * only: what cannot be checked must not pass
// for checked.
func (c *call) matched(in any) error {
	given := c.request.Header.Values("If-Match")
	if len(given) == 0 || tagged(given, func(string) bool { return false }) {
		return nil
	}
	if c.route.held == nil {
		return model.Fail(model.CodeVersionMismatch, "A write to this address is about no earlier record, so no If-Match but * can be fulfilled.")
	}
	id := c.route.held(c, in)
	if id == "" {
		return nil // the request lacks the record it is about, which the domain says better
	}
	c.actor.Condition = &model.Condition{ID: id, Holds: func(record any) error { return named(given, record) }}
	return nil
}

// named tells whether If-Match has the tag of the record.
func named(given []string, record any) error {
	body, err := wire.Encode(record)
	if err != nil {
		return fmt.Errorf("encode for If-Match: %w", err)
	}
	tag := entityTag(body)
	if tagged(given, func(candidate string) bool { return candidate == tag }) {
		return nil
	}
	return model.Fail(model.CodeVersionMismatch, "The record has another version than If-Match names; read it again and decide anew.")
}

// heldClaim is the claim of the path.
func heldClaim(c *call, _ any) string { return c.path("claim_id") }

// heldEndpoint is the webhook endpoint of the path.
func heldEndpoint(c *call, _ any) string { return c.path("endpoint_id") }

// heldQuote is the quote that is bound.
func heldQuote(_ *call, in any) string { return in.(bindRequest).QuoteID }

// heldPolicy is the policy that is asked to pay.
func heldPolicy(_ *call, in any) string { return in.(claimRequest).PolicyID }

// heldPolicyInPath is the policy that is changed.
func heldPolicyInPath(c *call, _ any) string { return c.path("policy_id") }

// heldPayee is the claim or the policy that a payout method serves.
func heldPayee(_ *call, in any) string {
	request := in.(payoutMethodRequest)
	for _, id := range []*string{request.ClaimID, request.PolicyID} {
		if id != nil {
			return *id
		}
	}
	return ""
}
