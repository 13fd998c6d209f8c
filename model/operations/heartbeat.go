package operations

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts/controls"
	"parapet/model/wire"
)

const (
	// HeartbeatEvery is how often workers record a heartbeat. A failover can lose at most
	// this much without detection. Payments in bank files are never lost this way,
	// because a heartbeat is recorded before each file is sent.
	HeartbeatEvery = 5 * time.Second
	// maxHeartbeatLag is how many heartbeats the file store may lack after a failover
	// that lost nothing.
	maxHeartbeatLag = 3
	// HeartbeatGap is how long the workers record no heartbeat before the rail's reports
	// have to show that the database knows every payment since the last one.
	HeartbeatGap = time.Minute
)

// ErrFileStore means that the file store, which the database is compared with, cannot be
// read or written.
var ErrFileStore = errors.New("the file store cannot be used")

// databaseIdentityRow identifies the database and has its last heartbeat.
type databaseIdentityRow struct {
	bun.BaseModel `bun:"table:database_identity,alias:di"`

	Lineage          uuid.UUID `bun:"type:uuid"`
	SystemIdentifier *string
	Timeline         *int64
	Heartbeat        int64
	HeartbeatAt      time.Time
	// The cluster and timeline where the database runs now, and the machine's time.
	CurrentSystem   string    `bun:",scanonly"`
	CurrentTimeline int64     `bun:",scanonly"`
	Clock           time.Time `bun:",scanonly"`
	UnknownPayments int       `bun:",scanonly"` // open exceptions of unknown payments made after the last heartbeat
}

// heartbeatMark is the last heartbeat in the file store.
type heartbeatMark struct {
	Lineage   uuid.UUID `json:"lineage"`
	Heartbeat int64     `json:"heartbeat"`
	At        time.Time `json:"at"`
}

// heartbeatSlots is how many of the newest heartbeats the file store keeps by number.
const heartbeatSlots = 64

func heartbeatFileKey(lineage uuid.UUID) string { return "database/" + lineage.String() + ".json" }

// slotKey returns the key of one heartbeat; the key is reused after heartbeatSlots
// heartbeats.
func slotKey(lineage uuid.UUID, heartbeat int64) string {
	return fmt.Sprintf("database/%s/%d.json", lineage, heartbeat%heartbeatSlots)
}

// readDatabaseIdentity reads the row and where the database runs. Clock is the machine's
// time, because business time may be shifted.
func readDatabaseIdentity(ctx context.Context, db bun.IDB, lock string) (*databaseIdentityRow, error) {
	row := new(databaseIdentityRow)
	q := db.NewSelect().Model(row).Column("lineage", "system_identifier", "timeline", "heartbeat", "heartbeat_at").
		ColumnExpr("(select system_identifier::text from pg_control_system()) as current_system").
		ColumnExpr("('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint as current_timeline").
		ColumnExpr("clock_timestamp() as clock").
		ColumnExpr(`(select count(*) from reconciliation_exceptions fi join rail_report_lines l on l.report_id = fi.report_id and l.number = fi.line
			where fi.kind = 'unknown' and fi.closed_at is null and l.reported_at > di.heartbeat_at) as unknown_payments`)
	if lock != "" {
		q = q.For(lock)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the database's identity: %w", err)
	}
	return row, nil
}

// readHeartbeatFile reads the last heartbeat of the file store, or the one that follows
// the database's own, because a slow process may have overwritten the last one with an
// earlier one. It returns nil when the store has none.
func (s *Service) readHeartbeatFile(ctx context.Context, row *databaseIdentityRow) (*heartbeatMark, error) {
	if s.Files == nil {
		return nil, nil //nolint:nilnil // no file store, no mark
	}
	last, err := s.openMark(ctx, heartbeatFileKey(row.Lineage))
	if err != nil {
		return nil, err
	}
	following, err := s.openMark(ctx, slotKey(row.Lineage, row.Heartbeat+1))
	if err == nil && following != nil && (last == nil || following.Heartbeat > last.Heartbeat) {
		last = following
	}
	return last, err
}

func (s *Service) openMark(ctx context.Context, key string) (*heartbeatMark, error) {
	object, err := s.Files.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a new database, or a new file store
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the last heartbeat: %w", ErrFileStore, err)
	}
	defer func() { _ = object.Close() }()
	text, err := io.ReadAll(object)
	known := new(heartbeatMark)
	if err == nil {
		err = json.Unmarshal(text, known)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the last heartbeat: %w", ErrFileStore, err)
	}
	return known, nil
}

func (s *Service) saveHeartbeatFile(ctx context.Context, m heartbeatMark) error {
	text, err := json.Marshal(m)
	for _, key := range []string{slotKey(m.Lineage, m.Heartbeat), heartbeatFileKey(m.Lineage)} {
		if err == nil {
			err = s.Files.Put(ctx, key, bytes.NewReader(text))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: save the heartbeat: %w", ErrFileStore, err)
	}
	return nil
}

// hasMoved reports whether the database runs on another cluster or timeline than at its
// last heartbeat: a promotion and a recovery begin a timeline.
func (r *databaseIdentityRow) hasMoved() bool {
	return r.SystemIdentifier != nil && (*r.SystemIdentifier != r.CurrentSystem || *r.Timeline != r.CurrentTimeline)
}

// isElsewhere reports whether the database ran on another cluster or timeline when the
// other row was read.
func (r *databaseIdentityRow) isElsewhere(than *databaseIdentityRow) bool {
	return r.CurrentSystem != than.CurrentSystem || r.CurrentTimeline != than.CurrentTimeline
}

// restoreSigns explains why the database may have been restored from a backup; empty
// without signs. A failover that lost nothing is no sign, because the database then has
// the last heartbeat of the file store.
func (r *databaseIdentityRow) restoreSigns(known *heartbeatMark) string {
	var signs []string
	at := wire.FormatTime(r.HeartbeatAt)
	switch {
	case known != nil && known.Heartbeat > r.Heartbeat:
		signs = append(signs, fmt.Sprintf("The workers recorded heartbeat %d at %s; the last that the database has is %d of %s.", known.Heartbeat, wire.FormatTime(known.At), r.Heartbeat, at))
	case r.hasMoved() && known == nil:
		signs = append(signs, "The database was moved to another cluster or promoted, and the file store has no heartbeat that would show whether anything was lost.")
	case r.hasMoved() && r.Heartbeat-known.Heartbeat > maxHeartbeatLag:
		signs = append(signs, fmt.Sprintf("The database was moved to another cluster or promoted, and the last heartbeat in the file store is of %s, too old to show whether anything was lost.", wire.FormatTime(known.At)))
	}
	if r.UnknownPayments > 0 && r.Clock.Sub(r.HeartbeatAt) > HeartbeatGap {
		signs = append(signs, fmt.Sprintf("The rail reports %d payments since the last heartbeat, of %s, that the database does not know.", r.UnknownPayments, at))
	}
	return strings.Join(signs, " ")
}

// RecordHeartbeat checks whether the database was restored from a backup and records the
// next heartbeat, first in the database and then in the file store. It returns the open
// restore, found now or earlier; while one is open no heartbeat is recorded, no payout is
// sent and no event is numbered. Workers call it before they start. Errors: ErrFileStore.
func (s *Service) RecordHeartbeat(ctx context.Context) (open *controls.Restore, err error) {
	seen, known, err := s.loadHeartbeatFile(ctx)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	var next *heartbeatMark
	moved := false
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		row, err := readDatabaseIdentity(ctx, tx, "UPDATE")
		if err != nil {
			return err
		}
		if moved = row.isElsewhere(seen); moved {
			return nil
		}
		restore, err := controls.LoadOpenRestore(ctx, tx)
		if err == nil && restore == nil {
			if signs := row.restoreSigns(known); signs != "" {
				restore, err = recordSuspectedRestore(ctx, tx, signs, known)
			} else {
				next, err = saveHeartbeat(ctx, tx, row)
			}
		}
		if restore != nil {
			open = restore.ToRecord()
		}
		return err
	})
	if err == nil && moved { // the mark may have been read before the previous primary's last write
		return s.RecordHeartbeat(ctx)
	}
	if err != nil || next == nil || s.Files == nil {
		return open, err
	}
	return open, store.TranslateError(cmp.Or(s.saveHeartbeatFile(ctx, *next), events.SaveCheckpoints(ctx, s.Store, next.Lineage)))
}

// loadHeartbeatFile reads the database's row and then the last heartbeat of the file store.
func (s *Service) loadHeartbeatFile(ctx context.Context) (*databaseIdentityRow, *heartbeatMark, error) {
	row, err := readDatabaseIdentity(ctx, s.DB, "")
	if err != nil {
		return nil, nil, err
	}
	known, err := s.readHeartbeatFile(ctx, row)
	return row, known, err
}

// saveHeartbeat saves the next heartbeat and where the database runs.
func saveHeartbeat(ctx context.Context, tx *store.Tx, row *databaseIdentityRow) (*heartbeatMark, error) {
	row.Heartbeat, row.HeartbeatAt, row.SystemIdentifier, row.Timeline = row.Heartbeat+1, row.Clock, &row.CurrentSystem, &row.CurrentTimeline
	_, err := tx.NewUpdate().Model(row).Column("heartbeat", "heartbeat_at", "system_identifier", "timeline").Where("only_row").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("record a heartbeat: %w", err)
	}
	return &heartbeatMark{row.Lineage, row.Heartbeat, row.HeartbeatAt}, nil
}

// HeartbeatAge is the age of the last heartbeat.
func (s *Service) HeartbeatAge(ctx context.Context) (time.Duration, error) {
	row, err := readDatabaseIdentity(ctx, s.DB, "")
	if err != nil {
		return 0, store.TranslateError(err)
	}
	return row.Clock.Sub(row.HeartbeatAt), nil
}

// RestoreSigns explains why the database may have been restored from a backup; empty
// without signs or when an operator confirmed the restore. It changes nothing.
func (s *Service) RestoreSigns(ctx context.Context) (string, error) {
	row, err := readDatabaseIdentity(ctx, s.DB, "")
	if err != nil {
		return "", store.TranslateError(err)
	}
	restore, err := controls.LoadOpenRestore(ctx, s.DB)
	if err != nil {
		return "", store.TranslateError(err)
	}
	if restore != nil {
		return restore.Evidence, nil
	}
	known, err := s.readHeartbeatFile(ctx, row)
	return row.restoreSigns(known), store.TranslateError(err)
}
