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

// operatorActionRow records what an operator did to a partner's record and why. Rows are
// insert-only and visible to operators only.
type operatorActionRow struct {
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

// OperatorAction is what an operator did and wrote, for operators' eyes.
type OperatorAction struct {
	At           time.Time
	Operation    Operation
	Author       string  // the operator, as the issuer calls them
	AuthorIssuer *string // nil when it was not recorded
	PayoutID     *string // for what was done to a payout of the claim
	Note         *string
}

// maxNoteLength bounds what an operator writes, in characters.
const maxNoteLength = 2_000

// requireNote is a check of private words: nil where none are needed.
func (v *validator) requireNote(text *string, at string) {
	v.require(text == nil || strings.TrimSpace(*text) != "" && utf8.RuneCountInString(*text) <= maxNoteLength && isStorableText(*text),
		at, "length", fmt.Sprintf("Write 1 to %d characters, not white space alone.", maxNoteLength))
}

// requireOperatorNote is note where only operators write one.
func (v *validator) requireOperatorNote(actor Actor, text *string, at string) {
	if actor.Kind == ActorPartner {
		v.require(text == nil, at, "value", "Leave it out: it is for operators alone. Write a message on a claim instead.")
		return
	}
	v.requireNote(text, at)
}

// isStorableText tells whether Postgres can keep a text.
func isStorableText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// recordOperatorAction inserts the action in the transaction of its effect.
func (tx *Tx) recordOperatorAction(row operatorActionRow) {
	row.ID, row.CreatedAt, row.Author = newID(), tx.now, tx.actor.personID()
	tx.audit.partner, tx.audit.reason = row.Partner, row.Note
	tx.queueInsert(&row)
}

var operatorActions = &childCollection[operatorActionRow, OperatorAction]{
	collection: &collection[operatorActionRow, OperatorAction]{plural: "adjudications", requiredScope: fixedScope(ScopeOperator), toRecord: (*operatorActionRow).toRecord},
	cursorName: "adjudications", parent: resourceClaim, parentTable: "claims", joinCondition: "!.claim_id = w.id and !.partner = w.partner",
	order: oldestFirst, cursorKey: func(r *operatorActionRow) string { return r.ID.String() }, parentID: func(r *operatorActionRow) uuid.UUID { return *r.ClaimID },
}

// ListOperatorActions is what operators did to a claim and its payouts, oldest
// first. Operators only. Errors: not_found, cursor_invalid.
func (s *Service) ListOperatorActions(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[OperatorAction], error) {
	return operatorActions.getPage(ctx, s, actor, claim, in)
}

// OperatorActionsOf are what operators did to several claims and their payouts.
// Operators only.
func (s *Service) OperatorActionsOf(ctx context.Context, actor Actor, claims []string, in PageRequest) (map[string]*Page[OperatorAction], error) {
	return operatorActions.getPages(ctx, s, actor, claims, in)
}

func (r *operatorActionRow) toRecord() OperatorAction {
	return OperatorAction{
		At: r.CreatedAt, Operation: r.Operation, Author: r.Author.name(), AuthorIssuer: r.Author.issuer(),
		PayoutID: resourcePayout.formatOptionalID(r.PayoutID), Note: r.Note,
	}
}
