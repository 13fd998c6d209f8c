package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parapet/model"
	"parapet/model/operations"
)

const (
	// startReportsTimeout bounds reading the rail's reports before any job runs.
	startReportsTimeout = 30 * time.Second
	fileStoreRetry      = 5 * time.Second
)

// heartbeatRecorder records the database's progress and detects a database that was
// restored from a backup.
type heartbeatRecorder struct {
	service       *model.Service
	reports       *fetchReports
	log           *slog.Logger
	retry         time.Duration // how often Start retries an unusable file store
	restoreLogged bool          // the open restore has been logged
}

// recordBeforeStart records the first heartbeat before any job runs, so that no payout is
// sent on a restored database. It waits for an unusable file store, because only the file
// store shows how far the database had come. Requests are served meanwhile.
func (h *heartbeatRecorder) recordBeforeStart(ctx context.Context) error {
	for {
		err := h.recordFirst(ctx)
		if !errors.Is(err, operations.ErrFileStore) {
			return err
		}
		h.log.ErrorContext(ctx, "no job runs until the file store can be used", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(h.retry):
		}
	}
}

// recordFirst records the first heartbeat. If no worker has run for a while, it first
// applies the rail's reports: payments in them that the database does not know show that
// it was restored.
func (h *heartbeatRecorder) recordFirst(ctx context.Context) error {
	age, err := h.service.Operations.HeartbeatAge(ctx)
	if err != nil {
		return err
	}
	if age > operations.HeartbeatGap {
		limited, cancel := context.WithTimeout(ctx, startReportsTimeout)
		defer cancel()
		if err := h.reports.applyReportsUntil(limited, time.Now()); err != nil {
			h.log.WarnContext(ctx, "could not apply the rail's reports before the start", "error", err)
		}
	}
	_, err = h.recordHeartbeat(ctx)
	return err
}

// recordHeartbeat records one heartbeat and returns the time until the next.
func (h *heartbeatRecorder) recordHeartbeat(ctx context.Context) (time.Duration, error) {
	open, err := h.service.Operations.RecordHeartbeat(ctx)
	if err != nil {
		return 0, err
	}
	if noticed := open != nil; noticed != h.restoreLogged {
		h.restoreLogged = noticed
		if noticed {
			h.log.ErrorContext(ctx, "the database may have been restored from a backup: payouts are stopped until an operator runs parapet restore", "signs", open.Evidence)
		} else {
			h.log.InfoContext(ctx, "an operator has resolved the restore of the database")
		}
	}
	return operations.HeartbeatEvery, nil
}
