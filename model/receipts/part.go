package receipts

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// entryRow is an entry of the claim's timeline about the claim itself.
type entryRow struct {
	bun.BaseModel `bun:"table:timeline_entries,alias:tl"`

	Kind      event.Type
	At        time.Time
	ActorKind actor.Kind
	Data      jsontext.Value `bun:"type:json"`
	EventID   *uuid.UUID     `bun:"type:uuid"`
	EventData compress.JSON  `bun:",scanonly"` // of the event; nil without one
}

// loadEntries reads the entries about a claim, in order, with the data of their events.
func (s *Service) loadEntries(ctx context.Context, row *claims.ClaimRow) ([]entryRow, error) {
	var entries []entryRow
	err := s.DB.NewSelect().Model(&entries).ColumnExpr("tl.kind, tl.at, tl.actor_kind, tl.data, tl.event_id, e.data as event_data").
		Join("left join events as e on e.id = tl.event_id and e.partner = tl.partner").
		Where("tl.claim_id = ? and tl.partner = ?", row.ID, row.Partner).Where("tl.kind like 'claim.%'").OrderExpr("tl.sequence").Scan(ctx)
	return entries, err
}

// determinationHash returns the receipt_hash of the claim's determination in the event's
// data; empty if it has none. An entry of a claim that waited does not repeat it.
func (e *entryRow) determinationHash() string {
	var data struct {
		Object struct {
			Determination *wire.Determination `json:"determination"`
		} `json:"object"`
	}
	if json.Unmarshal(e.EventData, &data) != nil || data.Object.Determination == nil {
		return ""
	}
	return data.Object.Determination.ReceiptHash
}

// decision is one part of a claim: an approval, a rejection, or more of a growing
// occurrence.
type decision struct {
	at          time.Time
	by          actor.Kind
	outcome     claims.ClaimStatus
	reasons     []string
	amount      int64  // approved by this part, minor units
	receiptHash string // of its determination; empty without one
	events      []uuid.UUID
	grows       bool // adds what a growing occurrence owes more
}

// entryData are the members of an entry's data that decide.
type entryData struct {
	Determination *wire.Determination `json:"determination"`
	Decision      *wire.Decision      `json:"decision"`
	Amount        *wire.Money         `json:"amount"`
}

// findDecisions returns the parts that a timeline contains, in order. The determination of
// a part is that of the event which announced it.
func findDecisions(entries []entryRow) []decision {
	var all []decision
	var next decision
	approved := int64(0) // amounts of entries are those of the whole claim
	for i := range entries {
		entry := &entries[i]
		var data entryData
		if json.Unmarshal(entry.Data, &data) != nil {
			continue // an entry about something else
		}
		if entry.EventID != nil && isAboutDecision(entry.Kind) {
			next.events = append(next.events, *entry.EventID)
		}
		if data.Determination != nil {
			next.receiptHash = data.Determination.ReceiptHash
		}
		decides := entry.Kind == event.ClaimApproved || entry.Kind == event.ClaimDeclined
		grows := !decides && data.Determination != nil && data.Amount != nil && len(all) > 0
		decides = decides || data.Amount != nil && data.Decision != nil && data.Decision.Outcome == string(claims.ClaimApproved) // after a challenge
		if !decides && !grows {
			continue
		}
		next.receiptHash = cmp.Or(entry.determinationHash(), next.receiptHash)
		next.at, next.by, next.outcome, next.amount = entry.At, entry.ActorKind, claims.ClaimApproved, 0
		if next.grows = grows; grows {
			next.reasons = all[len(all)-1].reasons
		}
		if data.Decision != nil {
			next.outcome, next.reasons = claims.ClaimStatus(data.Decision.Outcome), data.Decision.ReasonCodes
		}
		if next.outcome == claims.ClaimApproved && data.Amount != nil {
			next.amount, approved = data.Amount.Amount-approved, data.Amount.Amount
		}
		all = append(all, next)
		next = decision{receiptHash: next.receiptHash}
	}
	return all
}

// isAboutDecision leaves out the entries of documents and messages.
func isAboutDecision(kind event.Type) bool {
	return kind != event.ClaimAttachmentAdded && kind != event.ClaimMessageAdded
}

// parseHashed returns the inputs of the decisions' determinations; nil for those without.
func (a *assembly) parseHashed(decisions []decision) ([]*receipt.Hashed, error) {
	all := make([]*receipt.Hashed, len(decisions))
	for i := range decisions {
		row := a.determinations[decisions[i].receiptHash]
		if row == nil {
			continue
		}
		hashed, err := receipt.ParseHashed(row.Receipt)
		if err != nil {
			return nil, err
		}
		all[i] = hashed
	}
	return all, nil
}

// buildPart returns part i of the claim, without its events.
func (a *assembly) buildPart(decisions []decision, i int, hashed []*receipt.Hashed, facts map[string]*receipt.Facts) (receipt.Part, error) {
	d := &decisions[i]
	currency := a.policy.Currency
	part := receipt.Part{
		Part: i + 1, DecidedBy: string(d.by), DecidedAt: d.at, Outcome: string(d.outcome), ReasonCodes: d.reasons,
		PaidBefore: []receipt.PolicyPayout{}, Payouts: []receipt.PolicyPayout{},
		LimitBefore: a.policy.Cover.Limit, OwedBefore: money.New(0, currency),
	}
	if i > 0 && hashed[i-1] != nil {
		part.OwedBefore = hashed[i-1].Determination.Amount
	}
	if d.outcome == claims.ClaimApproved {
		part.Amount = new(money.New(d.amount, currency))
	}
	installment := 0
	for _, before := range decisions[:i+1] {
		if before.outcome == claims.ClaimApproved {
			installment++
		}
	}
	for j := range a.payouts {
		payout := &a.payouts[j]
		shown := receipt.PolicyPayout{ID: store.ResourcePayout.FormatID(payout.ID), Amount: payout.ToMoney()}
		switch {
		case payout.ClaimID == a.claim.ID && payout.Installment == installment && part.Amount != nil:
			part.Payouts = append(part.Payouts, shown)
		case payout.ClaimID == a.claim.ID && payout.Installment > installment:
		case payout.CreatedAt.Before(d.at) || payout.CreatedAt.Equal(d.at) && len(part.Payouts) == 0:
			part.PaidBefore = append(part.PaidBefore, shown)
			part.LimitBefore.Amount -= payout.Amount
		}
	}
	if hashed[i] != nil {
		determination, err := a.buildDetermination(d.receiptHash, hashed[i], facts[hashed[i].ReadingsDigest])
		if err != nil {
			return part, err
		}
		part.Determination = determination
	}
	if d.grows && hashed[i] != nil {
		a.completeGrowth(&part, hashed[i].Determination.Amount.Amount-part.OwedBefore.Amount)
	}
	part.Computable = part.IsComputable(hashed[i])
	return part, nil
}

// buildDetermination returns a determination with the steps of its computation, which it
// repeats with the version of the trigger that it had.
func (a *assembly) buildDetermination(hash string, h *receipt.Hashed, facts *receipt.Facts) (*receipt.Determination, error) {
	text, err := receipt.CanonicalText(a.determinations[hash].Receipt)
	if err != nil || facts == nil {
		return &receipt.Determination{ReceiptHash: hash, Hashed: text}, err
	}
	_, steps, err := h.Recompute(a.policy.Cover, facts)
	if err != nil {
		return nil, fmt.Errorf("recompute %s: %w", strings.TrimPrefix(hash, "sha256:"), err)
	}
	return &receipt.Determination{ReceiptHash: hash, Hashed: text, Steps: steps}, nil
}
