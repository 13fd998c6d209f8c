package model

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// adjudicationRow is what an operator did to a partner's record, and why, in
// private. Insert-only; only operators read it.
type adjudicationRow struct {
	bun.BaseModel `bun:"table:adjudications,alias:aj"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	CreatedAt time.Time
	Operation Operation
	Author    personID
	PolicyID  *uuid.UUID `bun:"type:uuid"`
	ClaimID   *uuid.UUID `bun:"type:uuid"`
	PayoutID  *uuid.UUID `bun:"type:uuid"`
	Note      *string
}

// Operation is a verb that operators have.
type Operation string

// The verbs that leave an adjudication.
const (
	OperationDecideClaim     Operation = "decide_claim"
	OperationWithdrawClaim   Operation = "withdraw_claim"
	OperationCancelPolicy    Operation = "cancel_policy"
	OperationBlockPayout     Operation = "block_payout"
	OperationUnblockPayout   Operation = "unblock_payout"
	OperationApprovePayout   Operation = "approve_payout"
	OperationReleasePayout   Operation = "release_payout"
	OperationResolvePayout   Operation = "resolve_payout"
	OperationSettlePayout    Operation = "settle_payout"
	OperationRegisterPartner Operation = "register_partner"
	OperationDisablePartner  Operation = "disable_partner"
	OperationEnablePartner   Operation = "enable_partner"
)

// Adjudication is what an operator did and wrote, for operators' eyes.
type Adjudication struct {
	At           time.Time
	Operation    Operation
	Author       string  // the operator, as the issuer calls them
	AuthorIssuer *string // nil when it was not recorded
	PayoutID     *string // for what was done to a payout of the claim
	Note         *string
}

// maxNote bounds what an operator writes, in characters.
const maxNote = 2_000

// note is a check of private words: nil where none are needed.
func (c *fieldCheck) note(text *string, at string) {
	c.that(text == nil || strings.TrimSpace(*text) != "" && utf8.RuneCountInString(*text) <= maxNote && storable(*text),
		at, "length", fmt.Sprintf("Write 1 to %d characters, not white space alone.", maxNote))
}

// noteOf is note where only operators write one.
func (c *fieldCheck) noteOf(actor Actor, text *string, at string) {
	if actor.Kind == ActorPartner {
		c.that(text == nil, at, "value", "Leave it out: it is for operators alone. Write a message on a claim instead.")
		return
	}
	c.note(text, at)
}

// storable tells whether Postgres can keep a text.
func storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// adjudicated keeps who did what, in the transaction of its effect.
func (u *unit) adjudicated(row adjudicationRow) {
	row.ID, row.CreatedAt, row.Author = newID(), u.now, u.actor.personID()
	u.deed.partner, u.deed.reason = row.Partner, row.Note
	u.insert(&row)
}

var adjudications = &branch[adjudicationRow, Adjudication]{
	shelf: &shelf[adjudicationRow, Adjudication]{plural: "adjudications", scope: always(ScopeOperator), public: (*adjudicationRow).private},
	name:  "adjudications", trunk: nounClaim, from: "claims", on: "!.claim_id = w.id and !.partner = w.partner",
	along: oldestFirst, key: func(r *adjudicationRow) string { return r.ID.String() }, owner: func(r *adjudicationRow) uuid.UUID { return *r.ClaimID },
}

// ListAdjudications is what operators did to a claim and its payouts, oldest
// first. Operators only. Errors: not_found, cursor_invalid.
func (s *Service) ListAdjudications(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[Adjudication], error) {
	return adjudications.page(ctx, s, actor, claim, in)
}

// AdjudicationsOf are what operators did to several claims and their payouts.
// Operators only.
func (s *Service) AdjudicationsOf(ctx context.Context, actor Actor, claims []string, in PageRequest) (map[string]*Page[Adjudication], error) {
	return adjudications.of(ctx, s, actor, claims, in)
}

func (r *adjudicationRow) private() Adjudication {
	return Adjudication{
		At: r.CreatedAt, Operation: r.Operation, Author: r.Author.name(), AuthorIssuer: r.Author.issuer(),
		PayoutID: nounPayout.optional(r.PayoutID), Note: r.Note,
	}
}
