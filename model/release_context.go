package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/kernel/store"
)

// releaseContext holds the facts that decide whether payouts may be released.
type releaseContext struct {
	methods        map[uuid.UUID]*payoutMethodRow
	keyUsage       map[string]keyUsage
	supersededKeys map[string][]string // by key: the keys of its debt that the rail may still pay under
	approvals      map[string]int      // number of approvals of a digest's content
	arrived        map[uuid.UUID]bool  // payouts whose beneficiary has the money, see arrivalRow
	stopped        bool                // whether releases are stopped during this transaction
	suspectLines   suspectLines
}

// keyUsage is the earlier use of a key.
type keyUsage struct {
	firstUsedAt  *time.Time // first call that may have reached the rail; nil if none
	unclearCalls int
	unsentCalls  int
	otherRail    *RailIdentity // another bank that the key was used with

	refusalNoticed, refusalReported bool
}

// blocker checks again, at the last moment, the conditions that made a payout pending:
// nothing goes to an unverified account, without the approvals or for a retracted
// observation.
func (rc *releaseContext) blocker(claim *claimRow, row *payoutRow, method *payoutMethodRow) BlockedReason {
	switch {
	case row.Status != PayoutPending:
		return ""
	case rc.arrived[row.ID]:
		return BlockedRailMismatch
	case claim.isHeldByRetraction():
		return BlockedCompliance
	case method == nil || method.Status != MethodVerified:
		return BlockedMethodUnverified
	case row.ApprovalsNeeded > 0 && rc.approvals[row.approvalDigest(method)] < row.ApprovalsNeeded:
		return BlockedApproval
	default:
		return ""
	}
}

func loadReleaseContext(ctx context.Context, tx *store.Tx, rail RailIdentity, slice []lockedPayout) (*releaseContext, error) {
	rc := &releaseContext{methods: map[uuid.UUID]*payoutMethodRow{}, keyUsage: map[string]keyUsage{}, supersededKeys: map[string][]string{}, approvals: map[string]int{}, arrived: map[uuid.UUID]bool{}, suspectLines: suspectLines{}}
	queueStopCheck(tx, &rc.stopped)
	queueArrivals(tx, slice, rc.arrived)
	queueSuspectLines(tx, slice, rc.suspectLines)
	var methods, payouts, guarded []uuid.UUID
	var keys []string
	for _, out := range slice {
		methods = append(methods, *out.row.PayoutMethodID)
		if out.row.Attempts > 0 {
			payouts, keys = append(payouts, out.row.ID), append(keys, out.row.idempotencyKey())
		}
		if out.row.ApprovalsNeeded > 0 {
			guarded = append(guarded, out.row.ID)
		}
	}
	text := tx.Store.Statements.Get((*payoutMethodRow)(nil), "by ids", func() string {
		return tx.NewSelect().Model((*payoutMethodRow)(nil)).Where("pm.id = any($1)").String()
	})
	tx.Batch.Queue(text, methods).Query(func(rows pgx.Rows) error {
		found := make([]payoutMethodRow, 0, len(methods))
		err := tx.Store.ScanAll(rows, text, &found)
		for i := range found {
			rc.methods[found[i].ID] = &found[i]
		}
		return err
	})
	if len(payouts) > 0 {
		queueKeyUsage(tx, rc.keyUsage, rail, payouts, keys)
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
func queueKeyUsage(tx *store.Tx, uses map[string]keyUsage, rail RailIdentity, payouts []uuid.UUID, keys []string) {
	other := fmt.Sprintf(" filter (where a.outcome is distinct from 'not_sent' and "+otherBankSQL+")", "$3", "$4")
	tx.Batch.Queue(`select a.key, min(a.started_at) filter (where a.outcome is distinct from 'not_sent'), count(*) filter (where a.outcome = 'unknown'),
			count(*) filter (where a.outcome = 'not_sent'), bool_or(a.refusal_noticed_at is not null), bool_or(a.refusal_reported_at is not null), (array_agg(a.rail order by a.number)`+other+`)[1],
			coalesce((array_agg(i.address order by a.number)`+other+`)[1], ''), coalesce((array_agg(i.account order by a.number)`+other+`)[1], '')
		from payout_attempts a`+joinIdentitySQL+`where a.payout_id = any($1) and a.key = any($2) group by a.key`, payouts, keys, rail.Name, rail.ID()).
		Query(func(rows pgx.Rows) error {
			var key, address, account string
			var name *string
			var used keyUsage
			_, err := pgx.ForEachRow(rows, []any{&key, &used.firstUsedAt, &used.unclearCalls, &used.unsentCalls, &used.refusalNoticed, &used.refusalReported, &name, &address, &account}, func() error {
				used.otherRail = nil
				if name != nil {
					used.otherRail = &RailIdentity{*name, address, account}
				}
				uses[key] = used
				return nil
			})
			return err
		})
}
