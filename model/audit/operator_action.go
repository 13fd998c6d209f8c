package audit

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// OperatorActionRow records an operator's action on a partner's record and its reason.
// Rows are insert-only and visible to operators only.
type OperatorActionRow struct {
	bun.BaseModel `bun:"table:operator_actions,alias:aj"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	CreatedAt time.Time
	Operation Operation
	Author    actor.PersonID
	PolicyID  *uuid.UUID `bun:"type:uuid"`
	ClaimID   *uuid.UUID `bun:"type:uuid"`
	PayoutID  *uuid.UUID `bun:"type:uuid"`
	Note      *string
}

// Operation is the name of an operator's recorded action.
type Operation string

// These are the recorded operations.
const (
	OperationDecideClaim     Operation = "decide_claim"
	OperationDecideChallenge Operation = "decide_challenge"
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

// OperatorAction is an operator's action with its note; only operators see it.
type OperatorAction struct {
	At           time.Time
	Operation    Operation
	Author       string  // the operator's subject at the issuer
	AuthorIssuer *string // nil when it was not recorded
	PayoutID     *string // for an action on a payout of the claim
	Note         *string
}

// maxNoteLength is the maximum length of an operator's note, in characters.
const maxNoteLength = 2_000

// RequireNote validates an operator's note; nil is valid.
func RequireNote(v *apperr.Validator, text *string, at string) {
	v.Require(text == nil || strings.TrimSpace(*text) != "" && utf8.RuneCountInString(*text) <= maxNoteLength && IsStorableText(*text),
		at, "length", fmt.Sprintf("Write 1 to %d characters, not only white space.", maxNoteLength))
}

// RequireOperatorNote validates an operator's note and rejects a note from a partner.
func RequireOperatorNote(v *apperr.Validator, caller actor.Actor, text *string, at string) {
	if caller.Kind == actor.KindPartner {
		v.Require(text == nil, at, "value", "Leave it out: only operators can give it. Write a message on a claim instead.")
		return
	}
	RequireNote(v, text, at)
}

// IsStorableText reports whether Postgres can store a text.
func IsStorableText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// RecordOperatorAction inserts the action in the transaction of its effect.
func RecordOperatorAction(tx *store.Tx, row OperatorActionRow) {
	row.ID, row.CreatedAt, row.Author = store.NewID(), tx.Now, tx.Actor.PersonID()
	tx.Audit.Partner, tx.Audit.Reason = row.Partner, row.Note
	tx.QueueInsert(&row)
}

var operatorActions = &store.ChildCollection[OperatorActionRow, OperatorAction]{
	Collection: &store.Collection[OperatorActionRow, OperatorAction]{Plural: "operator_actions", RequiredScope: store.FixedScope(actor.ScopeOperator), ToRecord: (*OperatorActionRow).toRecord},
	CursorName: "operator_actions", Parent: store.ResourceClaim, ParentTable: "claims", JoinCondition: "!.claim_id = w.id and !.partner = w.partner",
	Order: store.SortOldestFirst, CursorKey: func(r *OperatorActionRow) string { return r.ID.String() }, ParentID: func(r *OperatorActionRow) uuid.UUID { return *r.ClaimID },
}

// ListOperatorActions returns the operators' actions on a claim and its payouts, oldest
// first. Operators only. Errors: not_found, cursor_invalid.
func (s *Service) ListOperatorActions(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[OperatorAction], error) {
	return operatorActions.GetPage(ctx, s.Store, actor, claim, in)
}

// OperatorActionsOf returns the operators' actions on several claims and their payouts.
// Operators only.
func (s *Service) OperatorActionsOf(ctx context.Context, actor actor.Actor, claims []string, in store.PageRequest) (map[string]*store.Page[OperatorAction], error) {
	return operatorActions.GetPages(ctx, s.Store, actor, claims, in)
}

func (r *OperatorActionRow) toRecord() OperatorAction {
	return OperatorAction{
		At: r.CreatedAt, Operation: r.Operation, Author: r.Author.Name(), AuthorIssuer: r.Author.Issuer(),
		PayoutID: store.ResourcePayout.FormatOptionalID(r.PayoutID), Note: r.Note,
	}
}
