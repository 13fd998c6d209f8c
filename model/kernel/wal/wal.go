// Package wal represents positions in the write-ahead log of Postgres. A write returns the
// position after its commit; a request that sends it back reads that write, from any
// server. A Position is immutable; a Recorder keeps the latest position of one request.
// The package takes no locks. Start reading at Position.
package wal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Position is a place in the write-ahead log. A promotion of a standby begins a new
// timeline, so a number of bytes alone does not identify a place.
type Position struct {
	Timeline uint32
	LSN      uint64 // log sequence number, in bytes from the beginning of the log
}

// String formats the position as timeline:LSN, such as 1:0/16B3748. The LSN is written as
// Postgres writes the type pg_lsn.
func (p Position) String() string {
	return fmt.Sprintf("%d:%X/%X", p.Timeline, p.LSN>>32, uint32(p.LSN)) //nolint:gosec // the lower half
}

// Parse returns the position that String formatted; false for any other text.
func Parse(text string) (Position, bool) {
	timeline, lsn, _ := strings.Cut(text, ":")
	high, low, _ := strings.Cut(lsn, "/")
	t, errTimeline := strconv.ParseUint(timeline, 10, 32)
	h, errHigh := strconv.ParseUint(high, 16, 32)
	l, errLow := strconv.ParseUint(low, 16, 32)
	p := Position{Timeline: uint32(t), LSN: h<<32 | l}
	return p, errTimeline == nil && errHigh == nil && errLow == nil && t > 0 && p.String() == text
}

// Recorder holds the position after the last commit of a request. It is safe for
// concurrent use.
type Recorder struct{ last atomic.Pointer[Position] }

// Last returns the position after the last commit; false before the first.
func (r *Recorder) Last() (Position, bool) {
	if p := r.last.Load(); p != nil {
		return *p, true
	}
	return Position{}, false
}

type recorderKey struct{}

// WithRecorder returns a context whose transactions record their positions.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// positionSQL selects the end of the log and the name of its segment file, whose first
// eight hexadecimal digits are the timeline. A commit is flushed before it returns, except
// with synchronous_commit off. It fails on a standby.
const positionSQL = `select pg_walfile_name(lsn), lsn - '0/0'
	from (select case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as lsn) as log`

// QueuePosition queues a query whose answer is recorded, if the context has a Recorder.
// Queue it after the commit in the same batch.
func QueuePosition(ctx context.Context, batch *pgx.Batch) {
	recorder, _ := ctx.Value(recorderKey{}).(*Recorder)
	if recorder == nil {
		return
	}
	batch.Queue(positionSQL).QueryRow(func(row pgx.Row) error {
		position, err := scanPosition(row)
		if err == nil {
			recorder.last.Store(&position)
		}
		return err
	})
}

// CopyPosition records a position that another Recorder holds, if the context has a
// Recorder: several requests share a commit.
func CopyPosition(ctx context.Context, from *Recorder) {
	if recorder, _ := ctx.Value(recorderKey{}).(*Recorder); recorder != nil && from.last.Load() != nil {
		recorder.last.Store(from.last.Load())
	}
}

func scanPosition(row pgx.Row) (Position, error) {
	var segment string
	var lsn uint64
	if err := row.Scan(&segment, &lsn); err != nil {
		return Position{}, err
	}
	timeline, err := strconv.ParseUint(segment[:min(8, len(segment))], 16, 32)
	return Position{Timeline: uint32(timeline), LSN: lsn}, err
}

// Read returns the end of the log of a primary. It fails on a standby.
func Read(ctx context.Context, on interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
},
) (Position, error) {
	return scanPosition(on.QueryRow(ctx, positionSQL))
}
