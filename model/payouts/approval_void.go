package payouts

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
)

// methodChange describes a change of the method that a payout shows.
type methodChange struct {
	changed  bool
	sentence string // added to the timeline sentence when the change voids approvals
}

// visibleMethodID returns the method that a waiting payout shows: the one it would go to.
// After a rejection it shows the rejected method until another one is verified. A
// replacement does not show an account from before the return until an operator approves
// it, because that account may have returned the money.
func visibleMethodID(r *claims.PayoutRow, method *PayoutMethodRow, check releaseCheck) *uuid.UUID {
	switch {
	case check.blocked == claims.BlockedRailRejected:
		return r.PayoutMethodID
	case method == nil:
		return nil
	case r.ReplacesPayoutID != nil && !check.approved && check.blocked != "" && !isForMethod(r, method) && method.CreatedAt.Before(r.CreatedAt):
		return nil
	default:
		return &method.ID
	}
}

// changeMethod changes the method that a payout shows. method is the one it would go to,
// nil without one. The caller writes the row.
func changeMethod(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, method *PayoutMethodRow, to *uuid.UUID) (methodChange, error) {
	from := row.PayoutMethodID
	if from == to || from != nil && to != nil && *from == *to {
		return methodChange{}, nil
	}
	row.PayoutMethodID = to
	voided, err := recordVoidedApprovals(ctx, tx, row, from, method)
	change := methodChange{changed: true}
	if voided {
		change.sentence = " Approvals that were given before no longer count, because its payout method changed."
	}
	return change, err
}

// changeHeldMethod updates a held payout to show the method that it would go to.
func changeHeldMethod(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow) error {
	if row.PreviousBlockReason != nil && *row.PreviousBlockReason == claims.BlockedRailRejected {
		return nil
	}
	change, err := changeMethod(ctx, tx, row, method, visibleMethodID(row, method, releaseCheck{blocked: *row.BlockedReason}))
	if err != nil || !change.changed {
		return err
	}
	if err := tx.SaveColumns(ctx, row, "payout_method_id"); err != nil {
		return err
	}
	return RecordPayoutEvent(tx, claim, row, LedgerTransfer(row), event.PayoutUpdated, "The payout would go to another payout method."+change.sentence)
}

// recordVoidedApprovals writes to the audit log which approvals of a payout a change of
// its method voids, and reports whether there are any. Voided are the approvals of the
// previous method or, if the payout showed none, all approvals except those of the method
// it would go to.
func recordVoidedApprovals(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, from *uuid.UUID, method *PayoutMethodRow) (bool, error) {
	var given []approvalRow
	err := tx.NewSelect().Model(&given).Where("pa.payout_id = ?", row.ID).Where("pa.partner = ?", row.Partner).OrderExpr("pa.id").Scan(ctx)
	if err != nil || len(given) == 0 {
		return false, err
	}
	isVoid := func(digest string) bool { return method == nil || digest != ApprovalDigest(row, method) }
	if from != nil {
		left := new(PayoutMethodRow)
		if err := tx.NewSelect().Model(left).Where("pm.id = ?", from).Where("pm.partner = ?", row.Partner).Scan(ctx); err != nil {
			return false, fmt.Errorf("read payout method: %w", err)
		}
		isVoid = func(digest string) bool { return digest == ApprovalDigest(row, left) }
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
	tx.QueueInsert(&store.AuditRow{
		ID: store.NewID(), CreatedAt: tx.Now, Outcome: store.AuditDone, Operation: voidApprovalsOperation, ActorKind: tx.Actor.Kind, Actor: actor.BoundAuditText(tx.Actor.SubjectOrName(), "unnamed"),
		Issuer: optional.NonZero(tx.Actor.Issuer), Client: tx.Actor.Client, Partner: &row.Partner, Subject: new(store.ResourcePayout.FormatID(row.ID)),
		Reason:    new("The payout method changed; these approvals no longer count: " + strings.Join(authors, ", ")),
		RequestID: optional.NonZero(tx.Actor.RequestID), Times: 1,
	})
	return true, nil
}

// voidApprovalsOperation is the operation of the audit entry for approvals that a method
// change voided, for changes by any actor.
const voidApprovalsOperation = "voidApprovals"
