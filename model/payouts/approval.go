package payouts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/quoting/catalog"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// approvalRow is one operator's approval of one exact payout. Insert-only.
type approvalRow struct {
	bun.BaseModel `bun:"table:payout_approvals,alias:pa"`

	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	CreatedAt time.Time
	PayoutID  uuid.UUID `bun:"type:uuid"`
	Digest    string
	Author    actor.PersonID
	Note      *string
}

// ApprovalRequest approves a payout.
type ApprovalRequest struct {
	PayoutID string
	Digest   string  // of the payout as the operator saw it, see PayoutApproval; empty means the current one
	Note     *string // the reason; operators only
}

// ReleaseRequest releases a payout.
type ReleaseRequest struct {
	PayoutID string
	Note     *string // the reason; operators only
}

// PayoutApproval shows to operators how many must approve a payout, which ones did, and
// what exactly they approve.
type PayoutApproval struct {
	Digest       *string // of exactly what would be paid; nil without a payout method
	Required     int
	PayoutMethod *wire.PayoutDestination // nil without one, and when nothing will be paid
	Approvals    []Approval              // oldest first, including voided ones
}

// Approval is one operator's approval.
type Approval struct {
	At           time.Time
	Author       string  // the operator's subject at the issuer
	AuthorIssuer *string // nil when it was not recorded
	Digest       string
	Valid        bool // it covers exactly what would be paid now
	Note         *string
}

// The number of different operators that must approve a payout: of a claim above the
// product's automatic limit, and of a replacement for a returned payout.
const (
	approvalsAboveLimit     = 2
	approvalsForReplacement = 1
)

// coolingOffPeriod is how long an account that replaced another must wait before it is
// paid. One operator's approval ends the wait.
const coolingOffPeriod = 24 * time.Hour

// Approve approves exactly what would be paid now. The last required approval
// releases the payout. Changing anything that the digest covers voids earlier approvals.
// One operator can approve only once. Operators only.
func (s *Service) Approve(ctx context.Context, actor actor.Actor, in ApprovalRequest) (*wire.Payout, error) {
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, in.Note, audit.OperationApprovePayout, nil,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return approvePayout(ctx, tx, claim, row, in)
		})
}

// Release releases a payout that has its required approvals. A payout that was already
// sent is returned unchanged. Operators only. Errors: not_found,
// validation_failed, state_conflict with what is missing.
func (s *Service) Release(ctx context.Context, actor actor.Actor, in ReleaseRequest) (*wire.Payout, error) {
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, in.Note, audit.OperationReleasePayout, nil,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return releaseNow(ctx, tx, claim, row)
		})
}

// ApprovalDigest identifies exactly what is paid: the payout, the claim, the amount and
// the account. The id of a method also identifies its number, institution and
// beneficiary, because these never change.
func ApprovalDigest(r *claims.PayoutRow, method *PayoutMethodRow) string {
	named := []string{r.ID.String(), r.ClaimID.String(), strconv.FormatInt(r.Amount, 10), r.Currency, method.ID.String(), method.Fingerprint}
	sum := sha256.Sum256([]byte(strings.Join(named, "\n")))
	return hex.EncodeToString(sum[:])
}

func approvePayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, in ApprovalRequest) error {
	if err := checkReleasable(row); err != nil {
		return err
	}
	p, methods, err := loadMethodsOfPayout(ctx, tx, row)
	method, next := SelectMethod(methods, claim.ID), selectMethodOnceVerified(methods, claim.ID)
	switch {
	case err != nil:
		return err
	case method == nil:
		return apperr.Fail(apperr.CodeStateConflict, "There is no payout method yet. An approval names the account that is paid: wait until the partner has recorded one.")
	case next != method:
		return apperr.Fail(apperr.CodeStateConflict, "Another payout method is being verified. If it replaces this one, the approval is lost: wait until its verification has ended.")
	case in.Digest != "" && in.Digest != ApprovalDigest(row, method):
		return apperr.Fail(apperr.CodeStateConflict, "The payout or its account has changed since you read it; read the payout again.")
	}
	needed, err := requiredApprovals(ctx, tx.Store, tx, p, claim, row)
	if err != nil {
		return err
	}
	if needed == 0 && !method.inCoolingOff(tx.Now) {
		return apperr.Fail(apperr.CodeStateConflict, "The payout needs no approval.")
	}
	if err := addApproval(ctx, tx, row, method, in.Note, max(needed, 1)); err != nil {
		return err
	}
	if row.Status == claims.PayoutBlocked && *row.BlockedReason != claims.BlockedApproval {
		return nil // another blocker remains; the approval stays valid
	}
	return advance(ctx, tx, p, claim, row, method, "The payout was approved and can be sent.")
}

// checkReleasable returns state_conflict when the payout can no longer be approved or
// released.
func checkReleasable(r *claims.PayoutRow) error {
	switch {
	case r.Status != claims.PayoutPending && r.Status != claims.PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only a pending or blocked one can be sent.", r.Status)
	case r.Status == claims.PayoutBlocked && *r.BlockedReason == claims.BlockedRailMismatch:
		return apperr.Fail(apperr.CodeStateConflict, "The rail reports a payment that differs from the order; resolve that first.")
	}
	return nil
}

// addApproval stores the actor's approval. The caller holds the claim's lock, so that the
// second of two concurrent approvals sees the first.
func addApproval(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, method *PayoutMethodRow, note *string, needed int) error {
	given, err := loadApprovals(ctx, tx, row, method)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(given, func(g approvalRow) bool { return g.Author.IsActor(tx.Actor) }):
		return apperr.Fail(apperr.CodeStateConflict, "You approved this already; another operator must.")
	case len(given) >= needed:
		return apperr.Fail(apperr.CodeStateConflict, "The payout has the approvals it needs.")
	}
	approval := &approvalRow{
		ID: store.NewID(), Partner: row.Partner, CreatedAt: tx.Now, PayoutID: row.ID, Digest: ApprovalDigest(row, method), Author: tx.Actor.PersonID(), Note: note,
	}
	return store.InsertRows(ctx, tx, approval)
}

// loadApprovals reads the approvals of exactly this payout to this method.
func loadApprovals(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, method *PayoutMethodRow) (given []approvalRow, err error) {
	if isNew(tx, row) {
		return nil, nil
	}
	err = tx.NewSelect().Model(&given).Where("pa.payout_id = ?", row.ID).Where("pa.partner = ?", row.Partner).Where("pa.digest = ?", ApprovalDigest(row, method)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read approvals: %w", err)
	}
	return given, nil
}

// requiredApprovals returns how many operators must approve a payout, independent of its
// account. The total amount of the claim counts: a growing storm is paid in installments,
// and the total must not pass the limit through small installments.
func requiredApprovals(ctx context.Context, s *store.Store, db bun.IDB, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow) (int, error) {
	product, err := catalog.LoadProductVersion(ctx, s, db, p.Product, p.ProductVersion)
	switch {
	case err != nil:
		return 0, err
	case *claim.Amount > product.AutomaticUpTo(claim.Currency):
		return approvalsAboveLimit, nil
	case row.ReplacesPayoutID != nil:
		return approvalsForReplacement, nil
	default:
		return 0, nil
	}
}

// inCoolingOff reports whether the account replaced another one too recently to be paid.
func (r *PayoutMethodRow) inCoolingOff(now time.Time) bool {
	return r.CoolingOffUntil != nil && now.Before(*r.CoolingOffUntil)
}

func releaseNow(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
	switch row.Status {
	case claims.PayoutReleasing, claims.PayoutReconciling, claims.PayoutReleased, claims.PayoutReconciled:
		return nil
	case claims.PayoutPending, claims.PayoutBlocked, claims.PayoutReturned, claims.PayoutCancelled:
	}
	if err := checkReleasable(row); err != nil {
		return err
	}
	if IsHeld(row) {
		return apperr.Fail(apperr.CodeStateConflict, "The payout is held by %s; lift the hold first.", *row.BlockedReason)
	}
	p, method, err := LoadDestination(ctx, tx, claim, row)
	if err != nil {
		return err
	}
	check, err := remainingBlocker(ctx, tx, p, claim, row, method, row.BlockedReason)
	switch {
	case err != nil:
		return err
	case check.blocked == claims.BlockedApproval:
		return apperr.Fail(apperr.CodeStateConflict, "Approvals are missing: %d different operators must approve it.", row.ApprovalsNeeded)
	case check.blocked != "":
		return apperr.Fail(apperr.CodeStateConflict, "%s", BlockedSentence(check.blocked))
	case check.releaseAt.After(tx.Now):
		return apperr.Fail(apperr.CodeStateConflict, "Its payout method changed; it is sent at %s, or at once when an operator approves it.", check.releaseAt.Format(time.RFC3339))
	}
	return makePending(ctx, tx, claim, row, method, check, "An operator released the payout.")
}

// LoadDestination returns the policy and the method that the payout would go to, nil
// without one.
func LoadDestination(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) (*underwriting.PolicyRow, *PayoutMethodRow, error) {
	p, methods, err := loadMethodsOfPayout(ctx, tx, row)
	return p, SelectMethod(methods, claim.ID), err
}

// loadMethodsOfPayout returns the policy of a payout and its usable methods, oldest first.
func loadMethodsOfPayout(ctx context.Context, tx *store.Tx, row *claims.PayoutRow) (*underwriting.PolicyRow, []*PayoutMethodRow, error) {
	p := new(underwriting.PolicyRow)
	if err := tx.NewSelect().Model(p).Where("p.id = ?", row.PolicyID).Where("p.partner = ?", row.Partner).Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("read policy: %w", err)
	}
	methods, err := LoadUsableMethods(ctx, tx, []*underwriting.PolicyRow{p})
	return p, methods[p.ID], err
}
