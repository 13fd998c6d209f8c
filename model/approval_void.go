package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// methodChange is a change of the method that a payout shows.
type methodChange struct {
	made     bool
	sentence string // appended to the timeline's when it voids approvals
}

// shown is the method that a waiting payout shows: the one it would go to. After a
// refusal that stays the refused one, as another is used only once it is verified. A
// replacement does not show an account of before it, which may be the one that returned
// the money, until an operator has approved it.
func (r *payoutRow) shown(method *payoutMethodRow, way way) *uuid.UUID {
	switch {
	case way.blocked == BlockedRailRejected:
		return r.PayoutMethodID
	case method == nil:
		return nil
	case r.ReplacesPayoutID != nil && !way.approved && way.blocked != "" && !r.goesTo(method) && method.CreatedAt.Before(r.CreatedAt):
		return nil
	default:
		return &method.ID
	}
}

// changeMethod changes which method a payout shows. method is the one it would go to,
// nil without one. The caller writes the row.
func (u *unit) changeMethod(ctx context.Context, row *payoutRow, method *payoutMethodRow, to *uuid.UUID) (methodChange, error) {
	from := row.PayoutMethodID
	if from == to || from != nil && to != nil && *from == *to {
		return methodChange{}, nil
	}
	row.PayoutMethodID = to
	voided, err := u.recordVoidedApprovals(ctx, row, from, method)
	change := methodChange{made: true}
	if voided {
		change.sentence = " Approvals that were given before no longer count, because its payout method changed."
	}
	return change, err
}

// changeHeld has a held payout show the method that it would go to.
func (u *unit) changeHeld(ctx context.Context, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	if row.HeldOver != nil && *row.HeldOver == BlockedRailRejected {
		return nil
	}
	change, err := u.changeMethod(ctx, row, method, row.shown(method, way{blocked: *row.BlockedReason}))
	if err != nil || !change.made {
		return err
	}
	if err := u.save(ctx, row, "payout_method_id"); err != nil {
		return err
	}
	return u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, "The payout would go to another payout method."+change.sentence)
}

// recordVoidedApprovals writes to the audit log which approvals of a payout a change of
// its method voids, and reports whether there are any: those that named the method it
// leaves or, where it showed none, every other than the one it would go to.
func (u *unit) recordVoidedApprovals(ctx context.Context, row *payoutRow, from *uuid.UUID, method *payoutMethodRow) (bool, error) {
	var given []approvalRow
	err := u.NewSelect().Model(&given).Where("pa.payout_id = ?", row.ID).Where("pa.partner = ?", row.Partner).OrderExpr("pa.id").Scan(ctx)
	if err != nil || len(given) == 0 {
		return false, err
	}
	isVoid := func(digest string) bool { return method == nil || digest != row.digest(method) }
	if from != nil {
		left := new(payoutMethodRow)
		if err := u.NewSelect().Model(left).Where("pm.id = ?", from).Where("pm.partner = ?", row.Partner).Scan(ctx); err != nil {
			return false, fmt.Errorf("read payout method: %w", err)
		}
		isVoid = func(digest string) bool { return digest == row.digest(left) }
	}
	var authors []string
	for _, approval := range given {
		if isVoid(approval.Digest) {
			authors = append(authors, string(approval.Author))
		}
	}
	if len(authors) == 0 {
		return false, nil
	}
	u.insert(&auditRow{
		ID: newID(), CreatedAt: u.now, Outcome: AuditDone, Operation: voidApprovals, ActorKind: u.actor.Kind, Actor: bounded(u.actor.subject(), "unnamed"),
		Issuer: textOrNil(u.actor.Issuer), Client: u.actor.Client, Partner: &row.Partner, Subject: new(nounPayout.id(row.ID)),
		Reason:    new("The payout method changed; these approvals no longer count: " + strings.Join(authors, ", ")),
		RequestID: textOrNil(u.actor.Request), Times: 1,
	})
	return true, nil
}

// voidApprovals is the operation of an audit line about approvals that a change voided,
// by whoever changed the payout method.
const voidApprovals = "voidApprovals"

// chosenOnceVerified is the method that a claim is paid to when every check that has not
// ended will have verified its account.
func chosenOnceVerified(methods []*payoutMethodRow, claim uuid.UUID) *payoutMethodRow {
	verified, original := make([]*payoutMethodRow, len(methods)), make(map[uuid.UUID]*payoutMethodRow, len(methods))
	for i, m := range methods {
		later := *m
		later.Status = MethodVerified
		verified[i], original[m.ID] = &later, m
	}
	if best := chosen(verified, claim); best != nil {
		return original[best.ID]
	}
	return nil
}
