package receipts

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/receipts/receipt"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Claim returns the receipt of a claim's decisions: all parts, or those up to part.
// Errors: not_found, parameter_invalid, state_conflict while nothing was decided,
// unavailable.
func (s *Service) Claim(ctx context.Context, caller actor.Actor, id string, part *int) (*wire.Receipt, error) {
	row, err := claims.LoadClaim(ctx, s.Store, caller, actor.ScopeClaimsRead, id)
	if err != nil {
		return nil, err
	}
	a, err := s.loadAssembly(ctx, row)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	decisions := findDecisions(a.entries)
	switch {
	case len(decisions) == 0:
		return nil, apperr.Fail(apperr.CodeStateConflict, "The claim is %s: it has a receipt once it is approved or declined.", row.Status)
	case part != nil && (*part < 1 || *part > len(decisions)):
		return nil, apperr.InvalidParameter("part", fmt.Sprintf("The claim has no part %d: use a number from 1 to %d.", *part, len(decisions)))
	case part != nil:
		decisions = decisions[:*part]
	}
	if err := a.loadDetermined(ctx, decisions); err != nil {
		return nil, store.TranslateError(err)
	}
	payload, err := a.buildPayload(ctx, decisions)
	if err != nil {
		return nil, err
	}
	return s.sign(payload)
}

// assembly holds the rows of a claim's receipt.
type assembly struct {
	*Service

	claim          *claims.ClaimRow
	policy         *underwriting.PolicyRow
	quote          *quoting.QuoteRow
	entries        []entryRow
	determinations map[string]*claims.DeterminationRow // by receipt_hash
	payouts        []claims.PayoutRow                  // first payouts of the policy's claims, by time
	otherClaims    []string                            // approved ones of the policy for the same event, after a merge
}

func (s *Service) loadAssembly(ctx context.Context, row *claims.ClaimRow) (*assembly, error) {
	a := &assembly{Service: s, claim: row, policy: new(underwriting.PolicyRow), quote: new(quoting.QuoteRow), determinations: map[string]*claims.DeterminationRow{}}
	err := s.DB.NewSelect().Model(a.policy).Where("p.id = ? and p.partner = ?", row.PolicyID, row.Partner).Scan(ctx)
	if err == nil {
		err = s.DB.NewSelect().Model(a.quote).Where("q.id = ? and q.partner = ?", a.policy.QuoteID, row.Partner).Scan(ctx)
	}
	if err == nil {
		a.entries, err = s.loadEntries(ctx, row)
	}
	if err == nil { // a replacement pays the same part again
		err = s.DB.NewSelect().Model(&a.payouts).Where("policy_id = ? and partner = ?", row.PolicyID, row.Partner).Where("replaces_payout_id is null").
			OrderExpr("created_at, id").Scan(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the receipt is about: %w", err)
	}
	return a, nil
}

func (a *assembly) buildPayload(ctx context.Context, decisions []decision) (*receipt.ClaimPayload, error) {
	head, err := newHead(receipt.TypeClaim, a.quote, a.policy.Cover)
	if err != nil {
		return nil, err
	}
	var events []uuid.UUID
	for i := range decisions {
		events = append(events, decisions[i].events...)
	}
	links, err := a.loadLinks(ctx, a.claim.Partner, events)
	if err != nil {
		return nil, err
	}
	p := &receipt.ClaimPayload{
		Head: head, ClaimID: store.ResourceClaim.FormatID(a.claim.ID), PolicyID: store.ResourcePolicy.FormatID(a.policy.ID), Origin: string(a.claim.Origin),
		EffectiveAt: a.policy.EffectiveAt, PayableFrom: a.policy.PayableFrom, ExpiresAt: a.policy.ExpiresAt,
		OccurrenceID: store.ResourceOccurrence.FormatOptionalID(a.claim.OccurrenceID),
	}
	hashed, err := a.parseHashed(decisions)
	if err != nil {
		return nil, err
	}
	facts, err := a.loadReadings(ctx, p, hashed)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	for i := range decisions {
		part, err := a.buildPart(decisions, i, hashed, facts)
		if err != nil {
			return nil, err
		}
		part.Events = linksOf(links, decisions[i].events)
		p.Parts = append(p.Parts, part)
	}
	return p, nil
}

// readingsQuery reads the versions of an occurrence that determinations name.
const readingsQuery = "select digest, facts from occurrence_readings where digest in (?) order by created_at, digest"

// loadReadings reads the facts of determinations with the records of their feeds into the
// payload, and returns the facts by digest.
func (a *assembly) loadReadings(ctx context.Context, p *receipt.ClaimPayload, hashed []*receipt.Hashed) (map[string]*receipt.Facts, error) {
	var digests []string
	for _, h := range hashed {
		for _, digest := range h.Digests() {
			if !slices.Contains(digests, digest) {
				digests = append(digests, digest)
			}
		}
	}
	all := make(map[string]*receipt.Facts)
	if len(digests) == 0 {
		return all, nil
	}
	var rows []receipt.Reading
	if err := a.DB.NewRaw(readingsQuery, bun.List(digests)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	for i := range rows {
		facts, err := receipt.ParseFacts(rows[i].Facts)
		if err != nil {
			return nil, err
		}
		if rows[i].Records, err = a.loadRecords(ctx, facts.Observations); err != nil {
			return nil, err
		}
		all[rows[i].Digest] = facts
	}
	p.Readings = rows
	return all, nil
}
