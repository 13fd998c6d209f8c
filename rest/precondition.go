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

// matchesEntityTag tells whether If-None-Match names the tag, by the weak comparison that
// RFC 9110 section 13.1.2 asks for.
func matchesEntityTag(headers []string, tag string) bool {
	return hasTag(headers, func(candidate string) bool { return strings.TrimPrefix(candidate, "W/") == tag })
}

// hasTag tells whether a header's list of tags has one that fits, or is *.
func hasTag(headers []string, fits func(candidate string) bool) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			if candidate = strings.TrimSpace(candidate); candidate == "*" || fits(candidate) {
				return true
			}
		}
	}
	return false
}

// setMatchCondition makes the write conditional on If-Match (RFC 9110 section 13.1.1,
// strong comparison). A route without matchTarget accepts only If-Match: *.
func (c *requestContext) setMatchCondition(in any) error {
	given := c.request.Header.Values("If-Match")
	if len(given) == 0 || hasTag(given, func(string) bool { return false }) {
		return nil
	}
	if c.route.matchTarget == nil {
		return model.Fail(model.CodeVersionMismatch, "A write to this address is about no earlier record, so no If-Match but * can be fulfilled.")
	}
	id := c.route.matchTarget(c, in)
	if id == "" {
		return nil // the request lacks the record it is about, which the domain says better
	}
	c.actor.Precondition = &model.Precondition{ID: id, Check: func(record any) error { return checkEntityTag(given, record) }}
	return nil
}

// checkEntityTag tells whether If-Match has the tag of the record.
func checkEntityTag(given []string, record any) error {
	body, err := wire.Encode(record)
	if err != nil {
		return fmt.Errorf("encode for If-Match: %w", err)
	}
	tag := entityTag(body)
	if hasTag(given, func(candidate string) bool { return candidate == tag }) {
		return nil
	}
	return model.Fail(model.CodeVersionMismatch, "The record has another version than If-Match names; read it again and decide anew.")
}

// claimInPath is the claim of the path.
func claimInPath(c *requestContext, _ any) string { return c.pathParam("claim_id") }

// endpointInPath is the webhook endpoint of the path.
func endpointInPath(c *requestContext, _ any) string { return c.pathParam("endpoint_id") }

// quoteInBody is the quote that is bound.
func quoteInBody(_ *requestContext, in any) string { return in.(bindRequest).QuoteID }

// policyInBody is the policy that is asked to pay.
func policyInBody(_ *requestContext, in any) string { return in.(claimRequest).PolicyID }

// policyInPath is the policy that is changed.
func policyInPath(c *requestContext, _ any) string { return c.pathParam("policy_id") }

// payeeInBody is the claim or the policy that a payout method serves.
func payeeInBody(_ *requestContext, in any) string {
	request := in.(payoutMethodRequest)
	for _, id := range []*string{request.ClaimID, request.PolicyID} {
		if id != nil {
			return *id
		}
	}
	return ""
}
