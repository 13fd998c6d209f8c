package controls

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// RequireNoRestore refuses while a restore is open.
func RequireNoRestore(ctx context.Context, tx *store.Tx) error {
	row, err := LoadOpenRestore(ctx, tx)
	if err != nil || row == nil {
		return err
	}
	return apperr.Fail(apperr.CodeStateConflict, "The database may have been restored from a backup: payouts could be paid a second time. "+
		"Answer with parapet restore begin and finish, or parapet restore dismiss. %s", row.Evidence)
}

// RestoreRow is a restore of the database from a backup: noticed, begun, ended.
type RestoreRow struct {
	bun.BaseModel `bun:"table:database_restores,alias:dr"`

	ID                 uuid.UUID `bun:",pk,type:uuid"`
	NoticedAt          time.Time
	NoticedBy          actor.PersonID
	Evidence           string
	FileStoreHeartbeat int64
	StopID             *uuid.UUID `bun:"type:uuid"`
	BegunAt            *time.Time
	BegunBy            *actor.PersonID
	BeginReason        *string
	EndedAt            *time.Time
	EndedBy            *actor.PersonID
	EndReason          *string
	Outcome            *string
	EventsResumedAt    *time.Time // by the clock of the database, not the business time
}

// LoadOpenRestore reads the open restore; nil if there is none.
func LoadOpenRestore(ctx context.Context, db bun.IDB) (*RestoreRow, error) {
	row := new(RestoreRow)
	err := db.NewSelect().Model(row).Where("dr.ended_at is null").Scan(ctx)
	if store.IsNoRows(err) {
		return nil, nil //nolint:nilnil // no restore is open
	}
	if err != nil {
		return nil, fmt.Errorf("read the open restore: %w", err)
	}
	return row, nil
}

// Restore is an open restore of the database: no operator has ended it.
type Restore struct {
	NoticedAt time.Time
	Evidence  string     // evidence that the database was restored
	BegunAt   *time.Time // nil while it is only noticed
}

// ToRecord returns the record of a restore.
func (r *RestoreRow) ToRecord() *Restore { return &Restore{r.NoticedAt, r.Evidence, r.BegunAt} }
