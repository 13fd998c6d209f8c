package release

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/claims"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
)

// releaseContext holds the facts that decide whether payouts may be released.
type releaseContext struct {
	methods        map[uuid.UUID]*payouts.PayoutMethodRow
	keyUsage       map[string]keyUsage
	supersededKeys map[string][]string // by key: the keys of its debt that the rail may still pay under
	approvals      map[string]int      // number of approvals of a digest's content
	arrived        map[uuid.UUID]bool  // payouts whose beneficiary has the money, see ArrivalRow
	stopped        bool                // whether releases are stopped during this transaction
	suspectLines   payouts.SuspectLines
	duplicates     duplicates
}

// keyUsage is the earlier use of a key.
type keyUsage struct {
	firstUsedAt  *time.Time // first call that may have reached the rail; nil if none
	unclearCalls int
	unsentCalls  int
	otherRail    *payouts.RailIdentity // another bank that the key was used with

	refusalNoticed, refusalReported bool
}

// blocker checks again, at the last moment, the conditions that made a payout pending:
// nothing goes to an unverified account, without the approvals, for a retracted
// observation or for an event that another payout paid.
func (rc *releaseContext) blocker(claim *claims.ClaimRow, row *claims.PayoutRow, method *payouts.PayoutMethodRow) claims.BlockedReason {
	switch {
	case row.Status != claims.PayoutPending:
		return ""
	case rc.arrived[row.ID]:
		return claims.BlockedRailMismatch
	case claim.IsHeldByRetraction() || rc.duplicates.has(row):
		return claims.BlockedCompliance
	case method == nil || method.Status != payouts.MethodVerified:
		return claims.BlockedMethodUnverified
	case row.ApprovalsNeeded > 0 && rc.approvals[payouts.ApprovalDigest(row, method)] < row.ApprovalsNeeded:
		return claims.BlockedApproval
	default:
		return ""
	}
}

// needsOwnCalls reports whether the rail must be asked, or must void an earlier key,
// before the payout is sent.
func (rc *releaseContext) needsOwnCalls(row *claims.PayoutRow) bool {
	key := payouts.IdempotencyKey(row)
	return rc.keyUsage[key].firstUsedAt != nil || len(rc.supersededKeys[key]) > 0
}

func loadReleaseContext(ctx context.Context, tx *store.Tx, rail payouts.RailIdentity, slice []payouts.LockedPayout) (*releaseContext, error) {
	rc := &releaseContext{methods: map[uuid.UUID]*payouts.PayoutMethodRow{}, keyUsage: map[string]keyUsage{}, supersededKeys: map[string][]string{}, approvals: map[string]int{}, arrived: map[uuid.UUID]bool{}, suspectLines: payouts.SuspectLines{}, duplicates: duplicates{}}
	controls.QueueStopCheck(tx, &rc.stopped)
	payouts.QueueArrivals(tx, slice, rc.arrived)
	payouts.QueueSuspectLines(tx, slice, rc.suspectLines)
	queueDuplicates(tx, rc.duplicates, slice)
	var methods, triedIDs, guarded []uuid.UUID
	var keys []string
	for _, out := range slice {
		methods = append(methods, *out.Row.PayoutMethodID)
		if out.Row.Attempts > 0 {
			triedIDs, keys = append(triedIDs, out.Row.ID), append(keys, payouts.IdempotencyKey(out.Row))
		}
		if out.Row.ApprovalsNeeded > 0 {
			guarded = append(guarded, out.Row.ID)
		}
	}
	text := tx.Store.Statements.Get((*payouts.PayoutMethodRow)(nil), "by ids", func() string {
		return tx.NewSelect().Model((*payouts.PayoutMethodRow)(nil)).Where("pm.id = any($1)").String()
	})
	tx.Batch.Queue(text, methods).Query(func(rows pgx.Rows) error {
		found := make([]payouts.PayoutMethodRow, 0, len(methods))
		err := rowscan.All(tx.Store.DB, rows, text, &found)
		for i := range found {
			rc.methods[found[i].ID] = &found[i]
		}
		return err
	})
	if len(triedIDs) > 0 {
		queueKeyUsage(tx, rc.keyUsage, rail, triedIDs, keys)
	}
	queueSupersededKeys(tx, rc.supersededKeys, rail, slice)
	if len(guarded) > 0 {
		tx.Batch.Queue("select digest, count(*) from payout_approvals where payout_id = any($1) group by digest", guarded).Query(func(rows pgx.Rows) error {
			var digest string
			var n int
			_, err := pgx.ForEachRow(rows, []any{&digest, &n}, func() error {
				rc.approvals[digest] = n
				return nil
			})
			return err
		})
	}
	if err := tx.Flush(ctx); err != nil {
		return nil, fmt.Errorf("read payout methods and attempts: %w", err)
	}
	return rc, nil
}

// queueKeyUsage queues a read of the earlier use of keys.
func queueKeyUsage(tx *store.Tx, uses map[string]keyUsage, rail payouts.RailIdentity, payoutIDs []uuid.UUID, keys []string) {
	other := fmt.Sprintf(" filter (where a.outcome is distinct from 'not_sent' and "+OtherBankSQL+")", "$3", "$4")
	tx.Batch.Queue(`select a.key, min(a.started_at) filter (where a.outcome is distinct from 'not_sent'), count(*) filter (where a.outcome = 'unknown'),
			count(*) filter (where a.outcome = 'not_sent'), bool_or(a.refusal_noticed_at is not null), bool_or(a.refusal_reported_at is not null), (array_agg(a.rail order by a.number)`+other+`)[1],
			coalesce((array_agg(i.address order by a.number)`+other+`)[1], ''), coalesce((array_agg(i.account order by a.number)`+other+`)[1], '')
		from payout_attempts a`+JoinIdentitySQL+`where a.payout_id = any($1) and a.key = any($2) group by a.key`, payoutIDs, keys, rail.Name, rail.ID()).
		Query(func(rows pgx.Rows) error {
			var key, address, account string
			var name *string
			var used keyUsage
			_, err := pgx.ForEachRow(rows, []any{&key, &used.firstUsedAt, &used.unclearCalls, &used.unsentCalls, &used.refusalNoticed, &used.refusalReported, &name, &address, &account}, func() error {
				used.otherRail = nil
				if name != nil {
					used.otherRail = &payouts.RailIdentity{Name: *name, Address: address, Account: account}
				}
				uses[key] = used
				return nil
			})
			return err
		})
}
