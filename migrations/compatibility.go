package migrations

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun/migrate"

	"parapet/model"
)

// BinaryTooOldError means that the database needs a newer release than this one: a
// migration that this release does not know made a change that breaks it.
type BinaryTooOldError struct {
	Minimum, Newest int // numbers of migrations: what the database needs, and the newest that this release knows
}

// Error states what to do.
func (e *BinaryTooOldError) Error() string {
	return fmt.Sprintf("the database needs a release that knows migration %04d, and this one knows them up to %04d: "+
		"run the release that migrated the database, or a newer one", e.Minimum, e.Newest)
}

// ErrUnreleased means that the database was made by a development version from before the
// first release, whose migrations are gone.
var ErrUnreleased = errors.New("the database was made by a version from before the first release, and cannot be migrated: " +
	"use an empty database (parapet dev --fresh discards the one in its folder)")

// querier is a connection or a pool.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// requireCompatible returns BinaryTooOldError if this release must not use the database,
// and nil for an empty database. Migrations that this release does not know are accepted
// otherwise: during a rolling restart the schema is one release ahead.
func requireCompatible(ctx context.Context, db querier, known migrate.MigrationSlice) error {
	newest, err := strconv.Atoi(known[len(known)-1].Name)
	if err != nil {
		return fmt.Errorf("the name of a migration begins with its number: %w", err)
	}
	var minimum int
	err = db.QueryRow(ctx, "select minimum_binary from schema_compatibility").Scan(&minimum)
	if hasCode(err, undefinedTable) {
		var used bool
		err = db.QueryRow(ctx, "select exists (select from bun_migrations)").Scan(&used)
		if hasCode(err, undefinedTable) || err == nil && !used {
			return nil
		}
		if err == nil {
			return ErrUnreleased
		}
	}
	if err != nil {
		return fmt.Errorf("read the release that the database needs: %w", err)
	}
	if minimum > newest {
		return &BinaryTooOldError{Minimum: minimum, Newest: newest}
	}
	return nil
}

// These are codes of Postgres.
const (
	undefinedTable        = "42P01"
	insufficientPrivilege = "42501"
)

func hasCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// saveTransitions writes the transitions of this release to status_transitions. It keeps
// those of other releases: records of the past made them, and during a rolling restart
// another release still makes them.
func saveTransitions(ctx context.Context, conn *pgx.Conn) error {
	var objects, from, to, events []string
	for _, t := range model.StatusTransitions() {
		objects, from, to, events = append(objects, t.Object), append(from, t.From), append(to, t.To), append(events, string(t.Event))
	}
	_, err := conn.Exec(ctx, `insert into status_transitions (object, from_status, to_status, event)
		select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
		on conflict (object, from_status, to_status) do update set event = excluded.event where status_transitions.event <> excluded.event`, objects, from, to, events)
	if err != nil {
		return fmt.Errorf("write status transitions: %w", err)
	}
	return nil
}
