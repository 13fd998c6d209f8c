package rest

import (
	"context"
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

// matched refuses a write whose If-Match does not name the version that its
// record has now, by the strong comparison of RFC 9110 section 13.1.1. A write
// that is about no record fulfils * only: what cannot be checked must not pass
// for checked.
func (c *call) matched(ctx context.Context, in any) error {
	given := c.request.Header.Values("If-Match")
	if len(given) == 0 || tagged(given, func(string) bool { return false }) {
		return nil
	}
	if c.route.held == nil {
		return model.Fail(model.CodeVersionMismatch, "A write to this address is about no earlier record, so no If-Match but * can be fulfilled.")
	}
	record, err := c.route.held(ctx, c, in)
	if err != nil {
		return err
	}
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
func (d *door) heldClaim(ctx context.Context, c *call, _ any) (any, error) { return d.getClaim(ctx, c) }

// heldQuote is the quote that is bound.
func (d *door) heldQuote(ctx context.Context, c *call, in any) (any, error) {
	return d.Service.GetQuote(ctx, c.actor, in.(bindRequest).QuoteID)
}

// heldPolicy is the policy that is asked to pay.
func (d *door) heldPolicy(ctx context.Context, c *call, in any) (any, error) {
	return d.Service.GetPolicy(ctx, c.actor, in.(claimRequest).PolicyID)
}

// heldPayee is the claim or the policy that a payout method serves.
func (d *door) heldPayee(ctx context.Context, c *call, in any) (any, error) {
	request := in.(payoutMethodRequest)
	if request.ClaimID != nil {
		return d.Service.GetClaim(ctx, c.actor, *request.ClaimID)
	}
	if request.PolicyID != nil {
		return d.Service.GetPolicy(ctx, c.actor, *request.PolicyID)
	}
	return nil, model.Fail(model.CodeVersionMismatch, "If-Match needs the claim or the policy that the payout method is for.")
}
