package jobs

import (
	"context"
	"time"
)

// advanceInterval is how often a releasing process moves payouts of other partners ahead.
const advanceInterval = 250 * time.Millisecond

// advanceOthers moves payouts of other partners ahead, unless this process has just done
// so. A failure does not stop the release of payouts.
func (w *releasePayout) advanceOthers(ctx context.Context, partner string) {
	now, last := w.readClock().UnixNano(), w.advancedAt.Load()
	if now-last < int64(advanceInterval) || !w.advancedAt.CompareAndSwap(last, now) {
		return
	}
	if _, err := w.service.Releases.AdvanceOtherPartners(ctx, partner); err != nil {
		w.log.WarnContext(ctx, "could not move payouts of other partners ahead", "error", err)
	}
}
