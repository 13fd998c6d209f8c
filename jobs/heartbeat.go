package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parapet/model"
)

const (
	// startReportsTimeout bounds the reading of the rail's reports before any job runs.
	startReportsTimeout = 30 * time.Second
	fileStoreRetry      = 5 * time.Second
)

// heartbeatRecorder records how far the database has come and notices one that was restored from
// a backup.
type heartbeatRecorder struct {
	service       *model.Service
	reports       *fetchReports
	log           *slog.Logger
	retry         time.Duration // how often a start tries again to use the file store
	restoreLogged bool          // the log says that a restore is open
}

// recordBeforeStart records the first heartbeat before any job runs, so that no payout is sent on a
// restored database. It waits for a file store that cannot be used, because only the file
// store shows how far the database had come; requests are served meanwhile.
func (h *heartbeatRecorder) recordBeforeStart(ctx context.Context) error {
	for {
		err := h.recordFirst(ctx)
		if !errors.Is(err, model.ErrFileStore) {
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

// recordFirst applies the rail's reports first where no worker has run for a while:
// payments in them that the database does not know show that it was restored.
func (h *heartbeatRecorder) recordFirst(ctx context.Context) error {
	age, err := h.service.HeartbeatAge(ctx)
	if err != nil {
		return err
	}
	if age > model.HeartbeatGap {
		limited, cancel := context.WithTimeout(ctx, startReportsTimeout)
		defer cancel()
		if err := h.reports.applyReportsUntil(limited, time.Now()); err != nil {
			h.log.WarnContext(ctx, "the rail's reports could not be applied before the start", "error", err)
		}
	}
	_, err = h.recordHeartbeat(ctx)
	return err
}

// recordHeartbeat records one heartbeat and returns when the next is due.
func (h *heartbeatRecorder) recordHeartbeat(ctx context.Context) (time.Duration, error) {
	open, err := h.service.RecordHeartbeat(ctx)
	if err != nil {
		return 0, err
	}
	if noticed := open != nil; noticed != h.restoreLogged {
		h.restoreLogged = noticed
		if noticed {
			h.log.ErrorContext(ctx, "the database may have been restored from a backup: payouts are stopped until an operator answers with parapet restore", "signs", open.Signs)
		} else {
			h.log.InfoContext(ctx, "an operator answered for the restore of the database")
		}
	}
	return model.HeartbeatEvery, nil
}
