package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// entityTag returns a strong ETag: a digest of the representation, including embedded
// records.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// matchesEntityTag reports whether If-None-Match contains the tag, by the weak comparison
// of RFC 9110 section 13.1.2.
func matchesEntityTag(headers []string, tag string) bool {
	return hasTag(headers, func(candidate string) bool { return strings.TrimPrefix(candidate, "W/") == tag })
}

// hasTag reports whether a header's list contains a matching tag or *.
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
		return apperr.Fail(apperr.CodeVersionMismatch, "This operation changes no earlier record, so If-Match can only be *: leave the header out.")
	}
	id := c.route.matchTarget(c, in)
	if id == "" {
		return nil // the record's id is missing in the request, which the domain reports better
	}
	c.actor.Precondition = &actor.Precondition{ID: id, Check: func(record any) error { return checkEntityTag(given, record) }}
	return nil
}

// checkEntityTag returns an error unless If-Match contains the record's tag.
func checkEntityTag(given []string, record any) error {
	body, err := wire.Encode(record)
	if err != nil {
		return fmt.Errorf("encode for If-Match: %w", err)
	}
	tag := entityTag(body)
	if hasTag(given, func(candidate string) bool { return candidate == tag }) {
		return nil
	}
	return apperr.Fail(apperr.CodeVersionMismatch, "The record has another version than If-Match names; read it again and then decide.")
}

// claimInPath returns the claim id in the path.
func claimInPath(c *requestContext, _ any) string { return c.pathParam("claim_id") }

// endpointInPath returns the webhook endpoint id in the path.
func endpointInPath(c *requestContext, _ any) string { return c.pathParam("endpoint_id") }

// quoteInBody returns the id of the quote to bind.
func quoteInBody(_ *requestContext, in any) string { return in.(bindRequest).QuoteID }

// policyInBody returns the id of the claim's policy.
func policyInBody(_ *requestContext, in any) string { return in.(claimRequest).PolicyID }

// policyInPath returns the policy id in the path.
func policyInPath(c *requestContext, _ any) string { return c.pathParam("policy_id") }

// payeeInBody returns the id of the claim or policy of a payout method.
func payeeInBody(_ *requestContext, in any) string {
	request := in.(payoutMethodRequest)
	for _, id := range []*string{request.ClaimID, request.PolicyID} {
		if id != nil {
			return *id
		}
	}
	return ""
}
