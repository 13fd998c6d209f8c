package operations

import (
	"context"
	"fmt"
	"time"

	"parapet/model/audit"
	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
)

// recordSuspectedRestore opens a restore and stops releases unless they are already
// stopped.
func recordSuspectedRestore(ctx context.Context, tx *store.Tx, signs string, known *heartbeatMark) (*controls.RestoreRow, error) {
	standing, err := controls.LockActiveStop(ctx, tx)
	if err != nil {
		return nil, err
	}
	row := &controls.RestoreRow{ID: store.NewID(), NoticedAt: tx.Now, NoticedBy: tx.Actor.PersonID(), Evidence: signs}
	if known != nil {
		row.FileStoreHeartbeat = known.Heartbeat
	}
	if standing == nil {
		stop := &controls.StopRow{ID: store.NewID(), StoppedAt: tx.Now, StoppedBy: tx.Actor.PersonID(), Reason: "The database may have been restored from a backup. " + signs}
		if err := controls.InsertStop(ctx, tx, stop); err != nil {
			return nil, err
		}
		row.StopID = &stop.ID
	}
	return row, store.InsertRows(ctx, tx, row)
}

// RestoreRequest begins, finishes or dismisses a restore.
type RestoreRequest struct {
	Reason string // private

	// To finish a restore: the bank that payouts go to, in addition to the last one
	// used and those with waiting payouts, and how long after an order the bank's
	// report confirms it.
	Rail            payouts.RailIdentity
	SettlementDelay time.Duration
	WithoutReports  bool // an operator checked the rail's statement instead
	// AcceptedDays are days without a report whose payments an operator compared with
	// the bank's statement, as RAIL/YYYY-MM-DD, or RAIL/IDENTITY/YYYY-MM-DD if the rail
	// has an identity.
	AcceptedDays []string
}

// BeginRestore records that the database was restored from a backup: releases stay
// stopped, no event is numbered, and every partner's feed begins a new generation,
// because sequence numbers above its end may have been used for other events. It must
// run before any worker starts. Operators only. Errors: validation_failed,
// state_conflict.
func (s *Service) BeginRestore(ctx context.Context, actor actor.Actor, in RestoreRequest) (*controls.Restore, error) {
	_, known, err := s.loadHeartbeatFile(ctx)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	return s.updateRestore(ctx, actor, in, func(ctx context.Context, tx *store.Tx, row *controls.RestoreRow) (*controls.RestoreRow, error) {
		if row == nil {
			var err error
			if row, err = recordSuspectedRestore(ctx, tx, "An operator says so.", known); err != nil {
				return nil, err
			}
		}
		if row.BegunAt != nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "The restore was begun already, at %s.", row.BegunAt.Format(time.RFC3339))
		}
		row.BegunAt, row.BegunBy, row.BeginReason = &tx.Now, new(tx.Actor.PersonID()), &in.Reason
		return row, events.BeginGeneration(ctx, tx)
	})
}

// FinishRestore records that all payments after the backup are accounted for: reports
// are applied for every day from the last heartbeat to the one that confirms the last
// order before the restore, and every reported payment unknown to the database is
// answered. Events are numbered again; payouts continue when releases are resumed.
// Operators only. Errors: validation_failed, state_conflict.
func (s *Service) FinishRestore(ctx context.Context, actor actor.Actor, in RestoreRequest) (*controls.Restore, error) {
	return s.updateRestore(ctx, actor, in, func(ctx context.Context, tx *store.Tx, row *controls.RestoreRow) (*controls.RestoreRow, error) {
		if row == nil || row.BegunAt == nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "No restore was begun.")
		}
		if err := requireReportsComplete(ctx, tx, row, in); err != nil {
			return nil, err
		}
		return row, endRestore(ctx, tx, row, "finished", in.Reason)
	})
}

// DismissRestore records that a noticed restore did not happen and nothing was lost,
// for example after a promotion. Payouts stopped because of it continue. It is refused
// while the rail reports payments unknown to the database. It is also refused while
// heartbeats are missing, unless an operator checked the rail's statement instead:
// commits are lost then, and a paid debt may be created again in other parts, under
// keys that the rail does not know. Operators only. Errors: validation_failed,
// state_conflict.
func (s *Service) DismissRestore(ctx context.Context, actor actor.Actor, in RestoreRequest) (*controls.Restore, error) {
	return s.updateRestore(ctx, actor, in, func(ctx context.Context, tx *store.Tx, row *controls.RestoreRow) (*controls.RestoreRow, error) {
		if row == nil || row.BegunAt != nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "There is no restore to dismiss; a restore that was begun must be finished.")
		}
		if err := requireNothingLost(ctx, tx, row, in); err != nil {
			return nil, err
		}
		if row.StopID != nil {
			_, err := tx.NewUpdate().Model((*controls.StopRow)(nil)).Set("resumed_at = ?, resumed_by = ?, resume_reason = ?", tx.Now, tx.Actor.PersonID(), in.Reason).
				Where("id = ?", *row.StopID).Where("resumed_at is null").Exec(ctx)
			if err != nil {
				return nil, fmt.Errorf("resume releases: %w", err)
			}
		}
		return row, endRestore(ctx, tx, row, "dismissed", in.Reason)
	})
}

// updateRestore runs an operator's change of the open restore in a transaction.
func (s *Service) updateRestore(ctx context.Context, caller actor.Actor, in RestoreRequest, do func(context.Context, *store.Tx, *controls.RestoreRow) (*controls.RestoreRow, error)) (*controls.Restore, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var restore *controls.Restore
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if _, err := readDatabaseIdentity(ctx, tx, "UPDATE"); err != nil { // excludes concurrent changes and heartbeats
			return err
		}
		row, err := controls.LoadOpenRestore(ctx, tx)
		if err != nil {
			return err
		}
		if row, err = do(ctx, tx, row); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model(row).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("change the restore: %w", err)
		}
		restore = row.ToRecord()
		tx.Describe("", "", &in.Reason)
		return nil
	})
	return restore, err
}

// endRestore ends the restore. The next heartbeat exceeds every one in the file store,
// and records the database's present identity.
func endRestore(ctx context.Context, tx *store.Tx, row *controls.RestoreRow, outcome, reason string) error {
	row.EndedAt, row.EndedBy, row.EndReason, row.Outcome = &tx.Now, new(tx.Actor.PersonID()), &reason, &outcome
	err := tx.NewRaw(`update database_identity set heartbeat = greatest(heartbeat, ?), heartbeat_at = clock_timestamp(), system_identifier = null, timeline = null
		returning heartbeat_at`, row.FileStoreHeartbeat).Scan(ctx, &row.EventsResumedAt)
	if err != nil {
		return fmt.Errorf("end the restore: %w", err)
	}
	return nil
}
